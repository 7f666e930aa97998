/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* overtake: a READ fetches its data after SENDs and WRITEs behind it were executed. */
#include "shaken.h"

#define AT_OLD 0x20000u
#define AT_NEW 0x21000u
#define LEN 200u

static struct sim_cfg config(void)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.timeout = 14;
	return cfg;
}

/* Whichever packet is lost, all is as it must be; without loss the READ gives what the WRITE behind it wrote. */
static void test_masks(void **state)
{
	struct sim_cfg cfg = config();

	for (cfg.max_pkts = 1; cfg.max_pkts <= 4; cfg.max_pkts += 3)
		for (int lost = -1; lost < 12; lost++)
			for (uint32_t mask = 0; mask < 2; mask++) {
				struct sim *s = shaken_begin(SHAKE_OVERTAKE, 1, mask, &cfg);

				sim_note(s, "max_pkts %u lost %d mask %#x", cfg.max_pkts, lost, mask);
				s->lose = lost < 0 ? 0 : 1ull << lost;
				shaken_talk();
				assert_int_equal(shaken.events & ~mask, 0);
				if (lost < 0) {
					assert_int_equal(shaken.read_late, mask);
					assert_int_equal(shaken.taken, mask);
				}
				s->note[0] = 0;
				shaken_end();
			}
}

/* A READ, and behind it requests of this opcode with these flags. */
static struct sim *begin(uint32_t op, uint32_t flags, uint32_t more)
{
	struct sim_cfg cfg = config();
	struct sim *s = shaken_begin(SHAKE_OVERTAKE, 1, 1, &cfg);
	struct sim_end *e = &s->end[0], *peer = &s->end[1];
	struct sim_wr wr = { .op = OP_READ, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)peer->buf, .rkey = peer->mr->rkey };

	sim_fill(peer->buf, LEN, 1);
	sim_fill(e->buf + AT_NEW, LEN, 2);
	wr.sge[0] = sim_sge(e, AT_OLD, LEN);
	sim_post(e, &wr);
	for (uint32_t i = 1; i <= more; i++) {
		struct rxe_sge recv = sim_sge(peer, 0x8000 + i * 1024, 1024);

		sim_post_recv(peer, i, &recv, 1);
		wr.id = i;
		wr.op = op;
		wr.flags = F_SIGNALED | flags;
		wr.sge[0] = sim_sge(e, AT_NEW, LEN);
		sim_post(e, &wr);
	}
	sim_bell(e);
	return s;
}

/* SENDs are received while the READ waits; its completion comes, and comes first. */
static void test_sends(void **state)
{
	struct sim *s = begin(OP_SEND, 0, 3);
	struct sim_end *e = &s->end[0], *peer = &s->end[1];
	ns_t wait;

	sim_run(s, NS_MS);
	assert_int_equal(shaken.id, WHY_SHAKE_OVERTAKE);
	assert_int_equal(shaken.last.why.arg[2], 0);
	for (uint32_t i = 1; i <= 3; i++)
		sim_expect(peer->rcq, i, 0);
	sim_expect_none(e->scq);
	/* What the program changes now is what the READ gives. */
	sim_fill(peer->buf, LEN, 7);
	wait = (ns_t)shaken.last.why.arg[3];
	sim_run(s, NS_S);
	for (uint32_t i = 0; i <= 3; i++)
		sim_expect(e->scq, i, 0);
	assert_true(sim_filled(e->buf + AT_OLD, LEN, 7));
	assert_true(wait > NS_MS && wait <= (4096LL << 14) / 4);
	assert_int_equal(e->td->dev.counter[CNT_COMP_RETRY], 0);
	shaken_end();
}

/* A fence behind the READ: nothing overtakes it. */
static void test_fence(void **state)
{
	struct sim *s = begin(OP_WRITE, F_FENCE, 1);
	struct sim_end *e = &s->end[0];

	sim_run(s, NS_S);
	sim_expect(e->scq, 0, 0);
	sim_expect(e->scq, 1, 0);
	assert_true(sim_filled(e->buf + AT_OLD, LEN, 1));
	assert_int_equal(shaken.taken, 0);
	shaken_end();
}

/* READs stay in order, and more than max_dest_rd_atomic never wait. */
static void test_reads(void **state)
{
	struct sim *s = begin(OP_READ, 0, 10);
	struct sim_end *e = &s->end[0];

	sim_run(s, NS_S);
	for (uint32_t i = 0; i <= 10; i++)
		sim_expect(e->scq, i, 0);
	assert_int_equal(shaken.taken, 0);
	shaken_end();
}

/* The responder's QP ends, or is reset and used again: no answer is kept. */
static void test_ends(void **state)
{
	struct sim *s = begin(OP_SEND, 0, 1);
	struct sim_end *e = &s->end[0], *peer = &s->end[1];
	struct sim_cfg cfg = config();

	sim_run(s, NS_MS);
	sim_expect_none(e->scq);
	xp_shaken_release(peer->qp, s->now);
	sim_run(s, s->now + NS_MS);
	sim_expect(e->scq, 0, 0);
	sim_expect(e->scq, 1, 0);
	shaken_end();

	s = begin(OP_SEND, 0, 1);
	peer = &s->end[1];
	sim_run(s, NS_MS);
	sim_connect(s, &cfg);
	assert_true(xp_wake(peer->qp) == NS_NEVER);
	assert_false(peer->qp->shake->reads);
	shaken_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks), cmocka_unit_test(test_sends),
		cmocka_unit_test(test_fence), cmocka_unit_test(test_reads),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
