/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of fault rules about work requests, receives and QPs. */
#include "link/testing_fault.h"

/* A work request counts once, when its first packet is sent for the first time. */
static void test_complete(void **state)
{
	struct fault_rule *r;

	start(FAULT_EGRESS);
	r = rule(FAULT_COMPLETE);
	r->error = FAULT_WC_REM_OP;
	r->when = FAULT_NTH;
	r->n = 2;
	r->times = 1;
	set();
	first = true;
	assert_int_equal(send_psn(1), 0);
	first = false;
	assert_int_equal(send_psn(1), 0);
	first = true;
	assert_int_equal(send_psn(2), LINK_FAILS(FAULT_WC_REM_OP, r->id));
	assert_int_equal(send_psn(3), 0);
	assert_int_equal(net.n, 3);
	assert_int_equal(counts[0].matched, 3);
	assert_int_equal(counts[0].acted, 1);
	fault_unwrap(&net.l);
	/* Within the host the responder says so. */
	start(FAULT_LOCAL);
	r = rule(FAULT_COMPLETE);
	r->error = FAULT_WC_REM_OP;
	set();
	assert_int_equal(send_psn(1), 0);
	assert_int_equal(net.syndrome, AETH_NAK_REM_OP);
	r->error = FAULT_WC_RETRY_EXC;
	set();
	assert_int_equal(send_psn(2), LINK_FAILS(FAULT_WC_RETRY_EXC, r->id));
	assert_int_equal(net.n, 1);
	fault_unwrap(&net.l);
	first = false;
}

static void test_complete_recv(void **state)
{
	struct fault_rule *r;

	start(FAULT_INGRESS);
	r = rule(FAULT_COMPLETE);
	r->error = FAULT_WC_LOC_PROT;
	r->by = FAULT_BY_OP;
	r->ops = FAULT_OP_RECV;
	set();
	arrive(1, SEG_SEND);
	receives = true;
	arrive(2, SEG_SEND);
	arrive(3, SEG_ACK);
	assert_int_equal(net.in_refuse[0], 0);
	assert_int_equal(net.in_refuse[1], SEG_REFUSE_RECV | FAULT_WC_LOC_PROT);
	assert_int_equal(net.in_msn, r->id);
	assert_int_equal(net.in_refuse[2], 0);
	assert_int_equal(counts[0].acted, 1);
	receives = false;
	fault_unwrap(&net.l);
}

static void test_hang(void **state)
{
	struct seg s = t_seg(SEG_SEND, NULL, 0, 1);

	start(FAULT_LOCAL);
	rule(FAULT_HANG)->by = FAULT_BY_QP;
	table.rule[0].qpn = s.sqpn;
	set();
	assert_int_equal(send_psn(1), -EAGAIN);
	arrive(1, SEG_ACK);	/* to another QP */
	assert_int_equal(net.in_n, 1);
	table.rule[0].qpn = s.dqpn;
	set();
	assert_int_equal(send_psn(1), 0);
	assert_int_equal(net.l.hang_qpn, s.dqpn);
	arrive(2, SEG_ACK);
	assert_int_equal(net.in_n, 1);
	assert_int_equal(counts[0].acted, 1);
	assert_int_equal(faults_hang(&f, s.dqpn), table.rule[0].id);
	assert_int_equal(faults_hang(&f, s.dqpn + 1), 0);
	fault_unwrap(&net.l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete), cmocka_unit_test(test_complete_recv),
		cmocka_unit_test(test_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
