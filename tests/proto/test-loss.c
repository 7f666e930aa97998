/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every RC operation under every mask of lost packets among its first 12: it completes exactly
 * once, in order, with the right bytes. The segments are cut as on three links: single packets,
 * short runs (udp), and whole messages by reference (shm).
 */
#include "core/mw.h"
#include "sim.h"

#define MASKS (1u << 12)
#define LOCAL 0
#define REMOTE 0x10000
#define RECV 0x20000
#define WORD 0x30000
#define MTU 256

static struct sim *s;
/* A type 2 window for each step, at the end that binds or invalidates it. */
static struct mw *mws[8];

/* One work request of a scenario; pkts: its length in packets. */
struct step {
	uint32_t op, pkts;
};

static const struct cut {
	uint32_t max_pkts;
	bool by_ref, lossy;
} cuts[] = { { 1, false, true }, { 3, false, true }, { 1000, true, false } };

static uint32_t step_len(const struct step *st)
{
	if (st->op == OP_CMP_SWP || st->op == OP_FETCH_ADD || st->op == OP_ATOMIC_WRITE)
		return 8;
	if (st->op == OP_LOCAL_INV || st->op == OP_BIND_MW || st->op == OP_FLUSH)
		return 0;
	return st->pkts * MTU - 3;
}

static bool takes_recv(uint32_t op)
{
	return op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM || op == OP_SEND_INV;
}

/* Offset of step i's 4 KiB region. */
static uint32_t at(uint32_t base, int i)
{
	return base + (uint32_t)i * 4096;
}

/*
 * Allocates a memory window for step i, over the step's region in the buffer of end e. bind: binds
 * it here; else the step binds it itself.
 */
static void window(struct sim_end *e, int i, bool bind)
{
	struct mw_bind b = { .addr = (uintptr_t)e->buf + at(REMOTE, i), .length = 4096,
			     .mr_lkey = e->mr->lkey, .access = 4 };

	assert_int_equal(mw_alloc(e->pd, MW_TYPE_2, &mws[i]), 0);
	b.mw_rkey = b.rkey = mws[i]->rkey;
	if (bind)
		assert_int_equal(mw_bind(e->qp, &b), 0);
}

static void post_local(const struct step *st, struct sim_wr *wr, int i)
{
	struct sim_end *a = &s->end[0];

	window(st->op == OP_SEND_INV ? &s->end[1] : a, i, st->op != OP_BIND_MW);
	if (st->op != OP_BIND_MW) {
		wr->imm = mws[i]->rkey;
		return;
	}
	wr->raddr = (uintptr_t)a->buf + at(REMOTE, i);
	wr->len = 4096;
	wr->mr_lkey = a->mr->lkey;
	wr->mw_rkey = mws[i]->rkey;
	wr->rkey = mws[i]->rkey ^ 1;
	wr->access = 4;
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
	mws[i] = NULL;
	if (st->op == OP_READ) {
		memset(a->buf + at(LOCAL, i), 0, len);
		sim_fill(b->buf + at(REMOTE, i), len, (uint32_t)i);
	}
	if (st->op == OP_CMP_SWP || st->op == OP_FETCH_ADD) {
		wr.num_sge = 1;
		wr.sge[0] = sim_sge(a, at(LOCAL, i), 8);
		wr.raddr = (uintptr_t)b->buf + WORD;
	}
	if (st->op == OP_ATOMIC_WRITE)
		memcpy(&wr.compare_add, a->buf + at(LOCAL, i), 8);
	if (st->op == OP_FLUSH)
		wr.plt = 1, wr.sel = (uint8_t)(i & 1), wr.len = 100;
	if (st->op == OP_SEND_INV || st->op == OP_LOCAL_INV || st->op == OP_BIND_MW)
		post_local(st, &wr, i);
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
	assert_int_equal(wc.wc_flags, st->op == OP_SEND ? 1 : st->op == OP_SEND_INV ? 9 : 3);
	assert_int_equal(wc.port_num, 1);
	if (st->op == OP_SEND_INV)
		assert_int_equal(wc.ex.invalidate_rkey, mws[i]->rkey);
	else if (st->op != OP_SEND)
		assert_int_equal(wc.ex.imm_data, 0xabcd0000u + (uint32_t)i);
	if (!write)
		assert_true(sim_filled(b->buf + at(RECV, i), step_len(st), (uint32_t)i));
}

static void check_step(const struct step *st, int i, uint64_t *word)
{
	static const uint8_t wc_opcode[] = { 1, 1, 0, 0, 2, 3, 4, 6, 5, 0, [14] = 8, 9 };
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
	/* BIND_MW has bound the window to the MR; an invalidation has unbound it. */
	if (st->op == OP_BIND_MW)
		assert_true(mws[i]->mr == a->mr);
	if (st->op == OP_SEND_INV || st->op == OP_LOCAL_INV)
		assert_null(mws[i]->mr);
	if (mws[i])
		assert_int_equal(mw_dealloc(mws[i]), 0);
	mws[i] = NULL;
	if (st->op == OP_WRITE || st->op == OP_WRITE_IMM || st->op == OP_ATOMIC_WRITE)
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
	cfg.lossy = cut->lossy;
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
		if (op == OP_CMP_SWP || op == OP_FETCH_ADD || op == OP_ATOMIC_WRITE ||
		    op == OP_FLUSH)
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
OP_TEST(SEND_INV)
OP_TEST(ATOMIC_WRITE)
OP_TEST(FLUSH)

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

	static const struct step local[] = {
		{ OP_READ, 2 }, { OP_BIND_MW, 1 }, { OP_SEND, 2 }, { OP_LOCAL_INV, 1 },
		{ OP_BIND_MW, 1 }, { OP_SEND_INV, 1 }, { OP_LOCAL_INV, 1 },
	};
	static const struct step empty[] = {
		{ OP_WRITE, 2 }, { OP_FLUSH, 1 }, { OP_ATOMIC_WRITE, 1 }, { OP_READ, 3 },
		{ OP_FLUSH, 1 }, { OP_SEND, 1 }, { OP_ATOMIC_WRITE, 1 },
	};

	all_masks("local", local, ARRAY_SIZE(local));
	all_masks("empty", empty, ARRAY_SIZE(empty));
	all_masks("mixed", mixed, ARRAY_SIZE(mixed));
	all_masks("reads", reads, ARRAY_SIZE(reads));
	all_masks("sends", sends, ARRAY_SIZE(sends));
}

/* The operations that take a receive WQE, with an SRQ. */
static void test_srq(void **state)
{
	struct sim *rq = s;

	s = sim_create_srq();
	one_op(OP_SEND, "SRQ SEND");
	one_op(OP_WRITE_IMM, "SRQ WRITE_IMM");
	one_op(OP_SEND_INV, "SRQ SEND_INV");
	sim_destroy(s);
	s = rq;
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
		cmocka_unit_test(test_FETCH_ADD), cmocka_unit_test(test_SEND_INV),
		cmocka_unit_test(test_ATOMIC_WRITE), cmocka_unit_test(test_FLUSH),
		cmocka_unit_test(test_mix), cmocka_unit_test(test_srq),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
