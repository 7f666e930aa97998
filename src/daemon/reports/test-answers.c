/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answers of `ruse status`, `ruse explain` and `ruse explain --stuck`: members from pages of processes, also spoiled ones. */
#include "base/testing.h"

#include <errno.h>
#include <json-c/json.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/counters.h"
#include "daemon/reports/explain.h"
#include "daemon/reports/status.h"
#include "daemon/reports/stuck.h"
#include "daemon/state/devices.h"
#include "daemon/state/host.h"
#include "daemon/state/lease.h"
#include "daemon/state/port.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "fabrics/fabrics.h"
#include "ipc/stuck.h"
#include "umads/umads.h"

#define NOW (100 * NS_S)

static struct host_page page;
static struct host host;
static struct devices devices;
static struct port port;
static struct lease_table leases;
static struct processes processes;
static struct fabrics fabrics;
static struct fabric_client fabric;
static struct explain explain;
static struct umads umads;
static struct status status;
static struct stuck stuck;
static struct json_object *answer;

static struct {
	struct process of;
	struct proc_page *page;
	struct why_log *log;
	struct stuck_table *table;
} one, two;

/* What rdma_cm says of a process. */
static void cm_waits(void *ctx, int pid, ucma_stuck_fn fn, void *arg)
{
	struct rdma_wait w = { .since = NOW - 5 * NS_S };

	assert_ptr_equal(ctx, &stuck);
	if (pid != one.of.pid)
		return;
	why_set(&w.why, KEY_PD, 1, 2);
	fn(arg, &w, 3, "rxe_0");
}

static char *map_page(struct process *pr, int pid, uint32_t proc, const char *comm)
{
	size_t size = STUCK_OFFSET + sizeof(struct stuck_table);
	char *at;

	*pr = (struct process){ .pid = pid, .proc = proc, .since = NOW - 10 * NS_S,
				.fabric = &fabric };
	strcpy(pr->comm, comm);
	pr->page_fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(ftruncate(pr->page_fd, (off_t)size), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, pr->page_fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	((struct proc_page *)at)->magic = PROC_PAGE_MAGIC;
	((struct proc_page *)at)->version = 1;
	list_add_tail(&pr->node, &processes.list);
	return at;
}

static int setup(void **state)
{
	char *at;

	memset(&page, 0, sizeof(page));
	page.dev[1] = (struct host_dev){ .in_use = 1, .index = 7, .name = "rxe_0", .ndev = "eth7",
					 .state = 4, .active_mtu = 3, .ngids = 1 };
	page.dev[1].gid[0].raw[15] = 1;
	host = (struct host){ .page = &page };
	list_init(&processes.list);
	devices = (struct devices){ .spec = "eth7", .like_spec = "e810,credits=poll",
				    .like = { .name = "e810" } };
	port = (struct port){ .err = -EADDRINUSE };
	lease_init(&leases, 0, NULL, NULL);
	explain_init(&explain);
	memset(&umads, 0, sizeof(umads));
	umads_init(&umads, NULL, -1, 0);
	at = map_page(&one.of, 4711, 3, "first");
	one.page = (struct proc_page *)at;
	one.log = (struct why_log *)(at + WHY_OFFSET);
	one.table = (struct stuck_table *)(at + STUCK_OFFSET);
	at = map_page(&two.of, 4712, 4, "second");
	two.page = (struct proc_page *)at;
	two.log = (struct why_log *)(at + WHY_OFFSET);
	two.table = (struct stuck_table *)(at + STUCK_OFFSET);
	memset(&status, 0, sizeof(status));
	status.rundir = "/run/x";
	status.netns = 99;
	status.started = NOW - 42 * NS_S;
	status.host = &host;
	status.devices = &devices;
	status.port = &port;
	status.leases = &leases;
	status.processes = &processes;
	status.fabrics = &fabrics;
	status.explain = &explain;
	stuck.processes = &processes;
	stuck.page = &page;
	stuck.umads = &umads;
	stuck.cm = cm_waits;
	stuck.cm_ctx = &stuck;
	return 0;
}

static int teardown(void **state)
{
	json_object_put(answer);
	answer = NULL;
	explain_fini(&explain);
	umads_fini(&umads);
	close(one.of.page_fd);
	close(two.of.page_fd);
	munmap(one.page, STUCK_OFFSET + sizeof(struct stuck_table));
	munmap(two.page, STUCK_OFFSET + sizeof(struct stuck_table));
	return 0;
}

static void take(char *text)
{
	assert_non_null(text);
	json_object_put(answer);
	answer = json_tokener_parse(text);
	assert_non_null(answer);
	free(text);
}

/* The value at a path such as "processes.0.pid". */
static struct json_object *at(const char *path)
{
	struct json_object *o = answer;
	char copy[128], *save = NULL;

	strcpy(copy, path);
	for (char *w = strtok_r(copy, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
		if (*w >= '0' && *w <= '9')
			o = json_object_array_get_idx(o, strtoul(w, NULL, 10));
		else if (!json_object_object_get_ex(o, w, &o))
			fail_msg("no %s in %s", w, path);
	}
	return o;
}

static const char *text_at(const char *path)
{
	return json_object_get_string(at(path));
}

static int64_t number_at(const char *path)
{
	return json_object_get_int64(at(path));
}

static size_t length_at(const char *path)
{
	return json_object_array_length(at(path));
}

static void test_host(void **state)
{
	take(status_text(&status, NOW));
	assert_string_equal(text_at("host.rundir"), "/run/x");
	assert_int_equal(number_at("host.netns"), 99);
	assert_int_equal(number_at("host.uptime"), 42);
	assert_string_equal(text_at("host.netdevs"), "eth7");
	assert_string_equal(text_at("host.like"), "e810");
	assert_string_equal(text_at("host.like_spec"), "e810,credits=poll");
	assert_string_equal(text_at("host.udp_port"), "Address already in use");
	assert_int_equal(length_at("devices"), 1);
	assert_string_equal(text_at("devices.0.name"), "rxe_0");
	assert_string_equal(text_at("devices.0.state"), "ACTIVE");
	assert_int_equal(number_at("devices.0.mtu"), 1024);
	assert_string_equal(text_at("devices.0.gids.0"), "0=::1");
	port.err = 0;
	devices.spec = devices.like_spec = NULL;
	page.dev[1].state = 77;
	take(status_text(&status, NOW));
	assert_string_equal(text_at("host.udp_port"), "not needed");
	assert_false(json_object_object_get_ex(at("host"), "netdevs", NULL));
	assert_false(json_object_object_get_ex(at("host"), "like", NULL));
	assert_string_equal(text_at("devices.0.state"), "?");
	port.nslots = 1;
	take(status_text(&status, NOW));
	assert_string_equal(text_at("host.udp_port"), "open");
}

/* The counters of a device are the sums of its processes and of those that have ended. */
static void test_counts(void **state)
{
	host.counter[1][CNT_RCVD_PKTS] = 100;
	host.counter[1][CNT_TRAFFIC(TRAFFIC_WIRE, TRAFFIC_READ)] = 3;
	host.counter[1][CNT_TRAFFIC(TRAFFIC_WIRE, TRAFFIC_READ) + 1] = 3000;
	one.page->dev[2].dev_index = two.page->dev[0].dev_index = 7;
	one.page->dev[2].counter[CNT_RCVD_PKTS] = 20;
	two.page->dev[0].counter[CNT_RCVD_PKTS] = 5;
	two.page->dev[0].counter[CNT_RECV_BYTES] = UINT64_MAX;
	/* Of another device. */
	two.page->dev[1].dev_index = 8;
	two.page->dev[1].counter[CNT_RCVD_PKTS] = 1000;
	take(status_text(&status, NOW));
	assert_int_equal(number_at("devices.0.counters.rcvd_pkts"), 125);
	assert_int_equal(number_at("devices.0.counters.completer_retry_err"), 0);
	assert_true(json_object_get_uint64(at("devices.0.counters.recv_bytes")) == UINT64_MAX);
	assert_int_equal(length_at("devices.0.traffic"), 1);
	assert_string_equal(text_at("devices.0.traffic.0.link"), "wire");
	assert_string_equal(text_at("devices.0.traffic.0.operation"), "READ");
	assert_int_equal(number_at("devices.0.traffic.0.messages"), 3);
	assert_int_equal(number_at("devices.0.traffic.0.bytes"), 3000);
	assert_int_equal(length_at("devices.0.qps"), 0);
	assert_true(number_at("host.memory") > 100000);
}

static void test_processes(void **state)
{
	int block = lease_get(&leases, 3, 4711, 0);

	one.page->ctx[0] = (struct proc_ctx){ .dev_index = 7, .nqp = 5 };
	one.page->ctx[1] = (struct proc_ctx){ .dev_index = 8 };	/* a device that was removed */
	one.page->link[0] = (struct proc_link){ .kind = 2, .peer_proc = 4, .tx_segs = 9 };
	one.page->link[1] = (struct proc_link){ .kind = 2, .peer_proc = 99, .flags = 1 };
	one.page->link[2].kind = 4;	/* no such kind */
	one.page->wire[0] = 6;
	two.page->wire[0] = 10;
	take(status_text(&status, NOW));
	assert_int_equal(length_at("processes"), 2);
	assert_string_equal(text_at("processes.0.comm"), "first");
	assert_int_equal(number_at("processes.0.blocks.0"), block);
	assert_int_equal(length_at("processes.1.blocks"), 0);
	assert_int_equal(number_at("processes.0.contexts.0.qp"), 5);
	assert_string_equal(text_at("processes.0.contexts.0.device"), "rxe_0");
	assert_string_equal(text_at("processes.0.contexts.1.device"), "removed");
	assert_int_equal(length_at("processes.0.links"), 2);
	assert_int_equal(number_at("processes.0.links.0.peer_pid"), 4712);
	assert_int_equal(number_at("processes.0.links.1.peer_pid"), 0);
	assert_string_equal(text_at("processes.0.links.1.state"), "dead");
	assert_int_equal(number_at("wire.tx_packets"), 16);
	/* A page that its process has spoiled counts as empty; `ruse` itself is not listed. */
	one.page->version = 77;
	two.of.proc = 0;
	take(status_text(&status, NOW));
	assert_int_equal(length_at("processes"), 1);
	assert_int_equal(length_at("processes.0.links"), 0);
	assert_int_equal(number_at("wire.tx_packets"), 10);
}

static void put_failure(struct why_log *log, uint32_t qpn)
{
	struct why_rec r = { .qpn = qpn, .dev = 7, .last = NOW - NS_S };

	why_set(&r.why, KEY_PD, 1, 2);
	assert_true(why_log_put(log, &r));
}

/* Failures stay when their process ends, and are counted once. */
static void test_explain(void **state)
{
	struct why_rec orderly = { .qpn = 18, .dev = 7, .last = NOW - NS_S };
	struct why why;

	put_failure(one.log, 17);
	put_failure(two.log, 18);
	why_set(&why, DROP_NO_QP_WIRE, 0, 0, 5);
	explain_drop(&explain, &why, NOW);
	why_set(&orderly.why, FLUSH_MODIFY, 0);
	assert_true(why_log_put(two.log, &orderly));
	assert_int_equal(explain_count(&explain, &processes), 3);
	list_del(&one.of.node);
	explain_process_gone(&explain, &one.of, NOW - 2 * NS_S);
	assert_int_equal(explain_count(&explain, &processes), 3);
	take(explain_text(&explain, &processes, &page, 4711, NOW));
	assert_int_equal(length_at("processes"), 3);
	assert_int_equal(number_at("processes.0.pid"), 4711);
	assert_int_equal(number_at("processes.0.ended_ns"), 2 * NS_S);
	assert_int_equal(number_at("processes.0.failures.0.qpn"), 17);
	assert_string_equal(text_at("processes.0.failures.0.device"), "rxe_0");
	assert_int_equal(number_at("processes.0.failures.0.last_ns"), NS_S);
	assert_null(at("processes.1.ended_ns"));
	assert_string_equal(text_at("processes.2.comm"), "rused");
	assert_true(json_object_get_boolean(at("known")));
	take(explain_text(&explain, &processes, &page, 1, NOW));
	assert_false(json_object_get_boolean(at("known")));
	list_add_tail(&one.of.node, &processes.list);
}

/* Of the processes that have ended only the latest are kept. */
static void test_explain_most(void **state)
{
	put_failure(one.log, 17);
	for (uint32_t i = 0; i < EXPLAIN_ENDED + 5; i++) {
		one.of.proc = 10 + i;
		explain_process_gone(&explain, &one.of, NOW);
	}
	list_del(&one.of.node);
	list_del(&two.of.node);
	take(explain_text(&explain, &processes, &page, 0, NOW));
	assert_int_equal(length_at("processes"), EXPLAIN_ENDED);
	assert_int_equal(number_at("processes.0.proc"), 15);
	assert_int_equal(number_at("newest.proc"), 10 + EXPLAIN_ENDED + 4);
}

static void test_stuck(void **state)
{
	struct stuck_rec *r = &one.table->rec[0];

	page.stuck_asked = 6;
	one.of.nctx[1] = 2;
	one.table->answered = 5;
	one.table->n = 2;
	r[0] = (struct stuck_rec){ .part = STUCK_RECV, .dev = 7, .qpn = 17, .since = NOW - NS_S,
				   .wr_id = 9, .flags = STUCK_HAS_WR | STUCK_IDLE };
	why_set(&r[0].why, KEY_PD, 1, 2);
	r[1] = (struct stuck_rec){ .part = 99, .dev = 8, .since = NOW + NS_S };
	two.table->n = STUCK_MAX + 1;	/* spoiled */
	take(stuck_text(&stuck, NOW));
	assert_int_equal(number_at("asked"), 6);
	assert_int_equal(number_at("processes.0.answered"), 5);
	assert_int_equal(number_at("processes.0.contexts"), 2);
	assert_int_equal(length_at("processes.0.waits"), 3);
	assert_string_equal(text_at("processes.0.waits.0.part"), "receive");
	assert_int_equal(number_at("processes.0.waits.0.wr_id"), 9);
	assert_int_equal(number_at("processes.0.waits.0.waited_ns"), NS_S);
	assert_string_equal(text_at("processes.0.waits.1.part"), "unknown");
	assert_string_equal(text_at("processes.0.waits.1.device"), "removed");
	assert_int_equal(number_at("processes.0.waits.1.waited_ns"), 0);
	assert_string_equal(text_at("processes.0.waits.2.part"), "rdma_cm");
	assert_int_equal(number_at("processes.0.waits.2.cm_id"), 3);
	assert_int_equal(number_at("processes.0.waits.2.waited_ns"), 5 * NS_S);
	assert_int_equal(number_at("processes.1.answered"), 0);
	assert_int_equal(length_at("processes.1.waits"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_explain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_explain_most, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
