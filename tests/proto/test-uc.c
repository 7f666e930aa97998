/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UC: a message arrives whole or not at all, whichever packets are lost, and later messages are not
 * affected. Also dropped messages, sender errors (SQE), receiver errors and state changes.
 */
#include "sim.h"

#define MASKS (1u << 12)
#define LOCAL 0
#define REMOTE 0x10000
#define RECV 0x20000
#define MTU 256

static struct sim *s;
static struct sim_end *a, *b;

/* One message of a scenario, pkts packets long. Packets are numbered over all messages. */
struct step {
	uint32_t op, pkts;
};

static uint32_t at(uint32_t base, int i)
{
	return base + (uint32_t)i * 4096;
}

static struct sim_wr message(const struct step *st, int i)
{
	uint32_t len = st->pkts * MTU - 3;
	struct sim_wr wr = {
		.id = 1000 + (uint64_t)i, .op = st->op, .flags = F_SIGNALED,
		.imm = 0xabcd0000u + (uint32_t)i,
		.rkey = b->mr->rkey, .raddr = (uintptr_t)b->buf + at(REMOTE, i), .num_sge = 2,
	};

	wr.sge[0] = sim_sge(a, at(LOCAL, i), len / 3);
	wr.sge[1] = sim_sge(a, at(LOCAL, i) + len / 3, len - len / 3);
	sim_fill(a->buf + at(LOCAL, i), len, (uint32_t)i);
	return wr;
}

static bool takes_recv(uint32_t op)
{
	return op != OP_WRITE;
}

/* True if no packet of message i is lost; a lost segment loses up to `run` packets. */
static bool survives(const struct step *st, int i, uint32_t run, uint64_t lose)
{
	uint32_t first = 0;

	for (int k = 0; k < i; k++)
		first += (st[k].pkts + run - 1) / run;
	for (uint32_t k = 0; k < (st[i].pkts + run - 1) / run; k++)
		if (lose >> (first + k) & 1)
			return false;
	return true;
}

/*
 * Checks receive number `slot`, filled by message i: each message that arrives takes the next
 * receive.
 */
static void check_recv(const struct step *st, int i, int slot)
{
	uint32_t len = st[i].pkts * MTU - 3;
	struct ib_uverbs_wc wc;

	assert_true(sim_poll(b->rcq, &wc));
	assert_int_equal(wc.status, 0);
	assert_int_equal(wc.wr_id, 2000 + slot);
	assert_int_equal(wc.opcode, st[i].op == OP_WRITE_IMM ? 129 : 128);
	assert_int_equal(wc.byte_len, len);
	assert_int_equal(wc.qp_num, b->qp->qpn);
	assert_int_equal(wc.wc_flags, st[i].op == OP_SEND ? 1 : 3);
	if (st[i].op != OP_SEND)
		assert_int_equal(wc.ex.imm_data, 0xabcd0000u + (uint32_t)i);
	if (st[i].op != OP_WRITE_IMM)
		assert_true(sim_filled(b->buf + at(RECV, slot), len, (uint32_t)i));
}

static void run_steps(const struct step *st, int n, uint32_t run, uint64_t lose)
{
	struct sim_cfg cfg = sim_defaults();
	int slot = 0;

	cfg.max_pkts = run;
	sim_note(s, "%d messages, runs of %u, lost %llx", n, run, (unsigned long long)lose);
	sim_connect(s, &cfg);
	s->lose = lose;
	memset(b->buf + REMOTE, 0, 0x20000);
	for (int i = 0; i < n; i++) {
		struct sim_wr wr = message(&st[i], i);
		struct rxe_sge recv[2] = { sim_sge(b, at(RECV, i), 100),
					   sim_sge(b, at(RECV, i) + 100, 3900) };

		sim_post_recv(b, 2000 + (uint64_t)i, recv, 2);
		sim_post(a, &wr);
	}
	assert_int_equal(sim_bell(a), 0);
	/* UC sends complete before anything arrives. */
	for (int i = 0; i < n; i++)
		sim_expect(a->scq, 1000 + (uint64_t)i, 0);
	sim_run(s, NS_S);
	for (int i = 0; i < n; i++) {
		bool whole = survives(st, i, run, lose);

		if (whole && takes_recv(st[i].op))
			check_recv(st, i, slot++);
		if (whole && (st[i].op == OP_WRITE || st[i].op == OP_WRITE_IMM))
			assert_true(sim_filled(b->buf + at(REMOTE, i), st[i].pkts * MTU - 3,
					       (uint32_t)i));
	}
	sim_expect_none(b->rcq);
	sim_expect_none(a->scq);
	assert_int_equal(b->qp->state, QPS_RTS);
	assert_int_equal(a->qp->state, QPS_RTS);
	s->lose = 0;
}

static void test_masks(void **state)
{
	static const struct step all[][4] = {
		{ { OP_SEND, 1 }, { OP_SEND, 3 }, { OP_SEND_IMM, 8 }, { OP_SEND, 1 } },
		{ { OP_WRITE, 1 }, { OP_WRITE, 3 }, { OP_WRITE_IMM, 8 }, { OP_SEND, 1 } },
		{ { OP_WRITE_IMM, 3 }, { OP_SEND, 8 }, { OP_WRITE, 1 }, { OP_SEND_IMM, 1 } },
		{ { OP_SEND, 3 }, { OP_SEND, 3 }, { OP_SEND, 3 }, { OP_WRITE_IMM, 3 } },
		{ { OP_SEND_IMM, 1 }, { OP_WRITE_IMM, 1 }, { OP_SEND, 1 }, { OP_WRITE, 8 } },
	};

	for (size_t k = 0; k < ARRAY_SIZE(all); k++)
		for (uint64_t lose = 0; lose < MASKS; lose++) {
			run_steps(all[k], 4, 1, lose);
			if (lose < 64)
				run_steps(all[k], 4, 3, lose);
		}
}

static void fresh(void)
{
	struct sim_cfg cfg = sim_defaults();

	sim_connect(s, &cfg);
	s->lose = 0;
	s->room = 0;
}

static void send_one(uint64_t id, uint32_t op, uint32_t off, uint32_t len)
{
	struct sim_wr wr = { .id = id, .op = op, .flags = F_SIGNALED, .num_sge = 1,
			     .rkey = b->mr->rkey, .raddr = (uintptr_t)b->buf + REMOTE };

	wr.sge[0] = sim_sge(a, off, len);
	sim_post(a, &wr);
	assert_int_equal(sim_bell(a), 0);
	sim_run(s, s->now + NS_MS);
}

static void post_recv(uint64_t id, uint32_t len)
{
	struct rxe_sge sge = sim_sge(b, RECV, len);

	sim_post_recv(b, id, &sge, 1);
}

/* A message that the receiver cannot take is dropped without an error at either end; the next one is received. */
static void test_dropped(void **state)
{
	struct sim_wr wr = { .id = 4, .op = OP_WRITE, .flags = F_SIGNALED, .num_sge = 1,
			     .raddr = (uintptr_t)b->buf + REMOTE };

	fresh();
	sim_fill(a->buf, 2000, 1);
	/* No receive WQE. */
	send_one(1, OP_SEND, 0, 700);
	sim_expect(a->scq, 1, 0);
	post_recv(11, 100);
	post_recv(12, 2000);
	/* A message longer than the receive WQE is dropped; the next message uses that WQE. */
	send_one(2, OP_SEND, 0, 700);
	sim_expect(a->scq, 2, 0);
	sim_expect_none(b->rcq);
	send_one(3, OP_SEND_IMM, 0, 80);
	sim_expect(a->scq, 3, 0);
	sim_expect(b->rcq, 11, 0);
	/* A wrong rkey; then a QP without REMOTE_WRITE. */
	memset(b->buf + REMOTE, 0x55, 2000);
	wr.rkey = b->mr->rkey ^ 1;
	wr.sge[0] = sim_sge(a, 0, 700);
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, s->now + NS_MS);
	sim_expect(a->scq, 4, 0);
	for (int i = 0; i < 700; i++)
		assert_int_equal(b->buf[REMOTE + i], 0x55);
	b->qp->attr.access = 0;
	send_one(5, OP_WRITE_IMM, 0, 700);
	sim_expect(a->scq, 5, 0);
	b->qp->attr.access = 15;
	for (int i = 0; i < 700; i++)
		assert_int_equal(b->buf[REMOTE + i], 0x55);
	send_one(6, OP_WRITE_IMM, 0, 700);
	sim_expect(a->scq, 6, 0);
	sim_expect(b->rcq, 12, 0);
	assert_true(sim_filled(b->buf + REMOTE, 700, 1));
	/* A WRITE with immediate without a receive. */
	send_one(7, OP_WRITE_IMM, 0, 10);
	sim_expect(a->scq, 7, 0);
	sim_expect_none(b->rcq);
	assert_int_equal(b->qp->state, QPS_RTS);
	assert_int_equal(sim_event(b), -1);
}

/*
 * A sender error: the QP enters SQE, later WRs are flushed, receiving continues, and RTS makes
 * sending work again.
 */
static void check_sqe(uint32_t op, uint32_t lkey, uint32_t status)
{
	struct sim_wr bad = { .id = 2, .op = op, .flags = 0, .num_sge = 1, .rkey = b->mr->rkey,
			      .raddr = (uintptr_t)b->buf + REMOTE },
		      good = { .id = 1, .op = OP_SEND, .flags = F_SIGNALED, .num_sge = 1 };
	struct rxe_sge sge = sim_sge(a, RECV, 500);

	fresh();
	post_recv(11, 1000);
	post_recv(12, 1000);
	sim_post_recv(a, 21, &sge, 1);
	good.sge[0] = sim_sge(a, 0, 300);
	bad.sge[0] = sim_sge(a, 0, 300);
	bad.sge[0].lkey = lkey;
	sim_fill(a->buf, 300, 7);
	sim_post(a, &good);
	sim_post(a, &bad);
	good.id = 3;
	sim_post(a, &good);
	good.id = 4;
	sim_post(a, &good);
	sim_bell(a);
	sim_run(s, s->now + NS_MS);
	sim_expect(a->scq, 1, 0);
	sim_expect(a->scq, 2, status);
	sim_expect(a->scq, 3, 5);
	sim_expect(a->scq, 4, 5);
	assert_int_equal(a->qp->state, QPS_SQE);
	sim_expect(b->rcq, 11, 0);
	/* A WR posted in SQE is flushed, too. Receiving continues. */
	good.id = 5;
	sim_post(a, &good);
	assert_int_equal(sim_bell(a), 0);
	sim_expect(a->scq, 5, 5);
	good.id = 6;
	good.sge[0] = sim_sge(b, 0, 300);
	sim_post(b, &good);
	sim_bell(b);
	sim_run(s, s->now + NS_MS);
	sim_expect(b->scq, 6, 0);
	sim_expect(a->rcq, 21, 0);
	assert_int_equal(a->qp->state, QPS_SQE);
	sim_modify(a, QPS_RTS);
	send_one(7, OP_SEND, 0, 300);
	sim_expect(a->scq, 7, 0);
	sim_expect(b->rcq, 12, 0);
	assert_true(sim_filled(b->buf + RECV, 300, 7));
	sim_expect_none(a->rcq);
}

static void test_sqe(void **state)
{
	check_sqe(OP_READ, a->mr->lkey, 2);
	check_sqe(OP_CMP_SWP, a->mr->lkey, 2);
	check_sqe(OP_FETCH_ADD, a->mr->lkey, 2);
	check_sqe(OP_SEND_INV, a->mr->lkey, 2);
	check_sqe(OP_SEND, a->mr->lkey ^ 1, 4);
	check_sqe(OP_WRITE, a->mr->lkey ^ 1, 4);
	check_sqe(77, a->mr->lkey, 2);
}

/* A receive whose memory cannot be written: it completes with an error, and the QP enters ERR. */
static void test_bad_recv(void **state)
{
	struct rxe_sge sge = sim_sge(b, RECV, 1000);

	fresh();
	sge.lkey ^= 1;
	sim_post_recv(b, 11, &sge, 1);
	post_recv(12, 1000);
	send_one(1, OP_SEND, 0, 300);
	sim_expect(a->scq, 1, 0);
	sim_expect(b->rcq, 11, 4);
	sim_expect(b->rcq, 12, 5);
	assert_int_equal(b->qp->state, QPS_ERR);
	assert_int_equal(a->qp->state, QPS_RTS);
}

/*
 * A receiver in INIT drops messages; in RTR it receives them and reports COMM_EST. A sender that
 * enters SQD finishes the message that waits for room and holds back the next one.
 */
static void test_states(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	struct step st = { OP_SEND, 8 };
	struct sim_wr wr = message(&st, 0);

	sim_connect(s, &cfg);
	sim_modify(b, QPS_RESET);
	sim_modify(b, QPS_INIT);
	send_one(1, OP_SEND, 0, 10);
	assert_int_equal(sim_event(b), -1);
	sim_modify(b, QPS_RTR);
	assert_int_equal(sim_bell(b), -EINVAL);
	post_recv(11, 4000);
	send_one(2, OP_SEND, 0, 10);
	assert_int_equal(sim_event(b), 4);
	assert_int_equal(sim_event(b), -1);
	sim_expect(b->rcq, 11, 0);
	sim_modify(b, QPS_RTS);
	sim_expect(a->scq, 1, 0);
	sim_expect(a->scq, 2, 0);

	s->room = 3;
	post_recv(12, 4000);
	sim_post(a, &wr);
	sim_post(a, &wr);
	sim_bell(a);
	sim_expect_none(a->scq);
	/* The started message is finished; the next one waits. */
	sim_modify(a, QPS_SQD);
	sim_run(s, s->now + NS_MS);
	sim_expect(a->scq, 1000, 0);
	sim_expect_none(a->scq);
	sim_expect(b->rcq, 12, 0);
	assert_true(sim_filled(b->buf + RECV, 8 * MTU - 3, 0));
	post_recv(13, 4000);
	sim_modify(a, QPS_RTS);
	sim_run(s, s->now + NS_MS);
	sim_expect(a->scq, 1000, 0);
	sim_expect(b->rcq, 13, 0);
	s->room = 0;
	assert_int_equal(sim_event(a), 5);
	assert_int_equal(sim_event(a), -1);
}

static int setup(void **state)
{
	s = sim_create_type(QPT_UC);
	a = &s->end[0];
	b = &s->end[1];
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
		cmocka_unit_test(test_masks), cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_sqe), cmocka_unit_test(test_bad_recv),
		cmocka_unit_test(test_states),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
