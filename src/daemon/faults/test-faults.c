/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of `ruse fault`: what they change in the host page, and what they refuse. */
#include "daemon/faults/testing_faults.h"

static void test_add(void **state)
{
	const struct fault_rule *f = page.fault.rule;
	uint32_t version;

	assert_string_equal(run("add drop nth 3 op SEND qp 17 dev node0"), "");
	assert_int_equal(f[0].id, 1);
	assert_int_equal(f[0].action, FAULT_DROP);
	assert_int_equal(f[0].when, FAULT_NTH);
	assert_int_equal(f[0].n, 3);
	assert_int_equal(f[0].times, 1);	/* "nth 3" means one packet */
	assert_int_equal(f[0].qpn, 17);
	assert_int_equal(f[0].dev, 5);
	assert_int_equal(notified, 1);
	assert_true(host.configured);	/* rules keep rused from its idle exit */
	version = page.fault.version;
	assert_int_not_equal(version, 0);
	assert_string_equal(run("add delay 200us jitter 50us psn 10..20"), "");
	assert_int_equal(f[1].id, 2);
	assert_int_equal(f[1].delay, 200000);
	assert_int_equal(f[1].jitter, 50000);
	assert_int_equal(f[1].psn_lo, 10);
	assert_int_equal(f[1].psn_hi, 20);
	assert_int_not_equal(page.fault.version, version);
	assert_string_equal(run("list"), "");
	assert_int_equal(rules_n("rules"), 2);
	/* A number is not used again, its place is. */
	assert_string_equal(run("del 1"), "");
	assert_int_equal(of_rule("deleted", 0, "id"), 1);
	assert_int_equal(f[0].id, 0);
	assert_string_equal(run("add drop"), "");
	assert_int_equal(f[0].id, 3);
	assert_string_equal(run("del all"), "");
	assert_int_equal(rules_n("deleted"), 2);
	assert_string_equal(run("list"), "");
	assert_int_equal(rules_n("rules"), 0);
}

/* Wrong words of a line change nothing and say what is wrong. */
static void test_refused(void **state)
{
	static const char *const lines[] = {
		"", "   ", "unknown", "add", "add dro", "add drop nth", "add drop nth 0",
		"add drop nth x", "add drop dev rxe_9", "add drop psn 20..10", "add drop 101%",
		"add drop jitter 5us", "add delay", "add delay 200", "add delay 5us jitter 6us",
		"add drop peer 1.2.3", "add drop op NOTHING", "add drop dir up", "add freeze",
		"del", "del x", "del 1 2", "seed", "seed -1", "down rxe_9", "freeze", "freeze x",
		"add drop \x01",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_string_not_equal(run(lines[i]), "");
		assert_true(is_usage());
	}
	assert_non_null(strstr(run("add dro"), "mean 'drop'"));	/* the word that was meant */
	/* Right commands without an object: no usage. */
	assert_string_not_equal(run("del 1"), "");
	assert_false(is_usage());
	assert_string_not_equal(run("up"), "");
	assert_false(is_usage());
	assert_string_not_equal(run("freeze 4711"), "");
	assert_false(is_usage());
	assert_int_equal(page.fault.version, 0);
	assert_int_equal(notified, 0);
}

static void test_long(void **state)
{
	char line[FAULT_LINE + 1];

	memset(line, ' ', sizeof(line));
	memcpy(line, "add drop", 8);
	line[FAULT_LINE - 1] = '\0';
	assert_string_equal(run(line), "");
	line[FAULT_LINE - 1] = ' ';
	line[FAULT_LINE] = '\0';
	assert_string_not_equal(run(line), "");
	/* More words than a command has. */
	strcpy(line, "add drop");
	for (int i = 0; i < FAULT_WORDS; i++)
		strcat(line, " 1%");
	assert_string_not_equal(run(line), "");
}

static const char *runf(const char *fmt, ...)
{
	static char line[FAULT_LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return run(line);
}

/* Every call with every errno that it may give; and with one that it may not, whose message names those. */
static void test_fail(void **state)
{
	static const int all[] = { EAGAIN, EBUSY, EFAULT, EHOSTUNREACH, EINVAL, EIO, EMFILE,
				   ENETUNREACH, ENODATA,
				   ENOMEM, ENOSYS, EOPNOTSUPP, EPERM, ETIMEDOUT };
	const struct fault_rule *f = page.fault.rule;
	const struct fault_call_row *row;
	int refused = 0, taken = 0;

	for (uint32_t c = 1; c < FAULT_NCALLS; c++) {
		row = fault_call_row(c);
		assert_non_null(row);
		assert_int_equal(fault_call_find(row->name), c);
		assert_true(row->error[0]);
		for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
			const char *said = runf("add fail %s errno %s", row->name, fault_errno_name(all[i]));

			if (!memchr(row->error, all[i], sizeof(row->error))) {
				assert_non_null(strstr(said, "it may give: E"));
				assert_true(is_usage());
				refused++;
				continue;
			}
			taken++;
			assert_string_equal(said, "");
			assert_int_equal(f[0].action, FAULT_FAIL);
			assert_int_equal(f[0].call, c);
			assert_int_equal(f[0].error, all[i]);
			assert_string_equal(run("del all"), "");
		}
	}
	assert_true(taken > 80 && refused > 80);
	/* A call has a command, an extended one, and an ioctl. */
	assert_int_equal(fault_call_of("MODIFY_QP"), FAULT_MODIFY_QP);
	assert_int_equal(fault_call_of("EX_MODIFY_QP"), FAULT_MODIFY_QP);
	assert_int_equal(fault_call_of("QP_CREATE"), FAULT_CREATE_QP);
	assert_int_equal(fault_call_of("CREATE_XSRQ"), FAULT_CREATE_SRQ);
	assert_int_equal(fault_call_of("POST_SEND"), FAULT_CALL_NONE);
	assert_string_equal(run("add fail ibv_post_send errno ENOMEM op SEND op READ qp 17 nth 2 service RC dev node0"), "");
	assert_int_equal(f[0].ops, 1 << 2 | 1 << 3 | 1 << 9 | 1 << 4);
	assert_int_equal(f[0].by, FAULT_BY_OP | FAULT_BY_QP | FAULT_BY_SERVICE | FAULT_BY_DEV);
}

/* What a rule says that it does not select with, or cannot do, is refused. */
static void test_fail_refused(void **state)
{
	static const char *const lines[][2] = {
		{ "add fail", "expected a call and an errno" },
		{ "add fail post_send", "expected a call and an errno" },
		{ "add fail post_send ENOMEM", "expected a call and an errno" },
		{ "add fail post_sned errno ENOMEM", "did you mean 'post_send'" },
		{ "add fail nothing errno ENOMEM", "calls: post_send" },
		{ "add fail post_send errno 12", "it may give: ENOMEM EINVAL EIO" },
		{ "add fail post_send errno ENOMEM psn 5", "the clause psn" },
		{ "add fail post_send errno ENOMEM dir in", "the clause dir" },
		{ "add fail post_send errno ENOMEM peer 10.0.0.1", "the clause peer" },
		{ "add fail post_send errno ENOMEM op SEND_FIRST", "expected SEND, WRITE" },
		{ "add fail post_send errno ENOMEM op RECV", "post_recv posts receives" },
		{ "add fail post_recv errno ENOMEM op SEND", "the clause op" },
		{ "add fail post_srq_recv errno ENOMEM dev node0", "the clause dev" },
		{ "add fail create_qp errno ENOMEM qp 17", "has no QP" },
		{ "add fail reg_mr errno ENOMEM service RC", "the clause service" },
		{ "add fail modify_qp errno ENOMEM jitter 1us", "jitter needs the action delay" },
		{ "add fail modify_qp errno ENOMEM pid 4711", "no process with PID 4711" },
		{ "add drop pid 4711", "no process with PID 4711" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_non_null(strstr(run(lines[i][0]), lines[i][1]));
		assert_true(is_usage());
		assert_int_equal(page.fault.rule[0].id, 0);
	}
}

/* Each status with each service and opcode: which may be is the table of IBA 11.6.2. r: the receive. */
static void test_complete(void **state)
{
	static const struct {
		const char *status;
		uint32_t value;
		const char *rc, *uc, *ud;	/* opcodes */
	} rows[] = {
		{ "LOC_LEN_ERR", 1, "S I V W J R A r", "S I W J", "S I" },
		{ "LOC_QP_OP_ERR", 2, "S I V W J R A F r", "S I W J r", "S I r" },
		{ "LOC_PROT_ERR", 4, "S I V W J R A r", "S I W J r", "S I r" },
		{ "BAD_RESP_ERR", 7, "R A F", "", "" },
		{ "LOC_ACCESS_ERR", 8, "r", "", "" },
		{ "REM_INV_REQ_ERR", 9, "S I V W J R A F r", "", "" },
		{ "IBV_WC_REM_ACCESS_ERR", 10, "V W J R A F", "", "" },
		{ "REM_OP_ERR", 11, "S I V W J R A F", "", "" },
		{ "RETRY_EXC_ERR", 12, "S I V W J R A F", "", "" },
		{ "RNR_RETRY_EXC_ERR", 13, "S I V J", "", "" },
		{ "WR_FLUSH_ERR", 0, "", "", "" },
		{ "MW_BIND_ERR", 0, "", "", "" },
		{ "REM_ABORT_ERR", 0, "", "", "" },
		{ "SUCCESS", 0, "", "", "" },
		{ "NO_SUCH_ERR", 0, "", "", "" },
	};
	/* SEND WITH IMM is I, WITH INV V, WRITE WITH IMM J. */
	static const char letters[] = "SIVWJRAFr";
	static const char *const ops[] = { "SEND", "SEND_WITH_IMM", "SEND_WITH_INV", "WRITE", "WRITE_WITH_IMM",
					   "READ", "ATOMIC", "FLUSH", "RECV" };
	int taken = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t o = 0; o < ARRAY_SIZE(ops); o++) {
			const char *const may[] = { rows[i].rc, rows[i].uc, rows[i].ud };
			static const char *const services[] = { "RC", "UC", "UD" };

			for (size_t s = 0; s < ARRAY_SIZE(services); s++) {
				const char *said = runf("add complete %s op %s service %s", rows[i].status, ops[o],
							services[s]);

				if (!strchr(may[s], letters[o])) {
					assert_non_null(strstr(said, "complete: "));
					assert_true(is_usage());
					continue;
				}
				taken++;
				assert_string_equal(said, "");
				assert_int_equal(page.fault.rule[0].error, rows[i].value);
				assert_string_equal(run("del all"), "");
			}
		}
	assert_true(taken > 60);
	/* Without op and service: the sends that may have it. */
	assert_string_equal(run("add complete RNR_RETRY_EXC_ERR"), "");
	assert_int_equal(page.fault.rule[0].ops, 1 << 2 | 1 << 3 | 1 << 9 | 1 << 1);
	assert_int_equal(page.fault.rule[0].by, FAULT_BY_OP | FAULT_BY_SERVICE);
	assert_int_equal(page.fault.rule[0].service, 0);
	assert_string_equal(run("add complete LOC_PROT_ERR"), "");
	assert_int_equal(page.fault.rule[1].by, FAULT_BY_OP);
	assert_non_null(strstr(run("add complete LOC_ACCESS_ERR"), "say `op RECV`"));
	assert_non_null(strstr(run("add complete LOC_PROT_ERR op RECV op SEND"), "receives or for sends"));
	assert_non_null(strstr(run("add complete LOC_PROT_ERR psn 5"), "the clause psn"));
	assert_non_null(strstr(run("add complete"), "missing status"));
}

static void test_hold(void **state)
{
	assert_string_equal(run("add hold completions 200us qp 17 10% dev node0"), "");
	assert_int_equal(page.fault.rule[0].action, FAULT_HOLD);
	assert_int_equal(page.fault.rule[0].delay, 200000);
	assert_non_null(strstr(run("add hold"), "hold completions TIME"));
	assert_non_null(strstr(run("add hold 200us"), "hold completions TIME"));
	assert_non_null(strstr(run("add hold completions 2s"), "a time up to 1s"));
	assert_non_null(strstr(run("add hold completions 0s"), "the time is 0"));
	assert_non_null(strstr(run("add hold completions 1ms op SEND"), "the clause op"));
	assert_non_null(strstr(run("add hold completions 1ms jitter 1us"), "jitter needs"));
}

static void test_full(void **state)
{
	for (int i = 0; i < FAULT_MAX_RULES; i++)
		assert_string_equal(run("add drop"), "");
	assert_string_not_equal(run("add drop"), "");
	assert_false(is_usage());
	assert_string_equal(run("del 1"), "");
	assert_string_equal(run("add drop"), "");
}

static void test_new_seed(void **state)
{
	assert_string_equal(run("seed 0x10"), "");
	assert_int_equal(page.fault.seed, 16);
	assert_int_equal(page.fault.seeded, 1);
	/* The same seed once more: random numbers start again. */
	assert_string_equal(run("seed 16"), "");
	assert_int_equal(page.fault.seeded, 2);
}

static void test_down(void **state)
{
	assert_string_equal(run("down node0"), "");
	assert_int_equal(page.fault.rule[0].action, FAULT_DOWN);
	assert_int_equal(page.fault.rule[0].dev, 5);
	assert_string_equal(run("down"), "");
	assert_int_equal(page.fault.rule[1].by, 0);
	assert_string_equal(run("up node0"), "");
	assert_int_equal(rules_n("deleted"), 1);
	assert_int_equal(page.fault.rule[0].id, 0);
	assert_string_equal(run("up"), "");
	assert_int_equal(page.fault.rule[1].id, 0);
}

static void test_cm(void **state)
{
	const struct fault_rule *f = page.fault.rule;

	assert_string_equal(run("add cm reject NO_QP port 7471 dev node0"), "");
	assert_int_equal(f[0].action, FAULT_CM_REJECT);
	assert_int_equal(f[0].error, 1);
	assert_int_equal(f[0].port, 7471);
	assert_int_equal(f[0].ops, 1);		/* REQ */
	assert_int_equal(f[0].by, FAULT_BY_PORT | FAULT_BY_DEV | FAULT_BY_OP);
	assert_string_equal(run("add cm delay 10s message REP message DREP dir in"), "");
	assert_int_equal(f[1].action, FAULT_CM_DELAY);
	assert_int_equal(f[1].delay, 10 * NS_S);
	assert_int_equal(f[1].ops, 1 << 3 | 1 << 6);
	assert_int_equal(f[1].dir, FAULT_IN);
	assert_string_equal(run("add cm drop 5%"), "");
	assert_int_equal(f[2].action, FAULT_CM_DROP);
	assert_int_equal(f[2].ops, (1 << 11) - 1);
	assert_string_equal(run("add cm unreachable host peer 10.0.0.2"), "");
	assert_int_equal(f[3].action, FAULT_CM_UNREACHABLE);
	assert_int_equal(f[3].call, FAULT_STEP_HOST);
	assert_int_equal(f[3].by, FAULT_BY_PEER);
	assert_string_equal(run("add cm reject IB_SIDR_REJECT message SIDR_REQ"), "");
	assert_int_equal(f[4].error, 2);
	assert_string_not_equal(run("add cm reject 4"), "");	/* TIMEOUT */
	assert_string_not_equal(run("add cm reject 0"), "");
	assert_string_not_equal(run("add cm drop qp 5"), "");
	assert_string_not_equal(run("add cm"), "");
	assert_int_equal(f[5].id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_add, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fail_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_complete, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_seed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_down, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
