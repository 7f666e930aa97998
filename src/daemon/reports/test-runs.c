/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs: what processes of a run, running and ended ones, have done; other processes and other runs do not count. */
#include "base/testing.h"

#include <errno.h>
#include <json-c/json.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/device.h"
#include "core/qp.h"
#include "daemon/reports/runs.h"
#include "daemon/state/process.h"
#include "ipc/res.h"

#define NOW (100 * NS_S)
#define RUN 0x1122334455667788ull
#define PAGE_SIZE (RES_OFFSET + 4 * sizeof(struct res_rec))

static struct host_page page;
static struct processes processes;
static struct runs runs;
static struct json_object *answer;

static struct made {
	struct process of;
	char *at;
} one, two;

static struct proc_page *page_of(const struct made *m)
{
	return (struct proc_page *)m->at;
}

static struct why_log *log_of(const struct made *m)
{
	return (struct why_log *)(m->at + WHY_OFFSET);
}

static void make(struct made *m, int pid, const char *comm, uint64_t run)
{
	m->of = (struct process){ .pid = pid, .proc = (uint32_t)pid, .run = run };
	strcpy(m->of.comm, comm);
	m->of.page_fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(ftruncate(m->of.page_fd, PAGE_SIZE), 0);
	m->at = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m->of.page_fd, 0);
	assert_ptr_not_equal(m->at, MAP_FAILED);
	page_of(m)->magic = PROC_PAGE_MAGIC;
	page_of(m)->version = 1;
	list_add_tail(&m->of.node, &processes.list);
}

/* The process ends, however it does. */
static void end(struct made *m)
{
	runs_process_gone(&runs, &processes, &m->of, &page, NOW);
	list_del(&m->of.node);
}

static void drop(struct made *m)
{
	close(m->of.page_fd);
	munmap(m->at, PAGE_SIZE);
}

static void ask(void)
{
	char *text = runs_text(&runs, &processes, &page, RUN, NOW);

	json_object_put(answer);
	assert_non_null(text);
	answer = json_tokener_parse(text);
	free(text);
	assert_non_null(answer);
}

/* The member of the answer that a path of names and indices leads to. */
static struct json_object *get(const char *path)
{
	struct json_object *o;

	if (json_pointer_get(answer, path, &o))
		fail_msg("no %s in %s", path, json_object_to_json_string(answer));
	return o;
}

static void expect(const char *path, uint64_t want)
{
	uint64_t is = json_object_get_uint64(get(path));

	if (is != want)
		fail_msg("%s: %lu, not %lu", path, (unsigned long)is, (unsigned long)want);
}

static void expect_text(const char *path, const char *want)
{
	assert_string_equal(json_object_get_string(get(path)), want);
}

static int setup(void **state)
{
	list_init(&processes.list);
	runs_init(&runs);
	assert_int_equal(runs_begin(&runs, RUN, &one), 0);
	make(&one, 11, "first", RUN);
	make(&two, 12, "second", RUN);
	return 0;
}

static int teardown(void **state)
{
	json_object_put(answer);
	answer = NULL;
	runs_fini(&runs);
	drop(&one);
	drop(&two);
	return 0;
}

static void fill(struct made *m)
{
	struct proc_page *p = page_of(m);
	uint64_t *c = p->dev[1].counter;

	p->life = (struct proc_life){ .contexts = 2, .qps = { 3, 1, 5 }, .connections = 3,
				      .served = 9 };
	p->dev[1].dev_index = 7;
	c[CNT_TRAFFIC(TRAFFIC_WIRE, TRAFFIC_READ)] = 10;
	c[CNT_TRAFFIC(TRAFFIC_WIRE, TRAFFIC_READ) + 1] = 1000;
	c[CNT_RDMA_RECVS] = 4;
	c[CNT_RECV_BYTES] = 400;
	c[CNT_RCVD_PKTS] = 40;
	c[CNT_COMP_RETRY] = 1;
	c[CNT_RCV_SEQ_ERR] = 1;
	c[CNT_RCV_RNR] = 6;
	p->fault[3].acted = 8;
}

static void expect_filled(const char *where, uint64_t times)
{
	static const struct {
		const char *name;
		uint64_t value;
	} want[] = {
		{ "devices", 2 }, { "qps/RC", 3 }, { "qps/UC", 1 }, { "qps/UD", 5 },
		{ "connections", 3 }, { "served", 9 }, { "traffic/0/messages", 10 },
		{ "traffic/0/bytes", 1000 }, { "recvs", 4 }, { "recv_bytes", 400 },
		{ "packets_received", 40 }, { "retries", 2 }, { "rnr", 6 }, { "faults", 8 },
	};
	char path[100];

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		snprintf(path, sizeof(path), "%s/%s", where, want[i].name);
		expect(path, times * want[i].value);
	}
}

/* Counts of a running and of an ended process; asking changes nothing. */
static void test_counts(void **state)
{
	fill(&one);
	fill(&two);
	end(&two);
	for (int i = 0; i < 2; i++) {
		ask();
		expect("/total/processes", 2);
		expect_filled("/processes/0", 1);
		expect("/processes/0/pid", 12);
		expect("/processes/0/running", 0);
		expect_filled("/processes/1", 1);
		expect("/processes/1/pid", 11);
		expect("/processes/1/running", 1);
		expect_filled("/total", 2);
		expect_text("/total/traffic/0/link", "wire");
		expect_text("/total/traffic/0/operation", "READ");
		assert_int_equal(json_object_array_length(get("/total/traffic")), 1);
		assert_null(get("/first"));
	}
}

static void test_others(void **state)
{
	fill(&one);
	fill(&two);
	one.of.run = RUN + 1;
	two.of.run = 0;
	ask();
	expect("/known", 0);
	expect("/total/processes", 0);
	end(&one);
	end(&two);
	ask();
	expect("/total/devices", 0);
	assert_int_equal(json_object_array_length(get("/processes")), 0);
}

static void test_owner(void **state)
{
	assert_int_equal(runs_begin(&runs, RUN, &one), 0);
	assert_int_equal(runs_begin(&runs, RUN, &two), -EEXIST);
	assert_int_equal(runs_begin(&runs, RUN + 1, &one), -EBUSY);
	assert_int_equal(runs_begin(&runs, 0, &two), -EINVAL);
	runs_end(&runs, &two);
	ask();
	runs_end(&runs, &one);
	assert_null(runs_text(&runs, &processes, &page, RUN, NOW));
	end(&one);
	end(&two);
}

static void failure(struct made *m, enum why_id id, uint8_t status, uint16_t error)
{
	const struct why_rec r = { .why.id = id, .status = status, .error = error, .qpn = 17,
				   .last = NOW };

	why_log_put(log_of(m), &r);
}

static void test_errors(void **state)
{
	failure(&one, WHY_FLUSH_MODIFY, 5, 0);	/* an orderly shutdown */
	failure(&one, WHY_DROP_NO_QP, 0, 0);
	failure(&one, WHY_NONE, 0, EOPNOTSUPP);	/* a probe */
	ask();
	expect("/total/errors", 0);
	assert_int_equal(json_object_array_length(get("/errors")), 0);
	failure(&one, WHY_KEY_PD, 10, 0);
	failure(&one, WHY_KEY_PD, 10, 0);
	failure(&two, WHY_KEY_PD, 10, 0);
	failure(&two, WHY_NONE, 0, EINVAL);
	/* The first failure is that of the earliest time, not that of the process that ended first. */
	log_of(&two)->slot[0].r.first = NOW - 1;
	end(&one);
	ask();
	assert_string_equal(json_object_get_string(get("/first/comm")), "second");
	log_of(&two)->slot[0].r.first = NOW + 1;
	ask();
	expect("/processes/0/errors", 2);
	expect("/total/errors", 4);
	assert_int_equal(json_object_array_length(get("/errors")), 2);
	expect_text("/errors/0/id", "RX-013");
	expect("/errors/0/count", 3);
	expect("/errors/0/pid", 11);
	expect_text("/first/name", "KEY_PD");
	expect_text("/first/comm", "first");
	/* More failures than the log holds are counted. */
	for (uint32_t i = 0; i < 3 * WHY_RECS; i++)
		failure(&two, WHY_KEY_PD, 10, 0);
	ask();
	expect("/total/errors", 4 + 3 * WHY_RECS);
}

/* Decisions of `ruse run --shake` are no failures, and each is listed, also of processes that have ended. */
static void test_decisions(void **state)
{
	for (uint64_t event = 40; event < 42; event++) {
		struct why_rec r = { .qpn = 17, .last = NOW + event, .call = "ib_write_lat-3fa1" };

		why_set(&r.why, SHAKE_LATE_ANSWER, event, 0x11, NS_MS, 0, 0, 3);
		why_log_put(log_of(event & 1 ? &two : &one), &r);
	}
	end(&two);
	for (int i = 0; i < 2; i++) {
		ask();
		expect("/total/errors", 0);
		expect("/total/findings", 0);
		assert_int_equal(json_object_array_length(get("/findings")), 0);
		assert_int_equal(json_object_array_length(get("/decisions")), 2);
		expect_text("/decisions/0/id", "SH-031");
		expect_text("/decisions/0/point", "late@ib_write_lat-3fa1.3.41");
		expect_text("/decisions/0/place", "ib_write_lat-3fa1");
		expect_text("/decisions/0/text", "the answer to request 41 of QP 0x000011 came 1.0 ms late, "
						 "and those behind it");
		expect("/decisions/0/pid", 12);
		expect("/decisions/0/at_ns", NOW + 41);
		expect("/decisions/0/count", 1);
		expect_text("/decisions/1/point", "late@ib_write_lat-3fa1.3.40");
	}
}

static void leave(struct made *m, int slot, struct res_rec rec)
{
	res_rec_write((struct res_rec *)(m->at + RES_OFFSET) + slot, &rec);
}

static void test_leaks(void **state)
{
	leave(&one, 0, (struct res_rec){ .kind = RES_CTX });
	leave(&one, 2, (struct res_rec){ .kind = RES_QP, .type = QPT_UD, .state = QPS_RTS,
					 .qp.lqpn = 99 });
	leave(&two, 1, (struct res_rec){ .kind = RES_MR, .mr = { .rkey = 5, .length = 4096 } });
	ask();
	expect("/total/leaked", 0);	/* they run */
	end(&one);
	ask();
	expect("/total/leaked", 2);
	expect_text("/processes/0/leaks/0/object", "context");
	expect_text("/processes/0/leaks/1/object", "QP");
	expect("/processes/0/leaks/1/number", 99);
	expect_text("/processes/0/leaks/1/type", "UD");
	expect_text("/processes/0/leaks/1/state", "RTS");
	end(&two);
	ask();
	expect("/processes/1/leaks/0/number", 5);
	expect("/processes/1/leaks/0/bytes", 4096);
}

/* The states of the QPs of a process that runs; those of one that has ended are among its leaks. */
static void test_states(void **state)
{
	leave(&one, 0, (struct res_rec){ .kind = RES_QP, .state = QPS_RTS });
	leave(&one, 1, (struct res_rec){ .kind = RES_QP, .state = QPS_RTS });
	leave(&one, 2, (struct res_rec){ .kind = RES_QP, .state = QPS_ERR });
	leave(&one, 3, (struct res_rec){ .kind = RES_MR });
	ask();
	assert_int_equal(json_object_array_length(get("/processes/0/states")), 2);
	expect_text("/processes/0/states/0/state", "RTS");
	expect("/processes/0/states/0/qps", 2);
	expect_text("/processes/0/states/1/state", "ERR");
	expect("/processes/0/states/1/qps", 1);
	assert_int_equal(json_object_array_length(get("/processes/1/states")), 0);
	end(&one);
	ask();
	assert_false(json_object_object_get_ex(get("/processes/0"), "states", NULL));
}

/* librdmacm opens a device when it is first used, and never closes it. */
static void test_context_alone(void **state)
{
	leave(&one, 0, (struct res_rec){ .kind = RES_CTX });
	leave(&one, 1, (struct res_rec){ .kind = RES_CTX });
	end(&one);
	leave(&two, 0, (struct res_rec){ .kind = RES_CTX });
	leave(&two, 1, (struct res_rec){ .kind = RES_PD });
	end(&two);
	ask();
	expect("/processes/0/leaked", 0);
	assert_int_equal(json_object_array_length(get("/processes/0/leaks")), 0);
	expect("/processes/1/leaked", 2);
	expect("/total/leaked", 2);
}

/* More processes than are listed count in the total. */
static void test_many(void **state)
{
	fill(&one);
	for (int i = 0; i < 300; i++)
		runs_process_gone(&runs, &processes, &one.of, &page, NOW);
	list_del(&one.of.node);
	ask();
	expect("/unlisted", 300 - 256);
	expect("/total/processes", 301);
	expect("/total/devices", 600);
	assert_int_equal(json_object_array_length(get("/processes")), 257);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_decisions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leaks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_states, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
