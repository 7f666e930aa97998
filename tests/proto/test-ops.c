/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Details of single operations: the order of local operations and fences, memory windows, ATOMIC
 * WRITE executed once, full CQs, SRQ limit and SRQ errors, and the memory that a QP takes.
 */
#include "base/pool.h"
#include "core/mw.h"
#include "sim.h"

enum { SUCCESS = 0, REM_ACCESS = 10, REM_OP = 11, RNR_EXC = 13 };
enum { EV_NO = -1, EV_CQ = 0, EV_FATAL, EV_SRQ = 14, EV_LAST = 16 };

#define REMOTE 0x10000

static struct sim *s;
static struct sim_end *a, *b;

static void begin(struct sim *sim, const struct sim_cfg *cfg)
{
	struct sim_cfg def = sim_defaults();

	s = sim;
	a = &s->end[0];
	b = &s->end[1];
	sim_connect(s, cfg ? cfg : &def);
}

static void post(struct sim_end *e, struct sim_wr wr, uint64_t id)
{
	wr.id = id;
	wr.flags |= F_SIGNALED;
	sim_post(e, &wr);
	assert_int_equal(sim_bell(e), 0);
}

/* A WR from end e to the other end's memory. */
static struct sim_wr rdma(struct sim_end *e, uint32_t op, uint32_t len, uint32_t rkey)
{
	struct sim_wr wr = { .op = op, .num_sge = 1, .rkey = rkey,
			     .raddr = (uintptr_t)s->end[!e->id].buf + REMOTE };

	wr.sge[0] = sim_sge(e, 0, len);
	return wr;
}

static struct sim_wr binding(const struct sim_end *e, const struct mw *mw, uint32_t rkey)
{
	return (struct sim_wr){ .op = OP_BIND_MW, .raddr = (uintptr_t)e->buf + REMOTE,
				.len = 4096, .mr_lkey = e->mr->lkey, .mw_rkey = mw->rkey,
				.rkey = rkey, .access = 6 };
}

static struct mw *window(struct sim_end *e)
{
	struct mw *mw;

	assert_int_equal(mw_alloc(e->pd, MW_TYPE_2, &mw), 0);
	return mw;
}

/*
 * BIND_MW and LOCAL_INV wait for earlier READs only if fenced; completions are in order in either
 * case.
 */
static void test_fence(void **state)
{
	for (uint32_t fence = 0; fence <= F_FENCE; fence++) {
		struct sim_wr wr;
		struct mw *mw;

		begin(sim_create(), NULL);
		sim_note(s, "fence %u", fence);
		mw = window(a);
		post(a, rdma(a, OP_READ, 700, b->mr->rkey), 1);
		wr = binding(a, mw, mw->rkey ^ 5);
		wr.flags = fence;
		post(a, wr, 2);
		assert_int_equal(!!mw->mr, !fence);
		wr = (struct sim_wr){ .op = OP_LOCAL_INV, .flags = fence, .imm = mw->rkey };
		if (fence)
			wr.imm ^= 5;
		post(a, wr, 3);
		assert_null(mw->mr);
		sim_expect_none(a->scq);
		sim_run(s, NS_S);
		for (uint64_t id = 1; id <= 3; id++)
			sim_expect(a->scq, id, SUCCESS);
		assert_null(mw->mr);
		assert_int_equal(mw_dealloc(mw), 0);
		sim_destroy(s);
	}
}

/* A QP in SQD does not start local operations either. */
static void test_sqd(void **state)
{
	struct mw *mw;

	begin(sim_create(), NULL);
	mw = window(a);
	sim_modify(a, QPS_SQD);
	post(a, binding(a, mw, mw->rkey), 1);
	assert_null(mw->mr);
	sim_modify(a, QPS_RTS);
	assert_non_null(mw->mr);
	sim_expect(a->scq, 1, SUCCESS);
	assert_int_equal(mw_dealloc(mw), 0);
	sim_destroy(s);
}

/*
 * 60 WQEs are outstanding, local operations among them. This is more than a new QP has memory for,
 * so its memory must grow.
 */
static void test_many(void **state)
{
	struct mw *mw;

	begin(sim_create(), NULL);
	mw = window(a);
	s->lose_all = true;
	for (uint64_t id = 0; id < 60; id++)
		if (id % 3)
			post(a, rdma(a, OP_WRITE, 8, b->mr->rkey), id);
		else if (id % 2)
			post(a, (struct sim_wr){ .op = OP_LOCAL_INV, .imm = mw->rkey }, id);
		else
			post(a, binding(a, mw, mw->rkey + 1), id);
	s->lose_all = false;
	sim_run(s, NS_S);
	for (uint64_t id = 0; id < 60; id++)
		sim_expect(a->scq, id, SUCCESS);
	assert_int_equal(mw_dealloc(mw), 0);
	sim_destroy(s);
}

/* The peer writes through a memory window until a SEND with invalidate ends it. */
static void test_window(void **state)
{
	struct rxe_sge sge;
	struct sim_wr wr;
	struct mw *mw;

	begin(sim_create(), NULL);
	mw = window(b);
	sim_fill(a->buf, 700, 3);
	memset(b->buf + REMOTE, 0, 4096);
	post(b, binding(b, mw, mw->rkey ^ 9), 1);
	sim_expect(b->scq, 1, SUCCESS);
	post(a, rdma(a, OP_WRITE, 700, mw->rkey), 1);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, SUCCESS);
	assert_true(sim_filled(b->buf + REMOTE, 700, 3));

	sge = sim_sge(b, 0x20000, 8);
	sim_post_recv(b, 7, &sge, 1);
	wr = rdma(a, OP_SEND_INV, 8, 0);
	wr.imm = mw->rkey;
	post(a, wr, 2);
	sim_run(s, NS_S);
	sim_expect(a->scq, 2, SUCCESS);
	sim_expect(b->rcq, 7, SUCCESS);
	post(a, rdma(a, OP_WRITE, 700, mw->rkey), 3);
	sim_run(s, NS_S);
	sim_expect(a->scq, 3, REM_ACCESS);
	assert_int_equal(mw_dealloc(mw), 0);
	sim_destroy(s);
}

static bool lose_first_answer(struct sim *sim, int to, const struct seg *seg)
{
	uint64_t mine = 77;

	if (to != 0)
		return false;
	sim->filter = NULL;
	/* The responder's program changes the word meanwhile. */
	memcpy(sim->end[1].buf + REMOTE, &mine, 8);
	return true;
}

/*
 * The response of an ATOMIC WRITE is lost: the repeated request is answered, not executed again
 * (IBA oA19-14).
 */
static void test_atomic_write_once(void **state)
{
	struct ib_uverbs_wc wc;
	struct sim_wr wr;
	uint64_t now;

	begin(sim_create(), NULL);
	s->filter = lose_first_answer;
	wr = rdma(a, OP_ATOMIC_WRITE, 8, b->mr->rkey);
	wr.compare_add = 5;
	post(a, wr, 1);
	sim_run(s, NS_S);
	assert_true(sim_poll(a->scq, &wc));
	assert_int_equal(wc.status, SUCCESS);
	assert_int_equal(wc.opcode, 9);
	assert_int_equal(wc.byte_len, 8);
	memcpy(&now, b->buf + REMOTE, 8);
	assert_int_equal(now, 77);
	sim_destroy(s);
}

/*
 * A full CQ: CQ_ERR for the CQ and QP_FATAL for the QP whose completion did not fit (IBA 11.6.3.2).
 */
static void test_cq_error(void **state)
{
	struct sim_wr wr = { .id = 1, .op = OP_SEND, .num_sge = 1, .flags = F_SIGNALED };
	struct sim_cfg cfg = sim_defaults();
	struct rxe_sge recv;
	struct cq *full;

	s = sim_create();
	a = &s->end[0];
	b = &s->end[1];
	for (int end = 0; end < 2; end++) {
		cfg.retry = 1;
		sim_connect(s, &cfg);
		sim_note(s, "full CQ of end %d", end);
		full = end ? b->rcq : a->scq;
		while (cq_reserve(full))
			cq_publish(full, false);
		assert_int_equal(sim_event(&s->end[end]), EV_CQ);
		recv = sim_sge(b, 0x20000, 8);
		wr.sge[0] = sim_sge(a, 0, 8);
		sim_post_recv(b, 100, &recv, 1);
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, NS_S);
		assert_int_equal(s->end[end].qp->state, QPS_ERR);
		assert_int_equal(sim_event(&s->end[end]), EV_FATAL);
		assert_int_equal(sim_event(&s->end[end]), EV_NO);
		full->overflowed = false;
	}
	sim_destroy(s);
}

/* The SRQ limit event comes once; when the SRQ is empty, RNR NAKs go out. */
static void test_srq_limit(void **state)
{
	struct sim_wr wr = { .op = OP_SEND, .num_sge = 1, .flags = F_SIGNALED };
	struct sim_cfg cfg = sim_defaults();
	struct rxe_sge sge;

	cfg.rnr_retry = 0;
	begin(sim_create_srq(), &cfg);
	wr.sge[0] = sim_sge(a, 0, 8);
	sge = sim_sge(b, 0x20000, 8);
	for (uint64_t i = 0; i < 4; i++)
		sim_post_recv(b, i, &sge, 1);
	b->srq->limit = 3;
	for (uint64_t i = 0; i < 4; i++) {
		wr.id = i;
		sim_post(a, &wr);
		sim_bell(a);
		sim_run(s, NS_S);
		sim_expect(a->scq, i, SUCCESS);
		sim_expect(b->rcq, i, SUCCESS);
		assert_int_equal(sim_event(b), i == 1 ? 15 : EV_NO);
	}
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 3, RNR_EXC);
	assert_int_equal(b->qp->state, QPS_RTS);
	assert_int_equal(sim_event(b), EV_NO);
	sim_destroy(s);
}

/* A QP whose SRQ is in error fails when it needs a receive: QP_FATAL, as no receive completes. */
static void test_srq_error(void **state)
{
	struct sim_wr wr = { .id = 1, .op = OP_SEND, .num_sge = 1 };

	begin(sim_create_srq(), NULL);
	srq_fail(b->srq);
	srq_fail(b->srq);
	assert_int_equal(sim_event(b), EV_SRQ);
	wr.sge[0] = sim_sge(a, 0, 8);
	sim_post_recv(b, 100, wr.sge, 1);
	sim_post(a, &wr);
	sim_bell(a);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, REM_OP);
	sim_expect_none(b->rcq);
	assert_int_equal(b->qp->state, QPS_ERR);
	assert_int_equal(sim_event(b), EV_FATAL);
	assert_int_equal(sim_event(b), EV_LAST);
	assert_int_equal(sim_event(b), EV_NO);
	b->srq->error = false;
	sim_destroy(s);
}

/*
 * Memory of a connected QP beyond its rings: the structs, the state of WQEs and READs, the QP card.
 * The uverbs object, ring areas and events are small and not counted; tests/bench/many-qps.c
 * measures the total.
 */
static void test_memory(void **state)
{
	struct sim_cfg cfg = sim_defaults();
	const struct qp *qp;
	size_t bytes;

	cfg.max_dest = 16;
	begin(sim_create(), &cfg);
	qp = b->qp;
	post(a, rdma(a, OP_READ, 8, b->mr->rkey), 1);
	sim_run(s, NS_S);
	sim_expect(a->scq, 1, SUCCESS);
	assert_int_equal(qp->resp.rd_size, 16);
	bytes = sizeof(*qp) + sizeof(*qp->card) +
		pool_size((qp->req.wqe_mask + 1) * sizeof(*qp->req.wqe)) +
		pool_size(qp->max_recv_sge * sizeof(*qp->resp.sge)) +
		pool_size(qp->resp.rd_size * (sizeof(*qp->resp.res) + sizeof(*qp->resp.replay)));
	print_message("%zu bytes a QP\n", bytes);
	assert_true(bytes <= 2048);
	assert_int_equal(a->qp->resp.rd_size, 0);
	sim_destroy(s);
}

/* The counters of an end's traffic: messages and bytes by operation, on the link of this kind; none on others. */
static void expect_traffic(const struct sim_end *e, enum traffic_link link,
			   const uint64_t want[2 * TRAFFIC_OPS])
{
	const uint64_t *c = e->td->dev.counter;

	for (int l = 0; l < TRAFFIC_LINKS; l++)
		for (int i = 0; i < 2 * TRAFFIC_OPS; i++)
			assert_int_equal(c[CNT_TRAFFIC(l, 0) + i], l == (int)link ? want[i] : 0);
}

/* What completes with success is counted once at the requester, by link and operation; receives at the responder. */
static void test_traffic(void **state)
{
	for (int wire = 0; wire <= 1; wire++) {
		uint64_t want[2 * TRAFFIC_OPS] = {
			[2 * TRAFFIC_SEND] = 2,	 [2 * TRAFFIC_SEND + 1] = 3007,
			[2 * TRAFFIC_WRITE] = 1, [2 * TRAFFIC_WRITE + 1] = 5000,
			[2 * TRAFFIC_READ] = 1,	 [2 * TRAFFIC_READ + 1] = 200,
			[2 * TRAFFIC_ATOMIC] = 1, [2 * TRAFFIC_ATOMIC + 1] = 8,
		};
		struct rxe_sge sge;

		begin(sim_create(), NULL);
		sim_note(s, "wire %d", wire);
		a->link.kind = wire ? LINK_UDP : LINK_SHM;
		sim_modify(a, QPS_SQD);
		sim_modify(a, QPS_RTS);
		sge = sim_sge(b, 0, 4096);
		sim_post_recv(b, 1, &sge, 1);
		sim_post_recv(b, 2, &sge, 1);
		post(a, rdma(a, OP_SEND, 3000, 0), 1);
		post(a, rdma(a, OP_SEND, 7, 0), 2);
		post(a, rdma(a, OP_WRITE, 5000, b->mr->rkey), 3);
		post(a, rdma(a, OP_READ, 200, b->mr->rkey), 4);
		post(a, rdma(a, OP_FETCH_ADD, 8, b->mr->rkey), 5);
		s->lose = 1;
		post(a, rdma(a, OP_WRITE, 100, b->mr->rkey ^ 1), 6);
		sim_run(s, 100 * NS_S);
		for (uint64_t id = 1; id <= 5; id++)
			sim_expect(a->scq, id, SUCCESS);
		sim_expect(a->scq, 6, REM_ACCESS);
		expect_traffic(a, wire ? TRAFFIC_WIRE : TRAFFIC_MEMORY, want);
		memset(want, 0, sizeof(want));
		expect_traffic(b, TRAFFIC_MEMORY, want);
		assert_int_equal(b->td->dev.counter[CNT_RDMA_RECVS], 2);
		assert_int_equal(b->td->dev.counter[CNT_RECV_BYTES], 3007);
		sim_destroy(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fence), cmocka_unit_test(test_sqd),
		cmocka_unit_test(test_many), cmocka_unit_test(test_window),
		cmocka_unit_test(test_atomic_write_once), cmocka_unit_test(test_cq_error),
		cmocka_unit_test(test_srq_limit), cmocka_unit_test(test_srq_error),
		cmocka_unit_test(test_memory), cmocka_unit_test(test_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
