/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP states as the transport implements them (bring-up, SQD, ERR, reset), fences and READ credits,
 * signaling, solicited events, inline data, empty messages, and requests that arrive on another
 * link.
 */
#include "sim.h"

enum { EV_COMM = 4, EV_DRAINED = 5 };

static struct sim *s;
static struct sim_end *a, *b;

static void start(const struct sim_cfg *cfg)
{
	struct sim_cfg def = sim_defaults();

	s->lose = 0;
	s->room = 0;
	s->by_ref = false;
	s->filter = NULL;
	sim_connect(s, cfg ? cfg : &def);
}

static struct sim_wr wr_of(uint64_t id, uint32_t op, uint32_t len)
{
	struct sim_wr wr = {
		.id = id, .op = op, .flags = F_SIGNALED, .num_sge = 1, .rkey = b->mr->rkey,
		.raddr = (uintptr_t)b->buf + 0x10000,
	};

	wr.sge[0] = sim_sge(a, 0, len);
	return wr;
}

static void post(uint64_t id, uint32_t op, uint32_t len, uint32_t flags)
{
	struct sim_wr wr = wr_of(id, op, len);

	wr.flags = flags;
	sim_post(a, &wr);
}

static void post_recv(struct sim_end *e, uint64_t id)
{
	struct rxe_sge sge = sim_sge(e, 0x20000, 4096);

	sim_post_recv(e, id, &sge, 1);
}

/* In RESET, INIT and RTR the doorbell fails, and the WRs in the send queue are never executed. */
static void test_bring_up(void **state)
{
	uint32_t rq, sq;
	bool draining;

	start(NULL);
	sim_modify(a, QPS_RESET);
	sim_modify(b, QPS_RESET);
	post(1, OP_SEND, 8, F_SIGNALED);
	assert_int_equal(sim_bell(a), -EINVAL);
	sim_modify(a, QPS_RESET);	/* drops the WQE */
	sim_modify(a, QPS_INIT);
	sim_modify(b, QPS_INIT);
	post_recv(b, 9);
	post(2, OP_SEND, 8, F_SIGNALED);
	assert_int_equal(sim_bell(a), -EINVAL);
	sim_modify(a, QPS_RTR);
	post(3, OP_SEND, 8, F_SIGNALED);
	assert_int_equal(sim_bell(a), -EINVAL);
	sim_modify(b, QPS_RTR);
	assert_int_equal(sim_event(b), -1);
	sim_modify(a, QPS_RTS);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect_none(a->scq);
	sim_expect_none(b->rcq);
	post(2, OP_SEND, 8, F_SIGNALED);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 2, 0);
	sim_expect(b->rcq, 9, 0);
	sim_expect_none(a->scq);
	assert_int_equal(sim_event(b), EV_COMM);
	assert_int_equal(sim_event(b), -1);
	assert_int_equal(sim_event(a), -1);
	xp_query(a->qp, &rq, &sq, &draining);
	assert_int_equal(sq, 101);
	assert_int_equal(rq, 0xfffffd);
	xp_query(b->qp, &rq, &sq, &draining);
	assert_int_equal(rq, 101);
	assert_int_equal(sq, 0);	/* not set before RTS */
	assert_false(draining);
}

/* A QP below RTR drops packets. */
static void test_not_ready(void **state)
{
	start(NULL);
	sim_modify(b, QPS_RESET);
	sim_modify(b, QPS_INIT);
	post(1, OP_WRITE, 8, F_SIGNALED);
	sim_bell(a);
	sim_run(s, 100 * NS_US);
	assert_int_equal(s->sent, 2);
	sim_modify(b, QPS_RTR);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, 0);
}

static void test_sqd(void **state)
{
	uint32_t rq, sq;
	bool draining;

	start(NULL);
	/* Room for two packets: the second message has started, the third has not. */
	s->room = 2;
	post(1, OP_WRITE, 200, F_SIGNALED);
	post(2, OP_WRITE, 1000, F_SIGNALED);
	post(3, OP_WRITE, 8, F_SIGNALED);
	sim_bell(a);
	sim_modify(a, QPS_SQD);
	xp_query(a->qp, &rq, &sq, &draining);
	assert_true(draining);
	assert_int_equal(sim_event(a), -1);
	assert_int_equal(sim_try_modify(a, QPS_RTS), -EINVAL);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, 0);
	sim_expect(a->scq, 2, 0);
	sim_expect_none(a->scq);
	assert_int_equal(sim_event(a), EV_DRAINED);
	assert_int_equal(sim_event(a), -1);
	post(4, OP_WRITE, 8, F_SIGNALED);
	assert_int_equal(sim_bell(a), 0);
	sim_run(s, s->now + NS_S);
	sim_expect_none(a->scq);
	sim_modify(a, QPS_RTS);
	sim_run(s, s->now + NS_S);
	sim_expect(a->scq, 3, 0);
	sim_expect(a->scq, 4, 0);
	/* Nothing to drain: the event comes at once. */
	sim_modify(a, QPS_SQD);
	assert_int_equal(sim_event(a), EV_DRAINED);
	xp_query(a->qp, &rq, &sq, &draining);
	assert_false(draining);
	/* A QP in SQD can go to ERR, and a WR that is posted afterwards is flushed. */
	sim_modify(a, QPS_ERR);
	post(5, OP_WRITE, 8, 0);
	sim_bell(a);
	sim_expect(a->scq, 5, 5);
}

/* With lost packets, SQD drains after the retries. */
static void test_sqd_loss(void **state)
{
	for (uint32_t mask = 0; mask < 64; mask++) {
		start(NULL);
		s->lose = mask;
		post(1, OP_READ, 500, F_SIGNALED);
		post(2, OP_WRITE, 500, F_SIGNALED);
		sim_bell(a);
		sim_modify(a, QPS_SQD);
		sim_run(s, NS_S);
		sim_expect(a->scq, 1, 0);
		sim_expect(a->scq, 2, 0);
		assert_int_equal(sim_event(a), EV_DRAINED);
		assert_int_equal(sim_event(a), -1);
	}
}

static void test_modify_err(void **state)
{
	start(NULL);
	s->lose_all = true;
	for (uint64_t i = 1; i <= 4; i++) {
		post(i, OP_WRITE, 600, i & 1 ? F_SIGNALED : 0);
		post_recv(a, 10 + i);
		if (i == 2)
			sim_bell(a);
	}
	sim_modify(a, QPS_ERR);
	s->lose_all = false;
	assert_int_equal(a->revokes, 1);
	for (uint64_t i = 1; i <= 4; i++) {
		sim_expect(a->scq, i, 5);
		sim_expect(a->rcq, 10 + i, 5);
	}
	assert_int_equal(sim_event(a), -1);
	assert_true(xp_wake(a->qp) == NS_NEVER);
	sim_modify(a, QPS_RESET);
	sim_expect_none(a->scq);
	assert_true(ring_empty(&a->qp->sq) && ring_empty(&a->qp->rq));
}

/* A message that is partly received: its receive WQE is flushed first. */
static void test_err_in_message(void **state)
{
	start(NULL);
	post_recv(b, 1);
	post_recv(b, 2);
	s->room = 2;
	post(1, OP_SEND, 2000, F_SIGNALED);
	sim_bell(a);
	sim_run(s, SIM_LATENCY);
	assert_int_equal(b->qp->card->busy, 1);
	sim_modify(b, QPS_ERR);
	sim_expect(b->rcq, 1, 5);
	sim_expect(b->rcq, 2, 5);
	sim_expect_none(b->rcq);
	assert_int_equal(b->qp->card->busy, 0);
}

static uint32_t in_flight, most, writes_seen;

static bool watch(struct sim *sim, int to, const struct seg *seg)
{
	if (to == 1 && seg->type == SEG_READ_REQ)
		most = max(most, ++in_flight);
	if (to == 0 && seg->type == SEG_READ_RESP && seg->flags & SEG_F_END)
		in_flight--;
	if (to == 1 && seg->type == SEG_WRITE) {
		writes_seen++;
		assert_int_equal(in_flight, 0);
	}
	return false;
}

/* A fenced WQE waits for the READs before it; READs wait for credits (max_rd_atomic). */
static void test_fence_and_credits(void **state)
{
	for (uint8_t credits = 1; credits <= 8; credits *= 2) {
		struct sim_cfg cfg = sim_defaults();

		cfg.max_rd = cfg.max_dest = credits;
		start(&cfg);
		s->filter = watch;
		in_flight = most = writes_seen = 0;
		for (uint64_t i = 0; i < 10; i++)
			post(i, OP_READ, 600, F_SIGNALED);
		post(10, OP_WRITE, 8, F_SIGNALED | F_FENCE);
		sim_bell(a);
		sim_run(s, NS_S);
		for (uint64_t i = 0; i <= 10; i++)
			sim_expect(a->scq, i, 0);
		assert_int_equal(most, credits);
		assert_int_equal(writes_seen, 1);
	}
}

/*
 * The requester has more READs in flight than the responder has resources for, while the responses
 * wait for room on the link.
 */
static void test_too_many_reads(void **state)
{
	struct sim_cfg cfg = sim_defaults();

	cfg.max_rd = 8;
	cfg.max_dest = 2;
	start(&cfg);
	s->room = 8;
	for (uint64_t i = 0; i < 8; i++)
		post(i, OP_READ, 4000, F_SIGNALED);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 0, 0);
	sim_expect(a->scq, 1, 0);
	sim_expect(a->scq, 2, 9);
	sim_expect(a->scq, 3, 5);
	assert_int_equal(sim_event(b), 2);
	assert_int_equal(b->qp->state, QPS_ERR);
}

static void test_signalling(void **state)
{
	struct sim_cfg cfg = sim_defaults();

	start(NULL);
	for (uint64_t i = 0; i < 5; i++)
		post(i, OP_WRITE, 8, i == 3 ? F_SIGNALED : 0);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 3, 0);
	sim_expect_none(a->scq);
	assert_true(ring_empty(&a->qp->sq));
	cfg.sig_all = true;
	start(&cfg);
	for (uint64_t i = 0; i < 5; i++)
		post(i, OP_WRITE, 8, 0);
	sim_bell(a);
	sim_run(s, NS_S);
	for (uint64_t i = 0; i < 5; i++)
		sim_expect(a->scq, i, 0);
}

static void test_solicited(void **state)
{
	start(NULL);
	for (uint64_t i = 0; i < 4; i++)
		post_recv(b, i);
	cq_arm(b->rcq, true);
	post(0, OP_SEND, 700, F_SIGNALED);
	sim_bell(a);
	sim_run(s, NS_S);
	assert_int_equal(b->rcq->notify, CQ_ARM_SOLICITED);
	post(1, OP_SEND, 700, F_SIGNALED | F_SOLICITED);
	sim_bell(a);
	sim_run(s, NS_S);
	assert_int_equal(b->rcq->notify, 0);
	cq_arm(b->rcq, true);
	post(2, OP_WRITE_IMM, 700, F_SIGNALED | F_SOLICITED);
	sim_bell(a);
	sim_run(s, NS_S);
	assert_int_equal(b->rcq->notify, 0);
	/* Send completions are not solicited; flushed ones are. */
	cq_arm(a->scq, true);
	post(3, OP_SEND, 8, F_SIGNALED | F_SOLICITED);
	sim_bell(a);
	sim_run(s, NS_S);
	assert_int_equal(a->scq->notify, CQ_ARM_SOLICITED);
	post(4, OP_SEND, 8, F_SIGNALED);
	sim_modify(a, QPS_ERR);
	assert_int_equal(a->scq->notify, 0);
}

/* With inline data the SGE list is not read. */
static void test_inline(void **state)
{
	for (uint32_t len = 0; len <= 256; len += 32) {
		struct sim_wr wr = wr_of(1, OP_SEND, 8);
		uint8_t data[256];

		start(NULL);
		post_recv(b, 9);
		sim_fill(data, len, 9);
		wr.flags |= F_INLINE;
		wr.num_sge = 30000;
		wr.inl = data;
		wr.inl_len = len;
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, NS_S);
		sim_expect(a->scq, 1, 0);
		sim_expect(b->rcq, 9, 0);
		assert_true(sim_filled(b->buf + 0x20000, len, 9));
	}
}

/*
 * A READ or atomic cannot be inline: librxe stores the inline bytes in place of the SGE list, so
 * that the answer has no buffer.
 */
static void test_inline_read(void **state)
{
	static const uint32_t ops[] = { OP_READ, OP_CMP_SWP, OP_FETCH_ADD };
	static const uint8_t bytes[8] = { 1 };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct sim_wr wr = wr_of(1, ops[i], 8);

		start(NULL);
		wr.flags |= F_INLINE;
		wr.inl = bytes;
		wr.inl_len = sizeof(bytes);
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, NS_S);
		sim_expect(a->scq, 1, 2);	/* LOC_QP_OP_ERR */
		assert_int_equal(a->qp->state, QPS_ERR);
	}
}

/* Messages without payload: no key is checked. */
static void test_empty(void **state)
{
	static const uint32_t ops[] = { OP_SEND, OP_WRITE, OP_READ, OP_WRITE_IMM };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct sim_wr wr = wr_of(1, ops[i], 0);
		struct rxe_sge none = { 0 };

		start(NULL);
		sim_post_recv(b, 9, &none, 1);
		wr.rkey = 0xdead;
		wr.sge[0].lkey = 0xdead;
		sim_post(a, &wr);
		wr.num_sge = 0;
		wr.op = OP_WRITE;
		wr.id = 2;
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, NS_S);
		sim_expect(a->scq, 1, 0);
		sim_expect(a->scq, 2, 0);
	}
}

/*
 * Two processes that connect to each other at the same time have two links, and requests may arrive
 * on a link that is not the responder's own. Responses that find no room continue on the link of
 * the request, in order.
 */
static void test_other_link(void **state)
{
	static const struct link_ops ops = { .name = "nowhere" };
	struct link own = { .ops = &ops, .refs = 1 };
	uint64_t retries = a->td->dev.counter[CNT_COMP_RETRY];
	struct sim_wr wr;

	start(NULL);
	b->qp->link = &own;
	s->room = 2;
	wr = wr_of(1, OP_READ, 0x8000);
	sim_fill(b->buf + 0x10000, 0x8000, 5);
	sim_post(a, &wr);
	post(2, OP_WRITE, 700, F_SIGNALED);
	sim_bell(a);
	sim_run(s, NS_S);
	b->qp->link = &b->link;
	sim_expect(a->scq, 1, 0);
	sim_expect(a->scq, 2, 0);
	assert_true(sim_filled(a->buf, 0x8000, 5));
	assert_int_equal(a->td->dev.counter[CNT_COMP_RETRY], retries);
	assert_int_equal(b->link.refs, 2);
	sim_modify(b, QPS_RESET);
	assert_int_equal(b->link.refs, 1);
}

/*
 * A QP is reset while its ACK waits for room on the link. The program has already seen the
 * completion of the message. Reset waits once for room and then sends the ACK. If there is no room
 * (stuck), the ACK is lost and the requester's retries run out.
 */
static void reset_owing(bool stuck)
{
	struct sim_wr wr = { .id = 2, .op = OP_SEND, .flags = F_SIGNALED, .num_sge = 1 };

	start(NULL);
	s->room = 1;
	s->stuck = stuck;
	b->waits = 0;
	post_recv(a, 3);
	post_recv(b, 4);
	post(1, OP_SEND, 8, F_SIGNALED);
	sim_bell(a);
	wr.sge[0] = sim_sge(b, 0, 8);
	sim_post(b, &wr);
	sim_bell(b);
	s->now += SIM_LATENCY;
	sim_deliver(s);
	sim_expect(b->rcq, 4, 0);
	assert_true(xp_blocked(b->qp));
	sim_modify(b, QPS_RESET);
	assert_int_equal(b->waits, 1);
	sim_run(s, 10 * NS_S);
	sim_expect(a->rcq, 3, 0);
	sim_expect(a->scq, 1, stuck ? 12 : 0);
	s->stuck = false;
}

static void test_reset_owing(void **state)
{
	reset_owing(false);
	reset_owing(true);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bring_up), cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_sqd), cmocka_unit_test(test_sqd_loss),
		cmocka_unit_test(test_modify_err), cmocka_unit_test(test_err_in_message),
		cmocka_unit_test(test_fence_and_credits), cmocka_unit_test(test_too_many_reads),
		cmocka_unit_test(test_signalling), cmocka_unit_test(test_solicited),
		cmocka_unit_test(test_inline), cmocka_unit_test(test_inline_read),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_other_link), cmocka_unit_test(test_reset_owing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
