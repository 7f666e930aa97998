/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every RC operation under every loss mask of its first 12 packets: it
 * completes once, in order, with the right bytes. Cut into single packets (a
 * wire), into runs (udp), and whole by reference (shm).
 */
#include "sim.h"

#define MASKS (1u << 12)
#define LOCAL 0
#define REMOTE 0x10000
#define RECV 0x20000
#define WORD 0x30000
#define MTU 256

static struct sim *s;

/* One work request of a scenario. */
struct step {
	uint32_t op, pkts;
};

static const struct cut {
	uint32_t max_pkts;
	bool by_ref;
} cuts[] = { { 1, false }, { 3, false }, { 1000, true } };

static uint32_t step_len(const struct step *st)
{
	if (st->op == OP_CMP_SWP || st->op == OP_FETCH_ADD)
		return 8;
	return st->pkts * MTU - 3;
}

static bool takes_recv(uint32_t op)
{
	return op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM;
}

/* Regions of step i; 4 KiB apart. */
static uint32_t at(uint32_t base, int i)
{
	return base + (uint32_t)i * 4096;
}

static void post_step(const struct step *st, int i)
{
	struct sim_end *a = &s->end[0], *b = &s->end[1];
	uint32_t len = step_len(st);
	struct rxe_sge recv[2] = { sim_sge(b, at(RECV, i), 100),
				   sim_sge(b, at(RECV, i) + 100, 3900) };
	struct sim_wr wr = {
		.id = 1000 + (uint64_t)i, .op = st->op, .flags = F_SIGNALED,
		.imm = 0xabcd0000u + (uint32_t)i,
		.rkey = b->mr->rkey, .raddr = (uintptr_t)b->buf + at(REMOTE, i),
		.num_sge = 2, .compare_add = 5, .swap = 77,
	};

	wr.sge[0] = sim_sge(a, at(LOCAL, i), len / 3);
	wr.sge[1] = sim_sge(a, at(LOCAL, i) + len / 3, len - len / 3);
	memset(b->buf + at(RECV, i), 0, 4096);
	sim_fill(a->buf + at(LOCAL, i), len, (uint32_t)i);
	memset(b->buf + at(REMOTE, i), 0, 4096);
	if (st->op == OP_READ) {
		memset(a->buf + at(LOCAL, i), 0, len);
		sim_fill(b->buf + at(REMOTE, i), len, (uint32_t)i);
	}
	if (st->op == OP_CMP_SWP || st->op == OP_FETCH_ADD) {
		wr.num_sge = 1;
		wr.sge[0] = sim_sge(a, at(LOCAL, i), 8);
		wr.raddr = (uintptr_t)b->buf + WORD;
	}
	if (takes_recv(st->op))
		sim_post_recv(b, 2000 + (uint64_t)i, recv, 2);
	sim_post(a, &wr);
}

static void check_recv(const struct step *st, int i)
{
	struct sim_end *b = &s->end[1];
	bool write = st->op == OP_WRITE_IMM;
	struct ib_uverbs_wc wc;

	assert_true(sim_poll(b->rcq, &wc));
	assert_int_equal(wc.status, 0);
	assert_int_equal(wc.wr_id, 2000 + i);
	assert_int_equal(wc.opcode, write ? 129 : 128);
	assert_int_equal(wc.byte_len, step_len(st));
	assert_int_equal(wc.qp_num, b->qp->qpn);
	assert_int_equal(wc.wc_flags, st->op == OP_SEND ? 1 : 3);
	assert_int_equal(wc.port_num, 1);
	if (st->op != OP_SEND)
		assert_int_equal(wc.ex.imm_data, 0xabcd0000u + (uint32_t)i);
	if (!write)
		assert_true(sim_filled(b->buf + at(RECV, i), step_len(st), (uint32_t)i));
}

static void check_step(const struct step *st, int i, uint64_t *word)
{
	static const uint8_t wc_opcode[] = { 1, 1, 0, 0, 2, 3, 4 };
	struct sim_end *a = &s->end[0], *b = &s->end[1];
	struct ib_uverbs_wc wc;
	uint64_t orig;

	assert_true(sim_poll(a->scq, &wc));
	assert_int_equal(wc.status, 0);
	assert_int_equal(wc.wr_id, 1000 + i);
	assert_int_equal(wc.opcode, wc_opcode[st->op]);
	assert_int_equal(wc.byte_len, step_len(st));
	assert_int_equal(wc.qp_num, a->qp->qpn);
	if (takes_recv(st->op))
		check_recv(st, i);
	if (st->op == OP_WRITE || st->op == OP_WRITE_IMM)
		assert_true(sim_filled(b->buf + at(REMOTE, i), step_len(st), (uint32_t)i));
	if (st->op == OP_READ)
		assert_true(sim_filled(a->buf + at(LOCAL, i), step_len(st), (uint32_t)i));
	if (st->op == OP_CMP_SWP || st->op == OP_FETCH_ADD) {
		memcpy(&orig, a->buf + at(LOCAL, i), 8);
		assert_int_equal(orig, *word);
		if (st->op == OP_FETCH_ADD)
			*word += 5;
		else if (*word == 5)
			*word = 77;
	}
}

static void run_one(const struct step *steps, int n, uint64_t mask, const struct cut *cut)
{
	struct sim_cfg cfg = sim_defaults();
	uint64_t word = 5, now;

	cfg.retry = 30;
	cfg.max_pkts = cut->max_pkts;
	s->by_ref = cut->by_ref;
	s->lose = mask;
	sim_connect(s, &cfg);
	memcpy(s->end[1].buf + WORD, &word, 8);
	for (int i = 0; i < n; i++)
		post_step(&steps[i], i);
	assert_int_equal(sim_bell(&s->end[0]), 0);
	sim_run(s, NS_S);
	for (int i = 0; i < n; i++)
		check_step(&steps[i], i, &word);
	memcpy(&now, s->end[1].buf + WORD, 8);
	assert_int_equal(now, word);
	for (int i = 0; i < 2; i++) {
		sim_expect_none(s->end[i].scq);
		sim_expect_none(s->end[i].rcq);
		assert_int_equal(s->end[i].qp->state, QPS_RTS);
		assert_true(xp_idle(s->end[i].qp));
		assert_int_equal(sim_event(&s->end[i]), -1);
	}
}

static void all_masks(const char *name, const struct step *steps, int n)
{
	for (size_t c = 0; c < ARRAY_SIZE(cuts); c++) {
		for (uint32_t mask = 0; mask < MASKS; mask++) {
			sim_note(s, "%s: %d packets, cut %u, mask 0x%03x", name,
				 (int)steps[0].pkts, cuts[c].max_pkts, mask);
			run_one(steps, n, mask, &cuts[c]);
		}
	}
}

static void one_op(uint32_t op, const char *name)
{
	static const uint32_t sizes[] = { 1, 3, 8 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct step st = { op, sizes[i] };

		all_masks(name, &st, 1);
		if (op == OP_CMP_SWP || op == OP_FETCH_ADD)
			break;
	}
}

#define OP_TEST(op) \
	static void test_##op(void **state) \
	{ \
		one_op(OP_##op, #op); \
	}
OP_TEST(SEND)
OP_TEST(SEND_IMM)
OP_TEST(WRITE)
OP_TEST(WRITE_IMM)
OP_TEST(READ)
OP_TEST(CMP_SWP)
OP_TEST(FETCH_ADD)

static void test_mix(void **state)
{
	static const struct step mixed[] = {
		{ OP_SEND, 2 }, { OP_READ, 3 }, { OP_WRITE_IMM, 2 }, { OP_FETCH_ADD, 1 },
		{ OP_READ, 1 }, { OP_SEND_IMM, 1 },
	};
	static const struct step reads[] = {
		{ OP_READ, 2 }, { OP_READ, 2 }, { OP_WRITE, 1 }, { OP_READ, 2 }, { OP_READ, 1 },
		{ OP_READ, 1 }, { OP_CMP_SWP, 1 },
	};
	static const struct step sends[] = {
		{ OP_SEND, 1 }, { OP_SEND, 3 }, { OP_WRITE, 2 }, { OP_SEND, 1 }, { OP_SEND, 1 },
	};

	all_masks("mixed", mixed, ARRAY_SIZE(mixed));
	all_masks("reads", reads, ARRAY_SIZE(reads));
	all_masks("sends", sends, ARRAY_SIZE(sends));
}

static int setup(void **state)
{
	s = sim_create();
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
		cmocka_unit_test(test_SEND), cmocka_unit_test(test_SEND_IMM),
		cmocka_unit_test(test_WRITE), cmocka_unit_test(test_WRITE_IMM),
		cmocka_unit_test(test_READ), cmocka_unit_test(test_CMP_SWP),
		cmocka_unit_test(test_FETCH_ADD), cmocka_unit_test(test_mix),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
