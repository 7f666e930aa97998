/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of `ruse fault` about processes, the counts of processes, and what they tell of events. */
#include "daemon/faults/testing_faults.h"

static void counts_are(int64_t matched, int64_t acted)
{
	assert_string_equal(run("list"), "");
	assert_int_equal(of_rule("rules", 0, "matched"), matched);
	assert_int_equal(of_rule("rules", 0, "acted"), acted);
}

/* Counts of processes that run and that have ended, and of rused, each once. */
static void test_counts(void **state)
{
	struct process a, b;
	struct proc_page *pa = connect_process(&a, 100, 1), *pb = connect_process(&b, 200, 2);

	assert_string_equal(run("add drop"), "");
	pa->fault[0] = (struct fault_count){ .id = 1, .matched = 10, .acted = 5 };
	pb->fault[0] = (struct fault_count){ .id = 1, .matched = 3, .acted = 1 };
	own.count[0] = (struct fault_count){ .id = 1, .matched = 100 };
	counts_are(113, 6);
	disconnect_process(&a, pa);
	counts_are(113, 6);
	/* A count of the rule that was here before. */
	pb->fault[0].id = 77;
	counts_are(110, 5);
	/* A page that the process has spoiled. */
	pb->fault[0].id = 1;
	pb->magic = 0;
	counts_are(110, 5);
	pb->magic = PROC_PAGE_MAGIC;
	assert_string_equal(run("del 1"), "");
	assert_int_equal(of_rule("deleted", 0, "matched"), 113);
	assert_string_equal(run("add drop"), "");
	counts_are(0, 0);
	disconnect_process(&b, pb);
}

static void test_hang(void **state)
{
	struct process a;
	struct proc_page *pa = connect_process(&a, 100, 1);

	assert_string_equal(run("add hang pid 100"), "");
	assert_int_equal(page.fault.rule[0].action, FAULT_HANG);
	assert_int_equal(page.fault.rule[0].proc, 1);
	assert_non_null(strstr(run("add hang"), "a QP or a process"));
	assert_non_null(strstr(run("add hang qp 17 nth 3"), "until the rule is deleted"));
	assert_non_null(strstr(run("add hang qp 17 5%"), "until the rule is deleted"));
	assert_non_null(strstr(run("add hang qp 17 op SEND"), "op"));
	assert_non_null(strstr(run("add hang qp 17"), "no process has QP 17"));
	assert_string_equal(run("thaw all"), "");
	assert_int_equal(page.fault.rule[0].id, 0);
	disconnect_process(&a, pa);
}

/* Names in either case, with the prefix of libibverbs, and without _ERR. */
static void test_names(void **state)
{
	static const char *const same[][2] = {
		{ "add complete REM_ACCESS_ERR", "add complete rem_access" },
		{ "add complete RETRY_EXC_ERR", "add complete IBV_WC_RETRY_EXC_ERR" },
		{ "add error REM_OP", "add error REM_OP_ERR" },
		{ "add error PSN_SEQ", "add error psn_seq" },
		{ "add error LOC_PROT", "add error IBV_WC_LOC_PROT_ERR" },
	};
	static const char *const near[][2] = {
		{ "add complete REM_ACESS_ERR", "did you mean 'REM_ACCESS_ERR'" },
		{ "add error REM_ACESS", "did you mean 'REM_ACCESS'" },
		{ "event qp_fatl", "did you mean 'QP_FATAL'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		assert_string_equal(run(same[i][0]), "");
		assert_string_equal(run(same[i][1]), "");
		page.fault.rule[1].id = page.fault.rule[0].id;
		assert_memory_equal(&page.fault.rule[0], &page.fault.rule[1],
				    sizeof(page.fault.rule[0]));
		assert_string_equal(run("del all"), "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(near); i++)
		assert_non_null(strstr(run(near[i][0]), near[i][1]));
	assert_string_equal(run("event ibv_event_gid_change"), "");
}

static void test_freeze(void **state)
{
	struct process a, b;
	struct proc_page *pa = connect_process(&a, 100, 1), *pb = connect_process(&b, 200, 2);

	assert_string_equal(run("freeze 200"), "");
	assert_int_equal(page.fault.rule[0].action, FAULT_FREEZE);
	assert_int_equal(page.fault.rule[0].proc, 2);
	/* A rule for one process. */
	assert_string_equal(run("add fail reg_mr errno ENOMEM pid 100"), "");
	assert_int_equal(page.fault.rule[1].proc, 1);
	assert_int_equal(page.fault.rule[1].by, FAULT_BY_PROC);
	assert_non_null(strstr(run("add drop pid 100"), "freeze PID"));
	assert_string_not_equal(run("thaw 100"), "");
	assert_int_not_equal(page.fault.rule[0].id, 0);
	assert_string_equal(run("thaw 200"), "");
	assert_int_equal(page.fault.rule[0].id, 0);
	/* `ruse` itself, which has no number, uses no RDMA. */
	b.proc = 0;
	assert_string_not_equal(run("freeze 200"), "");
	disconnect_process(&a, pa);
	disconnect_process(&b, pb);
}

static int64_t answered(const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(answer, key, &v) ? json_object_get_int64(v) : -1;
}

/* An event is published, and its answer has what the processes say of it. */
static void test_event(void **state)
{
	struct process a, b;
	struct proc_page *pa = connect_process(&a, 100, 1), *pb = connect_process(&b, 200, 2);

	a.nctx[2] = b.nctx[2] = 1;
	assert_string_equal(run("event QP_FATAL qp 17 dev node0"), "");
	assert_int_equal(answered("event"), 1);
	assert_int_equal(notified, 1);
	assert_int_equal(page.events, 1);
	assert_int_equal(page.event[1].type, 1);
	assert_int_equal(page.event[1].object, 17);
	assert_int_equal(page.event[1].dev, 5);
	assert_string_equal(run("event 1"), "");
	assert_int_equal(answered("waits"), 2);
	pa->event[1] = (struct proc_event){ .number = 1, .raised = 1 };
	pb->event[1] = (struct proc_event){ .number = 1, .refused = PROC_NO_OBJECT };
	assert_string_equal(run("event 1"), "");
	assert_int_equal(answered("waits"), 0);
	assert_int_equal(answered("raised"), 1);
	assert_false(json_object_object_get_ex(answer, "refused", NULL));
	pa->event[1] = (struct proc_event){ .number = 1, .refused = PROC_QP_STATE };
	pb->event[1].refused = 12345;
	assert_string_equal(run("event 1"), "");
	assert_int_equal(answered("raised"), 0);
	assert_true(json_object_object_get_ex(answer, "refused", NULL));
	/* Of one process only. */
	assert_string_equal(run("event IBV_EVENT_GID_CHANGE pid 200"), "");
	assert_int_equal(page.event[2].proc, 2);
	assert_string_equal(run("event 2"), "");
	assert_int_equal(answered("waits"), 1);
	assert_non_null(strstr(run("event 3"), "no longer known"));
	assert_non_null(strstr(run("event PORT_ERR"), "ruse fault down"));
	assert_non_null(strstr(run("event CQ_ERR qp 17"), "not an event of a QP"));
	assert_non_null(strstr(run("event QP_FATAL pid 300"), "no process"));
	assert_non_null(strstr(run("event CQ_ERR cq 17"), "no CQ"));
	assert_string_not_equal(run("event QP_FATAL qp"), "");
	assert_string_not_equal(run("event QP_FATAL what 1"), "");
	assert_string_not_equal(run("event"), "");
	assert_int_equal(page.events, 2);
	/* Of programs that have closed the device, and that have ended since. */
	pa->event[1] = (struct proc_event){ .number = 1, .raised = 1 };
	a.nctx[2] = 0;
	assert_string_equal(run("event 1"), "");
	assert_int_equal(answered("raised"), 1);
	disconnect_process(&a, pa);
	assert_string_equal(run("event 1"), "");
	assert_int_equal(answered("raised"), 1);
	disconnect_process(&b, pb);
	assert_string_equal(run("event 2"), "");
	assert_int_equal(answered("raised"), 0);
	assert_true(json_object_object_get_ex(answer, "refused", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hang, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_freeze, setup, teardown),
		cmocka_unit_test_setup_teardown(test_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
