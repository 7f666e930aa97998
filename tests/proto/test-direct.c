/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct placement: instead of sending packets, a requester copies the data of a WRITE or READ to
 * or from the memory of a responder on the same host. This file tests the requester: which requests
 * use direct placement, and what each result of link_ops.direct leads to. fake_direct() stands for
 * the link and copies as a peer process would.
 */
#include <unistd.h>
#include "sim.h"

static struct sim *s;
static struct sim_end *a, *b;
static enum direct_result answer;
static struct direct_op last;
static uint32_t calls;
static uint32_t locks;	   /* how often the responder's QP card was locked */
static uint32_t refuse_at; /* this call of direct() answers DIRECT_NO; 0: none does */

/*
 * If the test's answer is DIRECT_DONE: checks the request, copies to or from the address op->va and
 * advances the PSN in the responder's QP card (struct qp_card), while it holds the card's lock.
 */
/* As the link does it: what costs no system call is possible in mapped memory only. */
static bool mapped;

static void fake_direct_end(struct link *l)
{
	if (b->qp->card->lock == 7)
		card_unlock(b->qp->card);
}

static enum direct_result fake_direct(struct link *l, struct direct_op *op)
{
	struct qp_card *c = b->qp->card;
	struct iovec there = { (void *)(uintptr_t)op->va, op->len };

	if (op->free_only && !mapped)
		return DIRECT_NO;
	calls++;
	last = *op;
	if (answer != DIRECT_DONE || calls == refuse_at) {
		fake_direct_end(l);
		return calls == refuse_at ? DIRECT_NO : answer;
	}
	assert_int_equal(op->dqpn, b->qp->qpn);
	assert_int_equal(op->sqpn, a->qp->qpn);
	assert_int_equal(op->psn, c->epsn);
	assert_int_equal(op->npkts, seg_pkts(op->len, 256));
	if (c->lock != 7) {
		assert_true(card_trylock(c, 7));
		locks++;
	}
	assert_int_equal(c->busy, 0);
	if (op->atomic == SEG_CMP_SWP)
		assert_false(umem_cmp_swp(there.iov_base, op->compare, op->swap_add, &op->orig));
	else if (op->atomic)
		assert_false(umem_fetch_add(there.iov_base, op->swap_add, &op->orig));
	else if (op->read)
		assert_int_equal(umem_copy_iov(op->iov, op->niov, 0, &there, 1, 0, op->len), 0);
	else
		assert_int_equal(umem_copy_iov(&there, 1, 0, op->iov, op->niov, 0, op->len), 0);
	c->epsn = psn_add(c->epsn, op->npkts);
	c->msn++;
	if (!op->more)
		fake_direct_end(l);
	return DIRECT_DONE;
}

/* Segments may not leave while the responder cannot use its QP. */
static const struct link_ops *sim_ops;

static int fake_send(struct link *l, const struct seg *seg)
{
	if (b->qp->card)
		assert_int_equal(b->qp->card->lock, 0);
	return sim_ops->send(l, seg);
}

static struct link_ops ops;

static void start(enum direct_result r)
{
	struct sim_cfg cfg = sim_defaults();

	s->lose = 0;
	sim_connect(s, &cfg);
	sim_ops = a->link.ops;
	ops = *sim_ops;
	ops.send = fake_send;
	ops.direct = fake_direct;
	ops.direct_end = fake_direct_end;
	a->link.ops = &ops;
	a->link.caps = LINK_CAP_DIRECT;
	answer = r;
	mapped = false;
	calls = locks = refuse_at = 0;
}

/* Writes a WQE without a doorbell. */
static void put(uint64_t id, uint32_t op, uint32_t len, uint32_t flags)
{
	struct sim_wr wr = {
		.id = id,
		.op = op,
		.flags = flags,
		.num_sge = 2,
		.rkey = b->mr->rkey,
		.raddr = (uintptr_t)b->buf + 0x10000,
	};

	wr.sge[0] = sim_sge(a, 0, len / 2);
	wr.sge[1] = sim_sge(a, len / 2, len - len / 2);
	sim_post(a, &wr);
}

static void post_flags(uint64_t id, uint32_t op, uint32_t len, uint32_t flags)
{
	put(id, op, len, flags);
	sim_bell(a);
}

static void post(uint64_t id, uint32_t op, uint32_t len)
{
	post_flags(id, op, len, F_SIGNALED);
}

static void post_unsignaled(uint32_t op, uint32_t len)
{
	post_flags(0, op, len, 0);
}

static void test_done(void **state)
{
	start(DIRECT_DONE);
	sim_fill(a->buf, 9000, 4);
	post(1, OP_WRITE, 9000);
	sim_expect(a->scq, 1, 0);
	assert_true(sim_filled(b->buf + 0x10000, 9000, 4));
	memset(a->buf, 0, 9000);
	post(2, OP_READ, 9000);
	sim_expect(a->scq, 2, 0);
	assert_true(sim_filled(a->buf, 9000, 4));
	assert_int_equal(s->sent, 0);
	assert_true(xp_wake(a->qp) == NS_NEVER);
	assert_true(xp_idle(a->qp));
	/* A request that is sent in packets continues at the PSN after the direct ones. */
	post(3, OP_FETCH_ADD, 8);
	sim_run(s, NS_S);
	sim_expect(a->scq, 3, 0);
	assert_int_equal(s->sent, 2);
}

/*
 * SEND, WRITE_IMM and empty WRITEs do not use direct placement, nor do atomics in memory that is not mapped, nor does a
 * WRITE while segments are in flight.
 */
static void test_not_for(void **state)
{
	static const uint32_t none[] = { OP_SEND, OP_WRITE_IMM, OP_FETCH_ADD };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct rxe_sge sge = sim_sge(b, 0x20000, 4096);

		start(DIRECT_DONE);
		sim_post_recv(b, 9, &sge, 1);
		post(1, none[i], 8);
		post(2, OP_WRITE, 5000);
		assert_int_equal(calls, 0);
		sim_run(s, NS_S);
		sim_expect(a->scq, 1, 0);
		sim_expect(a->scq, 2, 0);
	}
	start(DIRECT_DONE);
	post(1, OP_WRITE, 0);
	assert_int_equal(calls, 0);
}

/*
 * Of small WRITEs that a program posts without polling its CQ in between, only the first uses direct placement; the
 * others go over the link. After a poll of the CQ the next WRITE uses it again.
 */
static void test_stream(void **state)
{
	start(DIRECT_DONE);
	for (uint64_t i = 0; i < 5; i++)
		post(i, OP_WRITE, 8);
	assert_int_equal(calls, 1);
	assert_int_equal(s->sent, 4);
	sim_run(s, NS_S);
	for (uint64_t i = 0; i < 5; i++)
		sim_expect(a->scq, i, 0);
	post(5, OP_WRITE, 8);
	assert_int_equal(calls, 2);
	/* Long WRITEs use direct placement in any case. */
	post(6, OP_WRITE, 4096);
	assert_int_equal(calls, 3);
	post(7, OP_WRITE, 4095);
	assert_int_equal(calls, 3);
	sim_run(s, NS_S);
	/* A poll ends a stream (engine/ counts them), also one that leaves the completion in the CQ. */
	a->qp->dev->polls++;
	post(8, OP_WRITE, 8);
	assert_int_equal(calls, 4);
	/* Without a completion to consume, only a poll ends a stream. */
	for (uint64_t i = 5; i < 9; i++)
		sim_expect(a->scq, i, 0);
	a->qp->dev->polls++;
	post_unsignaled(OP_WRITE, 8);
	assert_int_equal(calls, 5);
	post_unsignaled(OP_WRITE, 8);
	assert_int_equal(calls, 5);
	sim_run(s, NS_S);
	a->qp->dev->polls++;
	post_unsignaled(OP_WRITE, 8);
	assert_int_equal(calls, 6);
}

/* In mapped memory every WRITE of a stream uses direct placement, and so do atomics. */
static void test_mapped(void **state)
{
	uint64_t *to = (uint64_t *)(b->buf + 0x10000), *got = (uint64_t *)a->buf;

	start(DIRECT_DONE);
	mapped = true;
	for (uint64_t i = 0; i < 5; i++)
		post(i, OP_WRITE, 8);
	assert_int_equal(calls, 5);
	*to = 40;
	post(5, OP_FETCH_ADD, 8);
	assert_int_equal(calls, 6);
	assert_int_equal(last.atomic, SEG_FETCH_ADD);
	assert_int_equal(*to, 40 + last.swap_add);
	assert_int_equal(*got, 40);
	*got = 0;
	post(6, OP_CMP_SWP, 8);
	assert_int_equal(last.atomic, SEG_CMP_SWP);
	assert_int_equal(*got, 40);
	assert_int_equal(s->sent, 0);
	for (uint64_t i = 0; i < 7; i++)
		sim_expect(a->scq, i, 0);
	assert_true(xp_idle(a->qp));
}

/* Posts 3 WRITEs, a request of this kind, and 3 WRITEs, all with one doorbell. */
static void post_row(uint32_t op, uint32_t len)
{
	for (uint64_t i = 0; i < 7; i++)
		put(i, i == 3 ? op : OP_WRITE, i == 3 ? len : 8, F_SIGNALED);
	sim_bell(a);
}

static void expect_row(void)
{
	sim_run(s, NS_S);
	for (uint64_t i = 0; i < 7; i++)
		sim_expect(a->scq, i, 0);
	assert_int_equal(b->qp->card->lock, 0);
	assert_true(xp_idle(a->qp));
}

/* Small requests of one doorbell share a lock of the responder's QP, up to 16 of them. */
static void test_row(void **state)
{
	struct rxe_sge sge = sim_sge(b, 0x20000, 4096);

	start(DIRECT_DONE);
	mapped = true;
	post_row(OP_READ, 8);
	assert_int_equal(calls, 7);
	assert_int_equal(locks, 1);
	expect_row();
	for (uint64_t i = 0; i < 20; i++)
		put(i, OP_WRITE, 8, 0);
	put(20, OP_WRITE, 8, F_SIGNALED);
	sim_bell(a);
	assert_int_equal(calls, 28);
	assert_int_equal(locks, 3);
	sim_expect(a->scq, 20, 0);
	/* A long one ends the row. */
	post_row(OP_WRITE, 1025);
	assert_int_equal(locks, 5);
	expect_row();
	/* So does one that goes as segments: the responder must be able to take them. */
	start(DIRECT_DONE);
	mapped = true;
	sim_post_recv(b, 9, &sge, 1);
	post_row(OP_SEND, 8);
	assert_int_equal(calls, 3);
	assert_int_equal(locks, 1);
	assert_int_equal(b->qp->card->lock, 0);
	expect_row();
}

/* A row ends where the link refuses a request: for a reason of its own, or as memory is not mapped. */
static void test_row_refused(void **state)
{
	start(DIRECT_DONE);
	mapped = true;
	refuse_at = 4;
	post_row(OP_WRITE, 8);
	assert_int_equal(calls, 4);
	assert_int_equal(b->qp->card->lock, 0);
	expect_row();
	start(DIRECT_DONE);
	post_row(OP_WRITE, 8);
	assert_int_equal(calls, 1);
	expect_row();
	/* The fourth has a length that its local key does not cover. */
	start(DIRECT_DONE);
	mapped = true;
	post_row(OP_WRITE, SIM_BUF + 2);
	assert_int_equal(calls, 3);
	assert_int_equal(b->qp->card->lock, 0);
	for (uint64_t i = 0; i < 7; i++)
		sim_expect(a->scq, i, i < 3 ? 0 : i == 3 ? 4 :
							   5);
}

static void test_refused(void **state)
{
	start(DIRECT_NO);
	sim_fill(a->buf, 5000, 6);
	post(1, OP_WRITE, 5000);
	post(2, OP_READ, 5000);
	assert_int_equal(calls, 1);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, 0);
	sim_expect(a->scq, 2, 0);
	assert_true(sim_filled(b->buf + 0x10000, 5000, 6));
}

static void test_errors(void **state)
{
	for (int i = 0; i < 2; i++) {
		start(DIRECT_LOCAL);
		post(1, i ? OP_READ : OP_WRITE, 5000);
		sim_expect(a->scq, 1, 4);
		sim_expect_none(a->scq);
		assert_int_equal(a->qp->state, QPS_ERR);
		assert_int_equal(s->sent, 0);
		post(2, OP_WRITE, 8);
		sim_expect(a->scq, 2, 5);
	}
	/* The local key does not cover the range: link_ops.direct is not called. */
	start(DIRECT_DONE);
	post(1, OP_WRITE, SIM_BUF + 2);
	sim_expect(a->scq, 1, 4);
	assert_int_equal(calls, 0);
}

static int setup(void **state)
{
	s = sim_create();
	a = &s->end[0];
	b = &s->end[1];
	return 0;
}

static int teardown(void **state)
{
	sim_destroy(s);
	return 0;
}

static void start_packets(void)
{
	start(DIRECT_NO);
	a->link.ops = sim_ops;
	a->link.caps = 0;
}

/*
 * A peer is stopped with the lock of b's QP card, after its checks. Nothing waits for it for ever. A new connection of the QP
 * does not depend on what it writes when it continues.
 */
static void test_stopped(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	struct qp_card *card;
	uint64_t withdrawals;

	alarm(60);
	start_packets();
	card = b->qp->card;
	card->lock = 7;
	/* Requests that arrive meanwhile are repeated. */
	post(1, OP_WRITE, 100);
	sim_run(s, 100 * NS_US);
	sim_expect_none(a->scq);
	card->lock = 0;
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, 0);
	/* The commands that end the connection wait when they have released the engine lock. */
	card->lock = 7;
	withdrawals = b->td->withdrawals;
	sim_modify(b, QPS_ERR);
	assert_int_equal(card->state, QPS_ERR);
	assert_true(b->td->withdrawals > withdrawals);
	assert_int_equal(card->lock, 7);
	start_packets();
	assert_ptr_not_equal(b->qp->card, card);
	assert_int_equal(card->lock, 7);
	assert_int_equal(card->qpn, 0);
	card->epsn = cfg.psn[0] + 77;
	card->msn = 99;
	card_unlock(card);
	post(2, OP_WRITE, 100);
	sim_run(s, NS_S);
	sim_expect(a->scq, 2, 0);
	assert_int_equal(card->qpn, 0);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_done),
		cmocka_unit_test(test_not_for),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_row_refused),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
