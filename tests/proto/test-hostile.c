/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Robustness of RC: segments with random content, and rings overwritten while WQEs are in flight.
 * No memory outside the range that the keys allow may change (checked with canary bytes), no WQE
 * may complete twice, and a new connection must work afterwards. Most useful with a sanitizer.
 */
#include "sim.h"

#define ROUNDS 2000
#define CANARY 0xc5

static struct sim *s;
static struct sim_end *a, *b;
static struct mr *part;		/* the only range of b->buf that peers may write */

static uint32_t around(struct prng *p, uint32_t v)
{
	return v + prng_below(p, 9) - 4;
}

/* A value that is random, close to v, or v itself. */
static uint32_t odd(struct prng *p, uint32_t v)
{
	switch (prng_below(p, 4)) {
	case 0:
		return (uint32_t)prng_u64(p);
	case 1:
		return around(p, v);
	default:
		return v;
	}
}

static void random_seg(struct sim_end *to)
{
	struct prng *p = &s->rng;
	struct qp *qp = to->qp;
	static uint8_t payload[8192];
	uint32_t have = prng_below(p, sizeof(payload));
	struct iovec iov = { payload, have };
	struct seg seg = {
		.service = prng_below(p, 20) ? SEG_RC : (uint8_t)prng_below(p, 256),
		.type = (uint8_t)prng_below(p, SEG_NTYPES + 1),
		.flags = (uint8_t)prng_below(p, 16),
		.syndrome = prng_below(p, 2) ? 0x1f : (uint8_t)prng_below(p, 256),
		.pkey = prng_below(p, 50) ? 0xffff : (uint16_t)prng_u64(p),
		.path_mtu = 256,
		.dqpn = qp->qpn, .sqpn = qp->attr.dest_qpn,
		.psn = odd(p, prng_below(p, 2) ? qp->card->epsn : qp->req.una) & 0xffffff,
		.npkts = odd(p, (have + 255) / 256),
		.len = prng_below(p, 10) ? have : odd(p, have),
		.va = (uintptr_t)b->buf + odd(p, 4096),
		.rkey = prng_below(p, 4) ? part->rkey : odd(p, part->rkey),
		.dma_len = odd(p, have),
		.imm = (uint32_t)prng_u64(p),
		.swap_add = prng_u64(p), .compare = prng_u64(p),
		.iov = &iov, .niov = 1,
	};

	if (seg.type == SEG_READ_RESP || !prng_below(p, 3))
		seg.npkts = 1 + prng_below(p, 20);
	xp_input(qp, &seg, &to->link, s->now);
}

static void check_canaries(void)
{
	for (uint32_t i = 0; i < SIM_BUF; i++) {
		if (i >= 4096 && i < 4096 + 65536)
			continue;
		if (b->buf[i] != CANARY)
			fail_msg("byte %u was overwritten", i);
	}
}

static void post_something(uint64_t id)
{
	struct prng *p = &s->rng;
	struct sim_wr wr = {
		.id = id, .op = prng_below(p, 16), .plt = 1, .flags = F_SIGNALED,
		.rkey = part->rkey,
		.raddr = (uintptr_t)b->buf + 4096, .num_sge = 1,
		.sge[0] = sim_sge(a, 4096, 8 + prng_below(p, 3000)),
	};

	sim_post(a, &wr);
	sim_bell(a);
}

/* Reconnects and sends one message, to show that earlier garbage has no effect. */
static void check_works(const struct sim_cfg *cfg)
{
	struct rxe_sge sge = sim_sge(b, 8192, 4096);
	struct sim_wr wr = { .id = 5, .op = OP_SEND, .flags = F_SIGNALED, .num_sge = 1 };

	sim_connect(s, cfg);
	wr.sge[0] = sim_sge(a, 0, 2000);
	sim_fill(a->buf, 2000, 8);
	sim_post_recv(b, 6, &sge, 1);
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 5, 0);
	sim_expect(b->rcq, 6, 0);
	assert_true(sim_filled(b->buf + 8192, 2000, 8));
}

static void test_segments(void **state)
{
	struct prng seeds;
	struct ib_uverbs_wc wc;

	test_seed(&seeds);
	memset(b->buf, CANARY, SIM_BUF);
	for (int round = 0; round < ROUNDS; round++) {
		struct sim_cfg cfg = sim_defaults();
		uint64_t seed = prng_u64(&seeds), next = 0;

		sim_note(s, "round %d seed %llu", round, (unsigned long long)seed);
		prng_seed(&s->rng, seed);
		cfg.max_dest = 1u << prng_below(&s->rng, 4);
		sim_connect(s, &cfg);
		s->room = prng_below(&s->rng, 2) ? 3 : 0;
		for (uint64_t i = 0; i < 5; i++) {
			struct rxe_sge sge = { (uintptr_t)b->buf + 4096, 3000, part->lkey };

			sim_post_recv(b, i, &sge, 1);
			post_something(i);
		}
		for (int i = 0; i < 30; i++)
			random_seg(prng_below(&s->rng, 3) ? b : a);
		sim_run(s, s->now + NS_S);
		/* Each WQE completes at most once, in order. */
		while (sim_poll(a->scq, &wc)) {
			assert_true(wc.wr_id >= next && wc.wr_id < 5);
			next = wc.wr_id + 1;
		}
		for (next = 0; sim_poll(b->rcq, &wc); next = wc.wr_id + 1)
			assert_true(wc.wr_id >= next && wc.wr_id < 5);
	}
	check_canaries();
	struct sim_cfg cfg = sim_defaults();

	check_works(&cfg);
}

static void scribble(struct ring *r)
{
	struct prng *p = &s->rng;
	size_t at = prng_below(p, r->buf_size - 8);
	uint64_t v = prng_below(p, 3) ? prng_below(p, 64) : prng_u64(p);

	memcpy((uint8_t *)r->buf + at, &v, 1 + prng_below(p, 8));
	if (!prng_below(p, 10))
		r->buf->producer_index = (uint32_t)prng_u64(p);
	if (!prng_below(p, 10))
		r->buf->consumer_index = (uint32_t)prng_u64(p);
}

static void restore(struct ring *r)
{
	r->buf->producer_index = r->buf->consumer_index = r->index;
}

static void test_rings(void **state)
{
	struct prng seeds;
	struct sim_cfg cfg = sim_defaults();

	test_seed(&seeds);
	for (int round = 0; round < ROUNDS; round++) {
		struct rxe_sge sge = sim_sge(b, 8192, 4096);
		uint64_t seed = prng_u64(&seeds);

		sim_note(s, "round %d seed %llu", round, (unsigned long long)seed);
		prng_seed(&s->rng, seed);
		cfg.rnr_retry = 3;
		sim_connect(s, &cfg);
		s->lose = prng_u64(&s->rng) & prng_u64(&s->rng) & prng_u64(&s->rng);
		for (uint64_t i = 0; i < 6; i++) {
			sim_post_recv(b, i, &sge, 1);
			post_something(i);
		}
		for (int i = 0; i < 200; i++) {
			scribble(&a->qp->sq);
			scribble(&b->qp->rq);
			sim_run(s, s->now + 2 * NS_US);
			sim_bell(a);
		}
		sim_modify(a, QPS_ERR);
		sim_modify(b, QPS_ERR);
		for (int i = 0; i < 2; i++) {
			sim_modify(&s->end[i], QPS_RESET);
			restore(&s->end[i].qp->sq);
			restore(&s->end[i].qp->rq);
			restore(&s->end[i].scq->ring);
			restore(&s->end[i].rcq->ring);
		}
	}
	cfg = sim_defaults();
	s->lose = 0;
	check_works(&cfg);
}

static int setup(void **state)
{
	s = sim_create();
	a = &s->end[0];
	b = &s->end[1];
	return mr_create(b->pd, (uintptr_t)b->buf + 4096, 65536, (uintptr_t)b->buf + 4096, 15,
			 &part);
}

static int teardown(void **state)
{
	mr_destroy(part);
	sim_destroy(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments), cmocka_unit_test(test_rings),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
