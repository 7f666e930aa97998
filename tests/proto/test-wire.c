/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RC messages larger than the window on a lossy link: a READ requests its data in parts and
 * requests lost parts again. The tests lose each of the first 64 packets, then each pair of them,
 * then random packets. The simulated responder is as strict as kernel rxe: it answers a repeated
 * READ or atomic only if it still has the responder resource of that request and the repetition
 * asks for no more. Further tests forge requests, or force the responder's answers by fault
 * injection.
 */
#include "sim.h"

#define STEPS 4
#define REGION 0x40000
#define MTU 4096u

static struct sim *s;

struct step {
	uint32_t op, len;
};

/* The responder's resources: PSNs of the last max_dest_rd_atomic READs and atomics executed. */
static struct {
	struct {
		uint32_t first, end;
	} res[16];
	uint32_t n;		/* executed so far */
	uint32_t refused;	/* repetitions that are refused: their resource is gone or covers less than they ask for */
} foreign;

static bool covers(uint32_t psn, uint32_t end)
{
	uint32_t have = min(foreign.n, s->cfg.max_dest);

	for (uint32_t i = 1; i <= have; i++) {
		uint32_t at = (foreign.n - i) % s->cfg.max_dest;

		if (psn_diff(psn, foreign.res[at].first) < 0 ||
		    psn_diff(psn, foreign.res[at].end) >= 0)
			continue;
		if (psn_diff(end, foreign.res[at].end) > 0)
			return false;
		foreign.res[at].first = psn;
		return true;
	}
	return false;
}

static bool foreign_arrival(struct sim *sim, int to, const struct seg *seg)
{
	uint32_t end = psn_add(seg->psn, seg->npkts);
	int32_t diff = psn_diff(seg->psn, sim->end[1].qp->card->epsn);

	if (to != 1 || (seg->type != SEG_READ_REQ && seg->type != SEG_CMP_SWP &&
			seg->type != SEG_FETCH_ADD))
		return false;
	if (diff > 0)
		return false;
	if (!diff) {
		foreign.res[foreign.n % s->cfg.max_dest].first = seg->psn;
		foreign.res[foreign.n++ % s->cfg.max_dest].end = end;
		return false;
	}
	if (covers(seg->psn, end))
		return false;
	foreign.refused++;
	return true;
}

static uint32_t at(int i)
{
	return (uint32_t)i * REGION;
}

static void post(const struct step *st, int i)
{
	struct sim_end *a = &s->end[0], *b = &s->end[1];
	bool atomic = st->op == OP_FETCH_ADD || st->op == OP_CMP_SWP;
	struct rxe_sge recv = sim_sge(b, at(i), REGION);
	struct sim_wr wr = {
		.id = 1000 + (uint64_t)i, .op = st->op, .flags = F_SIGNALED, .num_sge = 1,
		.rkey = b->mr->rkey, .raddr = (uintptr_t)b->buf + at(i), .compare_add = 5,
		.swap = 77,
	};

	wr.sge[0] = sim_sge(a, at(i), st->len);
	memset(a->buf + at(i), 0, REGION);
	memset(b->buf + at(i), 0, REGION);
	if (st->op == OP_SEND)
		sim_post_recv(b, 2000 + (uint64_t)i, &recv, 1);
	if (atomic)
		memset(b->buf + at(i), 0x11, 8);
	else
		sim_fill((st->op == OP_READ ? b : a)->buf + at(i), st->len, (uint32_t)i);
	sim_post(a, &wr);
}

static void check_atomic(const struct step *st, int i)
{
	uint64_t old, now;

	memcpy(&old, s->end[0].buf + at(i), 8);
	memcpy(&now, s->end[1].buf + at(i), 8);
	assert_int_equal(old, 0x1111111111111111);
	assert_int_equal(now, st->op == OP_FETCH_ADD ? old + 5 : old);
}

static void check(const struct step *st, int i)
{
	struct sim_end *a = &s->end[0], *b = &s->end[1];

	sim_expect(a->scq, 1000 + (uint64_t)i, 0);
	if (st->op == OP_SEND)
		sim_expect(b->rcq, 2000 + (uint64_t)i, 0);
	if (st->op == OP_FETCH_ADD || st->op == OP_CMP_SWP)
		check_atomic(st, i);
	else
		assert_true(sim_filled((st->op == OP_READ ? a : b)->buf + at(i), st->len,
				       (uint32_t)i));
}

static void run(const struct step *steps, int n, uint64_t mask)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.mtu = MTU;
	cfg.lossy = true;
	cfg.retry = 100;
	memset(&foreign, 0, sizeof(foreign));
	s->lose = mask;
	sim_connect(s, &cfg);
	for (int i = 0; i < n; i++)
		post(&steps[i], i);
	assert_int_equal(sim_bell(&s->end[0]), 0);
	sim_run(s, 100 * NS_S);
	for (int i = 0; i < n; i++)
		check(&steps[i], i);
	for (int i = 0; i < 2; i++) {
		sim_expect_none(s->end[i].scq);
		sim_expect_none(s->end[i].rcq);
		assert_int_equal(s->end[i].qp->state, QPS_RTS);
		assert_true(xp_idle(s->end[i].qp));
		assert_int_equal(sim_event(&s->end[i]), -1);
	}
}

static const struct step reads[] = {
	{ OP_READ, 50 * MTU - 7 }, { OP_READ, 20 * MTU }, { OP_READ, 60 * MTU },
	{ OP_READ, 3 * MTU },
};
static const struct step mixed[] = {
	{ OP_WRITE, 20 * MTU }, { OP_READ, 40 * MTU }, { OP_FETCH_ADD, 8 }, { OP_SEND, 30 * MTU },
};
static const struct step atomics[] = {
	{ OP_FETCH_ADD, 8 }, { OP_READ, 45 * MTU }, { OP_CMP_SWP, 8 }, { OP_READ, 17 * MTU },
};

static const struct scenario {
	const char *name;
	const struct step *steps;
} scenarios[] = { { "reads", reads }, { "mixed", mixed }, { "atomics", atomics } };

/* One and two losses: the strict responder can answer every repetition. */
static void test_pairs(void **state)
{
	for (size_t k = 0; k < ARRAY_SIZE(scenarios); k++)
		for (int i = 0; i < 64; i++)
			for (int j = i; j < 64; j++) {
				uint64_t mask = 1ull << i | 1ull << j;

				sim_note(s, "%s: mask 0x%016llx", scenarios[k].name,
					 (unsigned long long)mask);
				run(scenarios[k].steps, STEPS, mask);
				assert_int_equal(foreign.refused, 0);
			}
}

/*
 * Many losses, with a window that shrinks and grows: the strict responder can answer every
 * repetition.
 */
static void test_random(void **state)
{
	static const uint32_t pct[] = { 1, 5, 20, 40 };

	for (uint32_t seed = 0; seed < 1200; seed++) {
		const struct scenario *c = &scenarios[seed % ARRAY_SIZE(scenarios)];

		prng_seed(&s->rng, seed);
		s->loss_pct = pct[seed / 3 % ARRAY_SIZE(pct)];
		sim_note(s, "%s: seed %u, %u%% lost", c->name, seed, s->loss_pct);
		run(c->steps, STEPS, 0);
		assert_int_equal(foreign.refused, 0);
	}
	s->loss_pct = 0;
}

/* Duplicates and delays as well: late requests are refused, without other effect. */
static void test_network(void **state)
{
	for (uint32_t seed = 0; seed < 600; seed++) {
		const struct scenario *c = &scenarios[seed % ARRAY_SIZE(scenarios)];

		prng_seed(&s->rng, seed);
		s->loss_pct = 5;
		s->dup_pct = s->delay_pct = 3;
		sim_note(s, "%s: seed %u, lost, repeated, late", c->name, seed);
		run(c->steps, STEPS, 0);
	}
	s->loss_pct = s->dup_pct = s->delay_pct = 0;
}

/*
 * Forged requests with PSNs before the expected one that repeat no executed request (IBA class D
 * errors): no answer, and the QP stays in RTS.
 */
static void test_forged(void **state)
{
	struct sim_end *b = &s->end[1];

	s->arrival = NULL;
	for (uint32_t seed = 0; seed < 300; seed++) {
		run(atomics, STEPS, 0);
		prng_seed(&s->rng, seed);
		for (int i = 0; i < 50; i++) {
			uint32_t behind = 1 + prng_below(&s->rng, i & 1 ? 64 : PSN_MASK / 2);
			struct seg seg = {
				.service = SEG_RC, .flags = SEG_F_START | SEG_F_END | SEG_F_ACKREQ,
				.type = i % 3 ? SEG_READ_REQ : SEG_FETCH_ADD, .npkts = 1,
				.pkey = 0xffff, .path_mtu = MTU, .dqpn = b->qp->qpn,
				.psn = psn_add(b->qp->card->epsn, (uint32_t)-(int32_t)behind),
				.va = prng_u64(&s->rng), .rkey = (uint32_t)prng_u64(&s->rng),
				.dma_len = prng_below(&s->rng, 1u << 31),
			};

			sim_note(s, "forged: seed %u, %u behind", seed, behind);
			xp_input(b->qp, &seg, &b->link, s->now);
			assert_int_equal(b->qp->state, QPS_RTS);
			assert_int_equal(sim_event(b), -1);
		}
		sim_run(s, s->now + NS_S);
		sim_expect_none(s->end[0].scq);
		assert_int_equal(s->end[0].qp->state, QPS_RTS);
	}
}

/*
 * The fault to inject: one request of the run is answered with a NAK of this syndrome, as by `ruse fault` (link/fault.h).
 * Requests are counted from 0 in the order in which they arrive first; repetitions are not counted.
 */
static struct {
	uint8_t syndrome;
	uint32_t request, seen;
} force;

static bool force_arrival(struct sim *sim, int to, const struct seg *seg)
{
	/* The cast is safe: the segment belongs to the simulation. */
	if (to == 1 && seg->type != SEG_ACK && seg->type != SEG_READ_RESP &&
	    seg->type != SEG_ATOMIC_ACK && seg->psn == sim->end[1].qp->card->epsn &&
	    force.seen++ == force.request)
		((struct seg *)seg)->refuse = force.syndrome;
	return false;
}

/* A failed QP completes each WR once: the first with `status`, the others flushed. */
static void check_failed(int n, uint32_t status)
{
	struct ib_uverbs_wc wc;
	uint32_t first = 0;
	int done;

	for (done = 0; sim_poll(s->end[0].scq, &wc); done++) {
		assert_int_equal(wc.wr_id, 1000 + done);
		if (first)
			assert_int_equal(wc.status, 5);
		else
			first = wc.status;
	}
	assert_int_equal(done, n);
	/* The error arrives as a NAK; if that was lost, the retries run out. */
	if (first != status)
		assert_int_equal(first, 12);
	assert_int_equal(s->end[0].qp->state, QPS_ERR);
	assert_int_equal(s->end[1].qp->state, QPS_ERR);
}

static void run_forced(uint64_t mask)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.mtu = MTU;
	cfg.lossy = true;
	cfg.retry = 20;
	force.seen = 0;
	s->lose = mask;
	sim_connect(s, &cfg);
	for (int i = 0; i < STEPS; i++)
		post(&mixed[i], i);
	assert_int_equal(sim_bell(&s->end[0]), 0);
	sim_run(s, 100 * NS_S);
}

/*
 * Forced RNR and sequence NAKs are recovered from, other NAKs fail the QP; each also with one lost
 * packet.
 */
static void test_forced(void **state)
{
	static const struct {
		uint8_t syndrome;
		uint32_t status;
	} answers[] = {
		{ AETH_RNR_NAK, 0 }, { AETH_NAK_PSN_SEQ, 0 }, { AETH_NAK_INV_REQ, 9 },
		{ AETH_NAK_REM_ACC, 10 }, { AETH_NAK_REM_OP, 11 },
	};

	s->arrival = force_arrival;
	for (size_t k = 0; k < ARRAY_SIZE(answers); k++)
		for (force.request = 0; force.request < 24; force.request++)
			for (int i = 0; i < 64; i++) {
				force.syndrome = answers[k].syndrome;
				sim_note(s, "request %u is answered 0x%02x, packet %d lost",
					 force.request, force.syndrome, i);
				run_forced(1ull << i);
				assert_true(force.seen > force.request);
				if (answers[k].status) {
					check_failed(STEPS, answers[k].status);
					continue;
				}
				for (int j = 0; j < STEPS; j++)
					check(&mixed[j], j);
			}
}

/*
 * The peer has received everything, but its answers are late: the first ack timeout sends one
 * packet, not the whole window.
 */
static void test_timeout_asks(void **state)
{
	const struct step st = { OP_SEND, 20 * MTU };
	struct sim_cfg cfg = sim_defaults();

	cfg.mtu = MTU;
	cfg.lossy = true;
	sim_connect(s, &cfg);
	s->lose_all = true;
	post(&st, 0);
	assert_int_equal(sim_bell(&s->end[0]), 0);
	assert_true(s->sent > 10);
	s->sent = 0;
	s->now = xp_wake(s->end[0].qp);
	xp_timer(s->end[0].qp, s->now);
	assert_int_equal(s->sent, 1);
	/* The packets were lost after all: the next answer shows it, and the rest follows. */
	s->lose_all = false;
	sim_run(s, NS_S);
	check(&st, 0);
}

static int setup(void **state)
{
	s = sim_create();
	s->arrival = foreign_arrival;
	return 0;
}

static int teardown(void **state)
{
	sim_destroy(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
		cmocka_unit_test_setup_teardown(test_network, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeout_asks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
