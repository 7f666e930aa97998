/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of fault rules on a link that only stores the segments that pass. The time is a variable, which
 * each test advances until held packets are due. The stored PSNs, notes and flags show which packets
 * passed, and how the rules changed them.
 */
#include "link/testing_fault.h"

static void test_patterns(void **state)
{
	struct fault_rule *r;

	start(FAULT_LOCAL);
	r = rule(FAULT_DROP);
	r->when = FAULT_NTH;
	r->n = 3;
	r->times = 1;
	set();
	for (uint32_t i = 1; i <= 6; i++)
		assert_int_equal(send_psn(i), 0);
	assert_int_equal(net.n, 5);
	assert_int_equal(net.psn[2], 4);
	assert_int_equal(net.tapped, 1);
	assert_int_equal(counts[0].matched, 6);
	assert_int_equal(counts[0].acted, 1);
	assert_int_equal(counts[0].id, table.rule[0].id);

	r->when = FAULT_EVERY;
	r->id += 1000;
	r->n = 2;
	r->times = 2;
	net.n = 0;
	set();
	for (uint32_t i = 1; i <= 8; i++)
		send_psn(i);
	assert_int_equal(net.n, 6);
	assert_int_equal(counts[0].acted, 2);
	fault_unwrap(&net.l);
	assert_int_equal(net.l.max_pkts, 64);
	assert_true(net.l.caps & LINK_CAP_DIRECT);
	assert_ptr_equal(net.l.ops, &keep_ops);
	assert_ptr_equal(net.l.host, &keep_host);
}

static void test_criteria(void **state)
{
	static const struct {
		uint32_t by, sends;	/* FAULT_BY_* flags of the rule; how many of the packets with PSN 1 to 9 it drops */
	} cases[] = {
		{ FAULT_BY_QP, 9 }, { FAULT_BY_SQP, 9 }, { FAULT_BY_DQP, 0 }, { FAULT_BY_DEV, 9 },
		{ FAULT_BY_PEER, 0 }, { FAULT_BY_PSN, 3 }, { FAULT_BY_SIZE, 9 },
		{ FAULT_BY_SERVICE, 0 }, { FAULT_BY_OP, 9 }, { FAULT_BY_PSN | FAULT_BY_DQP, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fault_rule *r;

		start(FAULT_LOCAL);
		r = rule(FAULT_DROP);
		*r = (struct fault_rule){
			.id = r->id, .action = FAULT_DROP, .by = cases[i].by, .qpn = 0x8012,
			.sqpn = 0x8012, .dqpn = 0x8012, .dev = 7, .peer = { 1 }, .psn_lo = 4,
			.psn_hi = 6, .size_lo = 1, .size_hi = 1, .service = SEG_UD, .ops = 1u << 4,
		};
		set();
		for (uint32_t psn = 1; psn < 10; psn++)
			send_psn(psn);
		assert_int_equal(9 - net.n, cases[i].sends);
		fault_unwrap(&net.l);
	}
}

/* A packet that the full link refuses is sent again. The rules judge it once, and count it once. */
static void test_again(void **state)
{
	struct fault_rule *r;
	uint32_t kept[64], n;

	for (int round = 0; round < 2; round++) {
		start(FAULT_LOCAL);
		r = rule(FAULT_DROP);
		r->id = 500;
		r->when = FAULT_CHANCE;
		r->n = FAULT_CERTAIN / 2;
		table.seed = 11;
		set();
		for (uint32_t i = 0; i < 64; i++) {
			if (round)
				net.full_after = net.n;
			while (send_psn(i) == -EAGAIN)
				net.full_after = KEEP;
		}
		assert_int_equal(counts[0].matched, 64);
		assert_int_equal(counts[0].acted, 64 - net.n);
		if (!round)
			memcpy(kept, net.psn, sizeof(kept));
		else
			assert_memory_equal(kept, net.psn, net.n * sizeof(kept[0]));
		if (round)
			assert_int_equal(n, net.n);
		n = net.n;
		assert_int_equal(acts[0].n, 64 - n);
		fault_unwrap(&net.l);
	}
	assert_in_range(n, 10, 54);
}

/* What a rule has done to packets of each pair of QPs, and when. The oldest makes room. */
static void test_acts(void **state)
{
	struct seg s = t_seg(SEG_ACK, NULL, 0, 1);

	start(FAULT_LOCAL);
	rule(FAULT_DROP)->id = 600;
	set();
	for (uint32_t qpn = 1; qpn <= FAULT_ACTS + 1; qpn++) {
		s.sqpn = qpn;
		s.dqpn = qpn + 1000;
		for (int i = 0; i < 2; i++) {
			clock_now += NS_MS;
			net.l.ops->send(&net.l, &s);
		}
	}
	for (uint32_t i = 0; i < FAULT_ACTS; i++) {
		uint32_t qpn = i ? i + 1 : FAULT_ACTS + 1;

		assert_int_equal(acts[i].rule, 600);
		assert_int_equal(acts[i].qpn, qpn);
		assert_int_equal(acts[i].peer_qpn, qpn + 1000);
		assert_int_equal(acts[i].n, 2);
		assert_int_equal(acts[i].first, NS_S + (2 * qpn - 1) * NS_MS);
		assert_int_equal(acts[i].last, NS_S + 2 * qpn * NS_MS);
	}
	fault_unwrap(&net.l);
}

static void test_corrupt(void **state)
{
	start(FAULT_EGRESS);
	rule(FAULT_CORRUPT);
	set();
	send_psn(1);
	assert_int_equal(net.n, 1);
	assert_int_equal(net.bad_icrc[0], 1);
	assert_non_null(net.note[0]);
	fault_unwrap(&net.l);

	start(FAULT_LOCAL);
	rule(FAULT_CORRUPT);
	set();
	send_psn(1);
	assert_int_equal(net.n, 0);
	assert_int_equal(net.tapped, 1);
	fault_unwrap(&net.l);
}

/*
 * A segment for a wire: runs of unaffected packets are sent together, with the right payload and
 * flags.
 */
static void test_sent_train(void **state)
{
	static uint8_t buf[2600];
	struct iovec iov[2] = { { buf, 700 }, { buf + 700, 1900 } };
	struct seg seg = {
		.service = SEG_RC, .type = SEG_SEND,
		.flags = SEG_F_START | SEG_F_END | SEG_F_ACKREQ,
		.path_mtu = 512, .dqpn = 0x11, .psn = 0xfffffe, .npkts = 6, .len = sizeof(buf),
		.iov = iov, .niov = 2,
	};

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)(i / 512);
	start(FAULT_EGRESS);
	rule(FAULT_DROP)->when = FAULT_EVERY;
	table.rule[0].n = 3;
	set();
	assert_int_equal(net.l.ops->send(&net.l, &seg), 0);
	/* Packets 2 and 5 of 0 to 5 are dropped. */
	assert_int_equal(net.n, 2);
	assert_int_equal(net.tapped, 2);
	assert_int_equal(net.psn[0], 0xfffffe);
	assert_int_equal(net.psn[1], 1);
	assert_int_equal(net.first[1], 3);
	assert_int_equal(net.len[0], 1024);
	assert_int_equal(net.flags[0], SEG_F_START);
	assert_int_equal(net.flags[1], 0);
	assert_int_equal(counts[0].matched, 6);

	/* The link is full before the first packet: the segment is sent again and judged anew. */
	net.n = 0;
	net.full_after = 0;
	assert_int_equal(net.l.ops->send(&net.l, &seg), -EAGAIN);
	assert_int_equal(counts[0].matched, 6);
	net.full_after = KEEP;
	assert_int_equal(net.l.ops->send(&net.l, &seg), 0);
	assert_int_equal(net.n, 2);
	fault_unwrap(&net.l);

	/* No rule affects any packet of the segment. */
	start(FAULT_EGRESS);
	rule(FAULT_DROP)->when = FAULT_NTH;
	table.rule[0].n = 7;
	set();
	assert_int_equal(net.l.ops->send(&net.l, &seg), 0);
	assert_int_equal(net.n, 1);
	assert_int_equal(net.len[0], sizeof(buf));
	assert_int_equal(net.flags[0], seg.flags);
	fault_unwrap(&net.l);
}

static void test_duplicate(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_DUPLICATE)->count = 2;
	set();
	send_psn(1);
	assert_int_equal(net.n, 3);
	assert_int_equal(net.psn[2], 1);
	fault_unwrap(&net.l);
}

/* faults_judge() judges packets that pass no link. */
static void test_judge(void **state)
{
	struct seg s = t_seg(SEG_SEND, NULL, 0, 1);

	start(FAULT_LOCAL);
	fault_unwrap(&net.l);
	rule(FAULT_DUPLICATE)->count = 2;
	table.rule[0].dir = FAULT_OUT;
	rule(FAULT_DELAY)->delay = 100;
	rule(FAULT_DROP)->when = FAULT_NTH;
	table.rule[2].n = 3;
	table.rule[2].times = 1;
	set();
	assert_int_equal(faults_judge(&f, &s, FAULT_EGRESS, false), 3);
	assert_int_equal(faults_judge(&f, &s, FAULT_INGRESS, true), 1);
	assert_int_equal(faults_judge(&f, &s, FAULT_EGRESS, false), 0);
	assert_int_equal(faults_judge(&f, &s, FAULT_EGRESS, false), 3);
	assert_int_equal(counts[0].acted, 3);
	assert_int_equal(counts[2].matched, 4);
	assert_int_equal(counts[2].acted, 1);
}

static void test_delay(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_DELAY)->delay = 100;
	set();
	for (uint32_t i = 1; i <= 3; i++, clock_now += 10)
		send_psn(i);
	assert_int_equal(net.n, 0);
	assert_int_equal(wake_at, NS_S + 100);
	faults_run(&f, NS_S + 99);
	assert_int_equal(net.n, 0);
	faults_run(&f, NS_S + 110);
	assert_int_equal(net.n, 2);
	assert_int_equal(net.first[0], 1);
	assert_int_equal(wake_at, NS_S + 120);
	/* The link is full: the packet stays the first in the list. */
	net.full_after = net.n;
	faults_run(&f, NS_S + 120);
	assert_true(wake_at > NS_S + 120);
	net.full_after = KEEP;
	faults_run(&f, wake_at);
	assert_int_equal(net.n, 3);
	assert_int_equal(net.first[2], 3);
	assert_int_equal(wake_at, NS_NEVER);
	/* Held packets are passed on when the rules are removed. */
	send_psn(4);
	assert_int_equal(net.n, 3);
	fault_unwrap(&net.l);
	assert_int_equal(net.n, 4);
	assert_int_equal(net.l.refs, 1);
}

/* A packet that is held keeps its reason, which is the sender's only until send() returns. */
static void test_delay_reason(void **state)
{
	struct seg s = t_seg(SEG_ACK, NULL, 0, 1);
	struct why why = { .id = WHY_KEY_PD };

	start(FAULT_LOCAL);
	rule(FAULT_DELAY)->delay = 100;
	set();
	s.why = &why;
	assert_int_equal(net.l.ops->send(&net.l, &s), 0);
	why.id = WHY_NONE;
	faults_run(&f, NS_S + 100);
	assert_int_equal(net.n, 1);
	assert_int_equal(net.why, WHY_KEY_PD);
	fault_unwrap(&net.l);
}

static void test_reorder(void **state)
{
	struct fault_rule *r;

	start(FAULT_LOCAL);
	r = rule(FAULT_REORDER);
	r->count = 2;
	r->when = FAULT_NTH;
	r->n = 1;
	r->times = 1;
	set();
	for (uint32_t i = 1; i <= 2; i++)
		send_psn(i);
	faults_run(&f, clock_now);
	assert_int_equal(net.n, 1);
	send_psn(3);
	faults_run(&f, clock_now);
	assert_int_equal(net.n, 3);
	assert_int_equal(net.psn[0], 2);
	assert_int_equal(net.psn[2], 1);
	assert_int_equal(net.first[2], 1);
	fault_unwrap(&net.l);

	/* A held packet that no other packet follows is released by the timer. */
	start(FAULT_LOCAL);
	rule(FAULT_REORDER)->count = 5;
	set();
	send_psn(1);
	assert_true(wake_at < NS_NEVER);
	faults_run(&f, wake_at);
	assert_int_equal(net.n, 1);
	fault_unwrap(&net.l);
}

static void test_rate(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_RATE)->rate = 1000000;
	set();
	for (uint32_t i = 0; i < 1000; i++)
		send_psn(i);
	assert_int_equal(net.n, 0);
	assert_in_range(net.tapped, 1, 999);	/* lost: the queue of the simulated bottleneck was full */
	faults_run(&f, clock_now + 100 * NS_MS);
	assert_int_equal(net.n + net.tapped, 1000);
	fault_unwrap(&net.l);
}

static void test_responder(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_RNR)->times = 1;
	rule(FAULT_ERROR)->error = AETH_NAK_REM_OP;
	set();
	send_psn(1);	/* the rules do not apply at the sender */
	assert_int_equal(net.n, 1);
	expected = false;
	arrive(1, SEG_SEND);
	assert_int_equal(net.in_refuse[0], 0);
	expected = true;
	arrive(2, SEG_WRITE);	/* consumes no receive */
	assert_int_equal(net.in_refuse[1], AETH_NAK_REM_OP);
	arrive(3, SEG_ACK);
	assert_int_equal(net.in_refuse[2], 0);
	assert_int_equal(counts[0].matched, 0);
	table.rule[1] = (struct fault_rule){ 0 };
	set();
	arrive(4, SEG_SEND);
	arrive(5, SEG_SEND);
	assert_int_equal(net.in_refuse[3], AETH_RNR_NAK);
	assert_int_equal(net.in_refuse[4], 0);
	assert_int_equal(counts[0].acted, 1);
	fault_unwrap(&net.l);
}

static void test_local_errors(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_ERROR)->error = FAULT_LOC_PROT;
	set();
	assert_int_equal(send_psn(1), LINK_FAILS(FAULT_WC_LOC_PROT, table.rule[0].id));
	table.rule[0].error = FAULT_LOC_QP_OP;
	set();
	assert_int_equal(send_psn(1), LINK_FAILS(FAULT_WC_LOC_QP_OP, table.rule[0].id));
	assert_int_equal(net.n, 0);
	fault_unwrap(&net.l);
}

static void test_cut_off(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_FREEZE)->proc = 6;
	set();
	send_psn(1);
	assert_int_equal(net.n, 1);
	table.rule[0].proc = 5;
	set();
	send_psn(2);
	arrive(3, SEG_SEND);
	assert_int_equal(net.n, 1);
	assert_int_equal(net.in_n, 0);
	assert_int_equal(counts[0].acted, 2);
	fault_unwrap(&net.l);
}

/* Each packet of a joined segment from the wire is judged. */
static void test_train(void **state)
{
	uint8_t data[3] = { 0 };
	struct iovec iov[3] = { { data, 1 }, { data + 1, 1 }, { data + 2, 1 } };
	struct seg s = t_seg(SEG_SEND, iov, 3, 10);
	struct fault_rule *r;

	s.npkts = 3;
	start(FAULT_INGRESS);
	r = rule(FAULT_DROP);
	r->by = FAULT_BY_PSN;
	r->psn_lo = r->psn_hi = 11;
	r->dir = FAULT_IN;
	set();
	net.l.host->input(&net.l, &s);
	assert_int_equal(net.in_n, 2);
	assert_int_equal(net.in_psn[0], 10);
	assert_int_equal(net.in_psn[1], 12);
	table.rule[0].dir = FAULT_OUT;
	set();
	net.l.host->input(&net.l, &s);
	assert_int_equal(net.in_n, 5);
	fault_unwrap(&net.l);
}

/* Held packets keep the link alive; the last one frees it. */
static void test_destroy(void **state)
{
	start(FAULT_LOCAL);
	rule(FAULT_DELAY)->delay = 5;
	set();
	send_psn(1);
	link_put(&net.l);
	assert_int_equal(net.destroyed, 0);
	faults_run(&f, clock_now + 5);
	assert_int_equal(net.n, 1);
	assert_int_equal(net.destroyed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns), cmocka_unit_test(test_criteria),
		cmocka_unit_test(test_again), cmocka_unit_test(test_acts),
		cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_sent_train), cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_judge), cmocka_unit_test(test_delay),
		cmocka_unit_test(test_delay_reason),
		cmocka_unit_test(test_reorder), cmocka_unit_test(test_rate),
		cmocka_unit_test(test_responder), cmocka_unit_test(test_local_errors),
		cmocka_unit_test(test_cut_off), cmocka_unit_test(test_train),
		cmocka_unit_test(test_destroy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
