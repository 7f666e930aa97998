/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Robustness of UC and UD: segments with random content, in any state. No memory outside the range
 * that the keys allow may change (checked with canary bytes), no receive completes twice, and a
 * valid message still arrives afterwards. Most useful with a sanitizer.
 */
#include "sim.h"

#define ROUNDS 2000
#define CANARY 0xc5
#define MINE 4096
#define MINE_LEN 65536

static uint32_t odd(struct prng *p, uint32_t v)
{
	switch (prng_below(p, 5)) {
	case 0:
		return (uint32_t)prng_u64(p);
	case 1:
		return v + prng_below(p, 9) - 4;
	default:
		return v;
	}
}

static void random_seg(struct sim *s, struct sim_end *to, const struct mr *part)
{
	static uint8_t payload[8192];
	struct prng *p = &s->rng;
	struct qp *qp = to->qp;
	bool ud = qp->type == QPT_UD, known = prng_below(p, 3);
	uint32_t have = prng_below(p, ud ? 1100 : sizeof(payload));
	struct iovec iov = { payload, have };
	struct seg_net net;
	struct seg seg = {
		.service = prng_below(p, 20) ? (ud ? SEG_UD : SEG_UC) : (uint8_t)prng_below(p, 256),
		.type = (uint8_t)prng_below(p, known ? SEG_WRITE_IMM + 1 : SEG_NTYPES + 1),
		.flags = (uint8_t)prng_below(p, 16),
		.pkey = prng_below(p, 20) ? 0xffff : (uint16_t)prng_u64(p),
		.path_mtu = 256,
		.dqpn = qp->qpn, .sqpn = odd(p, s->end[!to->id].qp->qpn) & 0xffffff,
		.psn = odd(p, qp->card->epsn) & 0xffffff,
		.npkts = odd(p, have ? (have + 255) / 256 : 1),
		.len = have, .qkey = odd(p, SIM_QKEY),
		.va = (uintptr_t)to->buf + odd(p, MINE), .rkey = odd(p, part->rkey),
		.dma_len = odd(p, have), .imm = (uint32_t)prng_u64(p),
		.net = ud && prng_below(p, 20) ? &net : NULL,
		.iov = &iov, .niov = 1,
	};

	for (size_t i = 0; i < sizeof(net); i++)
		((uint8_t *)&net)[i] = (uint8_t)prng_below(p, 256);
	xp_input(qp, &seg, &to->link, s->now);
}

static void random_round(struct sim *s, const struct mr *part)
{
	struct sim_end *b = &s->end[1];
	struct ib_uverbs_wc wc;
	uint64_t next = 0;

	for (uint64_t i = 0; i < 5; i++) {
		struct rxe_sge sge = { (uintptr_t)b->buf + MINE, 10u << prng_below(&s->rng, 12),
				       part->lkey };

		sim_post_recv(b, i, &sge, 1);
	}
	for (int i = 0; i < 40; i++) {
		random_seg(s, b, part);
		if (!prng_below(&s->rng, 100))
			sim_modify(b, QPS_ERR);
	}
	/* Each receive completes at most once, in order. */
	while (sim_poll(b->rcq, &wc)) {
		assert_true(wc.wr_id >= next && wc.wr_id < 5);
		next = wc.wr_id + 1;
	}
}

static void check_works(struct sim *s)
{
	struct sim_end *a = &s->end[0], *b = &s->end[1];
	uint32_t grh = b->qp->type == QPT_UD ? 40 : 0;
	struct rxe_sge sge = sim_sge(b, MINE, 1000);
	struct sim_wr wr = { .id = 5, .op = OP_SEND, .flags = F_SIGNALED, .num_sge = 1 };

	wr.sge[0] = sim_sge(a, 0, 700);
	if (grh) {
		wr.qpn = b->qp->qpn;
		wr.qkey = SIM_QKEY;
		memcpy(wr.dgid, b->td->dev.gid[1].raw, 16);
		wr.sgid_index = 1;
	}
	sim_fill(a->buf, 700, 8);
	sim_post_recv(b, 6, &sge, 1);
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, s->now + NS_S);
	sim_expect(a->scq, 5, 0);
	sim_expect(b->rcq, 6, 0);
	assert_true(sim_filled(b->buf + MINE + grh, 700, 8));
}

static void strangers(uint8_t type)
{
	struct sim *s = sim_create_type(type);
	struct sim_cfg cfg = sim_defaults();
	struct sim_end *b = &s->end[1];
	struct prng seeds;
	struct mr *part;

	test_seed(&seeds);
	assert_int_equal(mr_create(b->pd, (uintptr_t)b->buf + MINE, MINE_LEN,
				   (uintptr_t)b->buf + MINE, 15, &part), 0);
	memset(b->buf, CANARY, SIM_BUF);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t seed = prng_u64(&seeds);

		sim_note(s, "type %u round %d seed %llu", type, round, (unsigned long long)seed);
		prng_seed(&s->rng, seed);
		sim_connect(s, &cfg);
		random_round(s, part);
		sim_connect(s, &cfg);
		check_works(s);
	}
	for (uint32_t i = 0; i < SIM_BUF; i++)
		if ((i < MINE || i >= MINE + MINE_LEN) && b->buf[i] != CANARY)
			fail_msg("byte %u was overwritten", i);
	mr_destroy(part);
	sim_destroy(s);
}

static void test_uc(void **state)
{
	strangers(QPT_UC);
}

static void test_ud(void **state)
{
	strangers(QPT_UD);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_uc), cmocka_unit_test(test_ud) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
