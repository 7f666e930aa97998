/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An answer that is held back: when it is sent, and what it says of processes that are late. */
#include "base/testing.h"

#include <json-c/json.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/daemon.h"

static struct rused r;
static struct host_page page = { .generation = 7, .changes = 3 };
static struct client asker, other;
static int peer;
static struct json_object *got;

static void no_event(struct loop_fd *f, uint32_t events)
{
}

static int setup(void **state)
{
	int sv[2];

	memset(&r, 0, sizeof(r));
	list_init(&r.processes.list);
	if (loop_init(&r.loop) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -1;
	holds_init(&r.holds, &r.loop.timers, &r.processes, &page);
	asker = (struct client){ .r = &r, .p.page_fd = -1, .sock.fn = no_event };
	other = (struct client){ .r = &r, .p = { .pid = 0, .proc = 1, .comm = "prog" } };
	other.p.page_fd = memfd_create("page", MFD_CLOEXEC);
	list_add_tail(&asker.p.node, &r.processes.list);
	list_add_tail(&other.p.node, &r.processes.list);
	peer = sv[1];
	return ftruncate(other.p.page_fd, sizeof(struct proc_page)) ||
	       loop_add(&r.loop, &asker.sock, sv[0], EPOLLIN);
}

static int teardown(void **state)
{
	json_object_put(got);
	got = NULL;
	loop_del(&r.loop, &asker.sock);
	loop_fini(&r.loop);
	close(other.p.page_fd);
	close(peer);
	return 0;
}

static void applied(uint64_t value)
{
	assert_int_equal(pwrite(other.p.page_fd, &value, sizeof(value),
				offsetof(struct proc_page, applied)), sizeof(value));
}

static void ask(const char *answer)
{
	asker.out = strdup(answer);
	asker.out_len = strlen(answer);
	asker.out_at = 0;
	asker.out_type = IPC_FAULT;
	client_hold(&asker);
}

/* Whether an answer has come, which is then in got. */
static bool answered(void)
{
	char text[4096];
	size_t len = sizeof(text) - 1;
	struct ipc_hdr h;

	if (ipc_recv(peer, MSG_DONTWAIT, &h, text, &len, NULL, NULL))
		return false;
	assert_int_equal(h.type, IPC_FAULT);
	text[len] = '\0';
	json_object_put(got);
	got = json_tokener_parse(text);
	return true;
}

static void pass(ns_t ns)
{
	for (ns_t end = r.loop.now + ns; r.loop.now < end;) {
		r.loop.now = min(end, r.loop.now + HOLD_LAST);
		timer_run(&r.loop.timers, r.loop.now);
	}
}

static void test_applied(void **state)
{
	applied(PROC_APPLIED_NONE);
	ask("{\"id\":5}");
	assert_false(answered());
	pass(NS_S / 2);
	assert_false(answered());
	applied(PROC_APPLIED(7, 3));
	pass(HOLD_LAST);
	assert_true(answered());
	assert_int_equal(json_object_object_length(got), 1);
	assert_null(asker.out);
}

static void test_late(void **state)
{
	struct json_object *a, *v;

	applied(PROC_APPLIED_NONE);
	ask("{\"id\":5}");
	pass(HOLD_LIMIT);
	assert_true(answered());
	assert_true(json_object_object_get_ex(got, "id", &v));
	assert_true(json_object_object_get_ex(got, "late", &a));
	assert_int_equal(json_object_array_length(a), 1);
	a = json_object_array_get_idx(a, 0);
	assert_true(json_object_object_get_ex(a, "comm", &v));
	assert_string_equal(json_object_get_string(v), "prog");
	assert_true(json_object_object_get_ex(a, "stopped", &v));
	assert_false(json_object_get_boolean(v));
	assert_true(json_object_object_get_ex(got, "late_more", &v));
	assert_int_equal(json_object_get_int(v), 0);
}

/* An answer that is no object is sent as it is. */
static void test_late_other(void **state)
{
	applied(PROC_APPLIED_NONE);
	ask("[1]");
	pass(HOLD_LIMIT);
	assert_true(answered());
	assert_int_equal(json_object_array_length(got), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_applied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_other, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
