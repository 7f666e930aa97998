/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Long random conversations in both directions over a link that loses, duplicates, delays and
 * reorders packets and has little room: everything arrives exactly once and in order. A failing
 * conversation prints its seed in "last case"; run it again with $RUSE_SEED.
 */
#include "sim.h"

#define ROUNDS 300
#define MSGS 40
#define SLOT 8192
#define RECV (MSGS * SLOT)
#define WORD (2 * MSGS * SLOT)

static struct sim *s;

struct msg {
	uint32_t op, len;
};

struct talk {
	struct msg msg[MSGS];
	int posted, received, done;	/* received: receives completed at the other end */
	uint64_t word;
};

static bool takes_recv(uint32_t op)
{
	return op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM;
}

static bool is_atomic(uint32_t op)
{
	return op == OP_CMP_SWP || op == OP_FETCH_ADD;
}

/* Address that message i reads or writes at the other end: the upper half of the i-th SLOT bytes of its buffer. */
static uint8_t *remote(struct sim_end *to, int i)
{
	return to->buf + i * SLOT + SLOT / 2;
}

static uint32_t seed_of(int from, int i)
{
	return (uint32_t)(from * 1000 + i);
}

static void choose(struct sim_end *from, struct talk *t)
{
	struct sim_end *to = &s->end[!from->id];
	static const uint8_t zero[SLOT];
	static const uint32_t ops[] = {
		OP_WRITE, OP_WRITE_IMM, OP_SEND, OP_SEND_IMM, OP_READ, OP_CMP_SWP, OP_FETCH_ADD,
		OP_ATOMIC_WRITE, OP_FLUSH,
	};

	for (int i = 0; i < MSGS; i++) {
		struct msg *m = &t->msg[i];

		m->op = ops[prng_below(&s->rng, ARRAY_SIZE(ops))];
		m->len = prng_below(&s->rng, 3) ? prng_below(&s->rng, 300) :
						   prng_below(&s->rng, SLOT / 2);
		if (is_atomic(m->op))
			m->len = 8;
		if (m->op == OP_ATOMIC_WRITE || m->op == OP_FLUSH)
			m->len = m->op == OP_FLUSH ? 0 : 8;
		if (m->op == OP_READ) {
			sim_fill(remote(to, i), m->len, seed_of(from->id, i));
			memset(from->buf + i * SLOT, 0, m->len);
		} else {
			memcpy(remote(to, i), zero, SLOT / 2);
			sim_fill(from->buf + i * SLOT, m->len, seed_of(from->id, i));
		}
		memset(to->buf + RECV + i * SLOT, 0, SLOT);
	}
	t->posted = t->received = t->done = 0;
	t->word = 0;
	memset(to->buf + WORD, 0, 8);
}

static void post_one(struct sim_end *from, struct talk *t)
{
	struct sim_end *to = &s->end[!from->id];
	int i = t->posted++;
	const struct msg *m = &t->msg[i];
	struct rxe_sge recv = sim_sge(to, (uint32_t)(RECV + i * SLOT), SLOT);
	uint32_t cut = prng_below(&s->rng, m->len + 1);
	struct sim_wr wr = {
		.id = (uint64_t)i, .op = m->op, .flags = F_SIGNALED, .imm = (uint32_t)i,
		.raddr = (uintptr_t)remote(to, i), .rkey = to->mr->rkey, .num_sge = 2,
		.compare_add = t->posted & 3, .swap = (uint64_t)i,
	};

	wr.sge[0] = sim_sge(from, (uint32_t)(i * SLOT), cut);
	wr.sge[1] = sim_sge(from, (uint32_t)(i * SLOT) + cut, m->len - cut);
	if (is_atomic(m->op))
		wr.raddr = (uintptr_t)to->buf + WORD;
	if (m->op == OP_ATOMIC_WRITE)
		memcpy(&wr.compare_add, from->buf + i * SLOT, 8);
	if (m->op == OP_FLUSH)
		wr.plt = SEG_FETH_GLOBAL, wr.len = prng_below(&s->rng, SLOT / 2);
	if (!prng_below(&s->rng, 5))
		wr.flags |= F_FENCE;
	if (m->op < OP_READ && m->len <= 256 && prng_below(&s->rng, 2)) {
		wr.flags |= F_INLINE;
		wr.inl = from->buf + i * SLOT;
		wr.inl_len = m->len;
	}
	if (takes_recv(m->op))
		sim_post_recv(to, (uint64_t)i, &recv, 1);
	sim_post(from, &wr);
	sim_bell(from);
}

static void take_recvs(struct sim_end *from, struct talk *t)
{
	struct sim_end *to = &s->end[!from->id];
	struct ib_uverbs_wc wc;

	while (sim_poll(to->rcq, &wc)) {
		while (!takes_recv(t->msg[t->received].op))
			t->received++;
		assert_int_equal(wc.wr_id, t->received);
		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.byte_len, t->msg[t->received].len);
		if (t->msg[t->received].op != OP_WRITE_IMM)
			assert_true(sim_filled(to->buf + RECV + t->received * SLOT, wc.byte_len,
					       seed_of(from->id, t->received)));
		t->received++;
	}
}

static void take_sends(struct sim_end *from, struct talk *t)
{
	struct sim_end *to = &s->end[!from->id];
	struct ib_uverbs_wc wc;

	while (sim_poll(from->scq, &wc)) {
		int i = t->done++;
		const struct msg *m = &t->msg[i];
		uint8_t *mine = from->buf + i * SLOT;
		uint64_t orig;

		assert_int_equal(wc.status, 0);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.byte_len, m->len);
		if (m->op == OP_WRITE || m->op == OP_WRITE_IMM || m->op == OP_ATOMIC_WRITE)
			assert_true(sim_filled(remote(to, i), m->len, seed_of(from->id, i)));
		if (m->op == OP_READ)
			assert_true(sim_filled(mine, m->len, seed_of(from->id, i)));
		if (is_atomic(m->op)) {
			memcpy(&orig, mine, 8);
			assert_int_equal(orig, t->word);
			if (m->op == OP_FETCH_ADD)
				t->word += (uint64_t)((i + 1) & 3);
			else if (t->word == (uint64_t)((i + 1) & 3))
				t->word = (uint64_t)i;
		}
		/* The buffer belongs to the program again: overwrite it, to detect late reads. */
		memset(mine, 0xee, m->len);
	}
}

enum weather { QUIET, REORDER, LOSSY };

static void one_round(uint64_t seed, enum weather w)
{
	static const uint32_t cuts[] = { 1, 2, 5, 1000 };
	struct talk talk[2];
	struct sim_cfg cfg = sim_defaults();
	uint64_t retries[2], dups[2];

	sim_note(s, "RUSE_SEED=%llu weather %d", (unsigned long long)seed, w);
	prng_seed(&s->rng, seed);
	cfg.retry = 100;
	cfg.timeout = 8;
	cfg.max_pkts = cuts[prng_below(&s->rng, ARRAY_SIZE(cuts))];
	cfg.mtu = 256u << prng_below(&s->rng, 3);
	cfg.max_rd = (uint8_t)(1u << prng_below(&s->rng, 4));
	cfg.max_dest = cfg.max_rd;
	cfg.psn[0] = (uint32_t)prng_u64(&s->rng) & 0xffffff;
	cfg.psn[1] = 0xffffff - prng_below(&s->rng, 20);
	s->by_ref = prng_below(&s->rng, 2);
	sim_connect(s, &cfg);
	s->room = prng_below(&s->rng, 2) ? 1 + prng_below(&s->rng, 6) : 0;
	s->lazy_pct = prng_below(&s->rng, 80);
	s->loss_pct = w == LOSSY ? prng_below(&s->rng, 20) : 0;
	s->dup_pct = w == QUIET ? 0 : prng_below(&s->rng, 30);
	s->delay_pct = w == QUIET ? 0 : prng_below(&s->rng, 30);
	for (int i = 0; i < 2; i++) {
		choose(&s->end[i], &talk[i]);
		retries[i] = s->end[i].td->dev.counter[CNT_COMP_RETRY];
		dups[i] = s->end[i].td->dev.counter[CNT_DUP_REQ];
	}
	for (int step = 0; step < 20000; step++) {
		bool over = true;

		for (int i = 0; i < 2; i++) {
			if (talk[i].posted < MSGS && prng_below(&s->rng, 3))
				post_one(&s->end[i], &talk[i]);
			take_recvs(&s->end[i], &talk[i]);
			take_sends(&s->end[i], &talk[i]);
			over &= talk[i].done == MSGS;
		}
		if (over)
			break;
		sim_run(s, s->now + prng_below(&s->rng, 20) * NS_US);
		s->now += NS_US;
	}
	sim_run(s, s->now + NS_S);
	for (int i = 0; i < 2; i++) {
		take_recvs(&s->end[i], &talk[i]);
		take_sends(&s->end[i], &talk[i]);
	}
	for (int i = 0; i < 2; i++) {
		struct sim_end *to = &s->end[!i];
		uint64_t word;

		assert_int_equal(talk[i].done, MSGS);
		memcpy(&word, to->buf + WORD, 8);
		assert_int_equal(word, talk[i].word);
		sim_expect_none(s->end[i].scq);
		sim_expect_none(s->end[i].rcq);
		assert_true(ring_empty(&to->qp->rq));
		assert_true(xp_idle(to->qp));
		/* Without loss and reordering there must be no retries and no duplicates. */
		if (w != QUIET)
			continue;
		assert_int_equal(s->end[i].td->dev.counter[CNT_COMP_RETRY], retries[i]);
		assert_int_equal(s->end[i].td->dev.counter[CNT_DUP_REQ], dups[i]);
	}
}

static void rounds(enum weather w)
{
	const char *given = getenv("RUSE_SEED");
	struct prng p;

	test_seed(&p);
	if (given) {
		one_round(strtoull(given, NULL, 0), w);
		return;
	}
	for (int i = 0; i < ROUNDS; i++)
		one_round(prng_u64(&p), w);
}

static void test_quiet(void **state)
{
	rounds(QUIET);
}

static void test_reorder(void **state)
{
	rounds(REORDER);
}

static void test_lossy(void **state)
{
	rounds(LOSSY);
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
		cmocka_unit_test(test_quiet), cmocka_unit_test(test_reorder),
		cmocka_unit_test(test_lossy),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
