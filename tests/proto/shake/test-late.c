/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* late: answers that wait at the requester. */
#include "shaken.h"

static struct sim_cfg config(void)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.timeout = 14;
	return cfg;
}

/*
 * Every subset of the answers is late, and one of the first packets is lost or none: all is as it must be, and an answer that is
 * not behind another late one is told.
 */
static void test_masks(void **state)
{
	struct sim_cfg cfg = config();

	for (int lost = -1; lost < 12; lost++) {
		for (uint32_t mask = 0; mask < 1u << SHAKEN_MSGS; mask++) {
			struct sim *s = shaken_begin(SHAKE_LATE, 0, mask, &cfg);

			sim_note(s, "lost %d mask %#x", lost, mask);
			s->lose = lost < 0 ? 0 : 1ull << lost;
			shaken_talk();
			assert_int_equal(shaken.taken != 0, mask != 0);
			assert_int_equal(shaken.events & ~mask, 0);
			assert_true(!mask || shaken.id == WHY_SHAKE_LATE_ANSWER);
			s->note[0] = 0;
			shaken_end();
		}
	}
}

/* Messages of several packets, and answers that come in parts. */
static void test_parts(void **state)
{
	struct sim_cfg cfg = config();

	cfg.mtu = 256;
	for (cfg.max_pkts = 1; cfg.max_pkts <= 4; cfg.max_pkts += 3)
		for (uint32_t event = 0; event < SHAKEN_MSGS; event++) {
			shaken_begin(SHAKE_LATE, 0, 1u << event, &cfg);
			shaken_talk();
			assert_int_equal(shaken.events, 1u << event);
			shaken_end();
		}
}

/* The requester does not repeat a request because an answer is late, however short its timeout; with none it may be very late. */
static void test_timeout(void **state)
{
	struct sim_cfg cfg = config();

	for (cfg.timeout = 0; cfg.timeout < 20; cfg.timeout++) {
		struct sim *s = shaken_begin(SHAKE_LATE, 0, 1, &cfg);
		ns_t wait;

		shaken_talk();
		wait = (ns_t)shaken.last.why.arg[2];
		assert_int_equal(s->end[0].td->dev.counter[CNT_COMP_RETRY], 0);
		if (cfg.timeout)
			assert_true(wait <= (4096LL << cfg.timeout) / 2);
		assert_true(shaken.end >= wait);
		shaken_end();
	}
}

/* The decision is told with its point: the answer is late from then on. */
static void test_told(void **state)
{
	struct sim_cfg cfg = config();

	shaken_begin(SHAKE_LATE, 0, 1u << 3, &cfg);
	shaken_talk();
	assert_int_equal(shaken.taken, 1);
	assert_string_equal(shaken.last.call, "test-0000");
	assert_int_equal(shaken.last.why.arg[0], 3);
	assert_int_equal(shaken.last.why.arg[5], 0);
	assert_int_equal(shaken.last.why.arg[1], shaken.s->end[0].qp->qpn);
	shaken_end();
}

static void take(struct qp *qp, const struct seg *seg, struct link *from, ns_t now)
{
	fail_msg("a segment of the old connection is handed over");
}

/* RESET: what waits is gone, and later requests of the QP have later numbers. */
static void test_reset(void **state)
{
	struct sim_cfg cfg = config();
	struct sim *s = shaken_begin(SHAKE_LATE, 0, 3, &cfg);
	struct sim_end *e = &s->end[0];
	struct sim_wr wr = { .op = OP_WRITE, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)s->end[1].buf, .rkey = s->end[1].mr->rkey };

	wr.sge[0] = sim_sge(e, 0, 8);
	sim_post(e, &wr);
	sim_bell(e);
	sim_run(s, 100 * NS_US);
	assert_int_equal(shaken.events, 1);
	sim_expect_none(e->scq);
	sim_connect(s, &cfg);
	assert_true(xp_wake(e->qp) == NS_NEVER);
	shake_ops->release(e->qp, NS_S, take);
	sim_post(e, &wr);
	sim_bell(e);
	sim_run(s, NS_S);
	sim_expect(e->scq, 0, 0);
	shaken_end();
}

/* The QP ends, or moves to ERR: what waits is handed over before, as on a desk the answer had come. */
static void test_release(void **state)
{
	struct sim_cfg cfg = config();
	struct sim *s = shaken_begin(SHAKE_LATE, 0, 1, &cfg);
	struct sim_end *e = &s->end[0];
	struct sim_wr wr = { .op = OP_WRITE, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)s->end[1].buf, .rkey = s->end[1].mr->rkey };

	wr.sge[0] = sim_sge(e, 0, 8);
	sim_post(e, &wr);
	sim_bell(e);
	sim_run(s, 100 * NS_US);
	sim_expect_none(e->scq);
	xp_shaken_release(e->qp, s->now);
	sim_expect(e->scq, 0, 0);
	shaken_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_timeout), cmocka_unit_test(test_told),
		cmocka_unit_test(test_reset), cmocka_unit_test(test_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
