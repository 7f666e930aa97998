/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Error classes of RC (IBA 9.9.2, 9.9.3, 10.10, 11.6.2), one row of a table each: the status of the
 * requester's WQE and of the responder's receive WQE, the asynchronous event of each side, and the
 * final QP states. Each bad WR is posted between a good one and one that is flushed. All rows run
 * with a receive queue and with an SRQ. An error of a QP does not flush the WQEs that are still in
 * its SRQ.
 */
#include <rdma/ib_user_verbs.h>
#include "core/mw.h"
#include "sim.h"

enum { SUCCESS = 0, LOC_LEN = 1, LOC_QP_OP = 2, LOC_PROT = 4, FLUSH = 5, MW_BIND = 6,
       BAD_RESP = 7, LOC_ACCESS = 8, REM_INV_REQ = 9, REM_ACCESS = 10, REM_OP = 11,
       RETRY_EXC = 12, RNR_EXC = 13 };
/* The message took no receive WQE. */
#define NONE (-1)
enum { EV_NO = -1, EV_CQ = 0, EV_FATAL, EV_REQ, EV_ACCESS, EV_SRQ = 14, EV_LAST = 16 };

#define REMOTE 0x10000
#define RECV 0x20000
#define UNMAPPED 8192

static struct sim *s;
static struct sim_end *a, *b;

/* What a row of the table changes: cfg before the QPs connect, the send WR and the receive WR before they are posted. */
struct trial {
	struct sim_cfg cfg;
	struct sim_wr wr;
	struct rxe_sge recv;
	uint32_t recv_sges;
	bool no_recv;
	struct mr *mr;		/* destroyed at the end of this trial */
	struct mw *mw;
};

static void set_op(struct trial *t, uint32_t op, uint32_t len)
{
	t->wr.op = op;
	t->wr.sge[0] = sim_sge(a, 0, len);
	t->wr.num_sge = 1;
	if (op == OP_FLUSH)
		t->wr.plt = SEG_FETH_GLOBAL, t->wr.len = len;
}

static void mr_of(struct trial *t, struct sim_end *e, uint8_t *p, uint64_t len, uint32_t access)
{
	assert_int_equal(mr_create(e->pd, (uintptr_t)p, len, (uintptr_t)p, access, &t->mr), 0);
}

/* An MR whose memory is unmapped after the registration. */
static uint8_t *vanished(struct trial *t, struct sim_end *e)
{
	uint8_t *p = mmap(NULL, UNMAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	assert_true(p != MAP_FAILED);
	mr_of(t, e, p, UNMAPPED, 15);
	munmap(p, UNMAPPED);
	return p;
}

/* l_...(): prepare local errors of the requester. */
static void l_lkey(struct trial *t)
{
	set_op(t, OP_SEND, 700);
	t->wr.sge[0].lkey ^= 1;
}

static void l_range(struct trial *t)
{
	set_op(t, OP_WRITE, 700);
	t->wr.sge[0] = sim_sge(a, SIM_BUF - 100, 700);
}

static void l_unmapped(struct trial *t)
{
	uint8_t *p = vanished(t, a);

	set_op(t, OP_SEND, 700);
	t->wr.sge[0].addr = (uintptr_t)p;
	t->wr.sge[0].lkey = t->mr->lkey;
}

static void l_read_only(struct trial *t)
{
	mr_of(t, a, a->buf, 8192, 0);
	set_op(t, OP_READ, 700);
	t->wr.sge[0].lkey = t->mr->lkey;
}

/* A memory window's rkey cannot be used as an lkey. */
static void l_window(struct trial *t)
{
	struct mw_bind bind = { .addr = (uintptr_t)a->buf, .length = 4096, .access = 6,
				.mr_lkey = a->mr->lkey };

	assert_int_equal(mw_alloc(a->pd, MW_TYPE_1, &t->mw), 0);
	bind.mw_rkey = bind.rkey = t->mw->rkey;
	assert_int_equal(mw_bind(a->qp, &bind), 0);
	set_op(t, OP_SEND, 700);
	t->wr.sge[0].lkey = t->mw->rkey;
}

static void l_length(struct trial *t)
{
	set_op(t, OP_WRITE, 8);
	t->wr.num_sge = 2;
	t->wr.sge[1] = t->wr.sge[0];
	t->wr.sge[0].length = t->wr.sge[1].length = 0x7fffffff;
}

static void l_inline(struct trial *t)
{
	static const char data[256];

	set_op(t, OP_SEND, 8);
	t->wr.flags |= F_INLINE;
	t->wr.inl = data;
	t->wr.inl_len = 1u << 20;
}

static void l_atomic_short(struct trial *t)
{
	set_op(t, OP_FETCH_ADD, 7);
}

static void l_flush_long(struct trial *t)
{
	set_op(t, OP_FLUSH, 8);
	t->wr.len = 0x80000001;
}

static void l_opcode(struct trial *t)
{
	set_op(t, 13, 8);
}

static void l_sges(struct trial *t)
{
	set_op(t, OP_SEND, 8);
	t->wr.num_sge = 100;
}

static void l_no_credit(struct trial *t)
{
	t->cfg.max_rd = 0;
	set_op(t, OP_ATOMIC_WRITE, 8);
}

static void l_inv(struct trial *t)
{
	set_op(t, OP_LOCAL_INV, 0);
	t->wr.imm = a->mr->lkey;
}

/* The MR lacks the MW_BIND right. */
static void l_bind(struct trial *t)
{
	mr_of(t, a, a->buf, 8192, 1);
	assert_int_equal(mw_alloc(a->pd, MW_TYPE_2, &t->mw), 0);
	set_op(t, OP_BIND_MW, 0);
	t->wr.raddr = (uintptr_t)a->buf;
	t->wr.len = 4096;
	t->wr.mr_lkey = t->mr->lkey;
	t->wr.mw_rkey = t->wr.rkey = t->mw->rkey;
}

/* r_...(): prepare transport errors that only the requester detects. */

/* Loses all responses except the one with the first PSN, which acknowledges the good WR. */
static bool lose_answers(struct sim *sim, int to, const struct seg *seg)
{
	return to == 0 && seg->psn != sim->cfg.psn[0];
}

static void r_retry(struct trial *t)
{
	t->cfg.retry = 2;
	set_op(t, OP_WRITE, 700);
	s->filter = lose_answers;
}

/* Answers a READ with an atomic acknowledge. (An ACK instead of the data would only be retried.) */
static bool wrong_answer(struct sim *sim, int to, const struct seg *seg)
{
	struct seg bad = *seg;

	if (to != 0 || seg->type != SEG_READ_RESP)
		return false;
	bad.type = SEG_ATOMIC_ACK;
	bad.len = 0;
	bad.niov = 0;
	xp_input(a->qp, &bad, &a->link, sim->now);
	return true;
}

static void r_bad_resp(struct trial *t)
{
	set_op(t, OP_READ, 200);
	s->filter = wrong_answer;
}

static bool fat_answer(struct sim *sim, int to, const struct seg *seg)
{
	struct seg bad = *seg;
	struct iovec iov = { b->buf, 16 };

	if (to != 0 || seg->type != SEG_READ_RESP)
		return false;
	bad.len = 16;
	bad.iov = &iov;
	bad.niov = 1;
	xp_input(a->qp, &bad, &a->link, sim->now);
	return true;
}

static void r_fat_empty(struct trial *t)
{
	set_op(t, OP_ATOMIC_WRITE, 8);
	s->filter = fat_answer;
}

static void r_fat_read(struct trial *t)
{
	set_op(t, OP_READ, 8);
	s->filter = fat_answer;
}

static void r_rnr(struct trial *t)
{
	t->cfg.rnr_retry = 1;
	t->no_recv = true;
	set_op(t, OP_SEND, 8);
}

/* q_...(): prepare requests in which the responder detects an error. */
static void q_no_write(struct trial *t)
{
	t->cfg.access[1] = 1;
	set_op(t, OP_ATOMIC_WRITE, 8);
}

static void q_no_read(struct trial *t)
{
	t->cfg.access[1] = 3;
	set_op(t, OP_READ, 700);
}

static void q_no_atomic(struct trial *t)
{
	t->cfg.access[1] = 7;
	set_op(t, OP_CMP_SWP, 8);
}

static void q_no_flush(struct trial *t)
{
	t->cfg.access[1] = 15;
	set_op(t, OP_FLUSH, 8);
}

static void q_persistent(struct trial *t)
{
	set_op(t, OP_FLUSH, 8);
	t->wr.plt = SEG_FETH_PERSISTENT;
}

static void q_no_type(struct trial *t)
{
	set_op(t, OP_FLUSH, 8);
	t->wr.plt = 0;
}

static void q_no_level(struct trial *t)
{
	set_op(t, OP_FLUSH, 8);
	t->wr.sel = 2;
}

static void q_align(struct trial *t)
{
	set_op(t, OP_FETCH_ADD, 8);
	t->wr.raddr += 4;
}

static void q_align_write(struct trial *t)
{
	set_op(t, OP_ATOMIC_WRITE, 8);
	t->wr.raddr += 4;
}

static void q_resources(struct trial *t)
{
	t->cfg.max_dest = 0;
	set_op(t, OP_READ, 8);
}

static void q_long(struct trial *t)
{
	set_op(t, OP_SEND, 5000);
}

static void q_inv(struct trial *t)
{
	set_op(t, OP_SEND_INV, 300);
	t->wr.imm = b->mr->rkey;
}

/* A type 1 window cannot be invalidated by a remote SEND. */
static void q_inv_type1(struct trial *t)
{
	assert_int_equal(mw_alloc(b->pd, MW_TYPE_1, &t->mw), 0);
	set_op(t, OP_SEND_INV, 300);
	t->wr.imm = t->mw->rkey;
}

static void q_rkey(struct trial *t)
{
	set_op(t, OP_WRITE, 700);
	t->wr.rkey ^= 1;
}

static void q_rkey_imm(struct trial *t)
{
	set_op(t, OP_WRITE_IMM, 100);
	t->wr.rkey ^= 1;
}

static void q_range(struct trial *t)
{
	set_op(t, OP_READ, 700);
	t->wr.raddr = (uintptr_t)b->buf + SIM_BUF - 699;
}

static void q_key_access(struct trial *t)
{
	mr_of(t, b, b->buf + REMOTE, 8192, 5);
	set_op(t, OP_WRITE, 700);
	t->wr.rkey = t->mr->rkey;
}

static void q_key_flush(struct trial *t)
{
	mr_of(t, b, b->buf + REMOTE, 8192, 15);
	set_op(t, OP_FLUSH, 8);
	t->wr.rkey = t->mr->rkey;
	t->wr.sel = SEG_FETH_MR;
}

static void q_flush_range(struct trial *t)
{
	set_op(t, OP_FLUSH, 8);
	t->wr.len = SIM_BUF;
}

static void q_unmapped(struct trial *t)
{
	t->wr.raddr = (uintptr_t)vanished(t, b);
	set_op(t, OP_WRITE, 700);
	t->wr.rkey = t->mr->rkey;
}

static void q_unmapped_word(struct trial *t)
{
	q_unmapped(t);
	set_op(t, OP_ATOMIC_WRITE, 8);
}

/* A window that is not bound, and a window bound to another QP. */
static void q_unbound(struct trial *t)
{
	assert_int_equal(mw_alloc(b->pd, MW_TYPE_2, &t->mw), 0);
	set_op(t, OP_WRITE, 700);
	t->wr.rkey = t->mw->rkey;
}

static void q_other_qp(struct trial *t)
{
	struct mw_bind bind = { .addr = (uintptr_t)b->buf + REMOTE, .length = 4096, .access = 2,
				.mr_lkey = b->mr->lkey };
	uint32_t qpn = b->qp->qpn;

	assert_int_equal(mw_alloc(b->pd, MW_TYPE_2, &t->mw), 0);
	bind.mw_rkey = bind.rkey = t->mw->rkey;
	b->qp->qpn ^= 1;
	assert_int_equal(mw_bind(b->qp, &bind), 0);
	b->qp->qpn = qpn;
	set_op(t, OP_WRITE, 700);
	t->wr.rkey = t->mw->rkey;
}

/* o_...(): prepare errors of the receive WQE that the responder uses. */
static void o_lkey(struct trial *t)
{
	set_op(t, OP_SEND, 700);
	t->recv.lkey ^= 1;
}

static void o_unmapped(struct trial *t)
{
	uint8_t *p = vanished(t, b);

	set_op(t, OP_SEND_IMM, 700);
	t->recv.addr = (uintptr_t)p;
	t->recv.lkey = t->mr->lkey;
}

static void o_sges(struct trial *t)
{
	set_op(t, OP_SEND, 8);
	t->recv_sges = 100;
}

static const struct row {
	const char *name;
	void (*prepare)(struct trial *t);
	int req_status;		/* of the requester's WQE; its QP ends in ERR without an event */
	int recv_status;	/* of the responder's receive WQE that the message took, or NONE */
	int resp_event;		/* the responder's event, apart from LAST_WQE_REACHED; EV_NO: none */
	bool resp_err;		/* the responder's QP ends in ERR, otherwise in RTS */
} rows[] = {
	/* 11.6.2 local length, local QP operation, local protection, memory window bind error */
	{ "lkey", l_lkey, LOC_PROT, NONE, EV_NO, false },
	{ "local range", l_range, LOC_PROT, NONE, EV_NO, false },
	{ "local memory gone", l_unmapped, LOC_PROT, NONE, EV_NO, false },
	{ "READ into read-only", l_read_only, LOC_PROT, NONE, EV_NO, false },
	{ "window as lkey", l_window, LOC_PROT, NONE, EV_NO, false },
	{ "message over 2 GiB", l_length, LOC_LEN, NONE, EV_NO, false },
	{ "inline over the limit", l_inline, LOC_LEN, NONE, EV_NO, false },
	{ "atomic of 7 bytes", l_atomic_short, LOC_LEN, NONE, EV_NO, false },
	{ "FLUSH over 2 GiB", l_flush_long, LOC_LEN, NONE, EV_NO, false },
	{ "opcode", l_opcode, LOC_QP_OP, NONE, EV_NO, false },
	{ "too many entries", l_sges, LOC_QP_OP, NONE, EV_NO, false },
	{ "no initiator depth", l_no_credit, LOC_QP_OP, NONE, EV_NO, false },
	{ "LOCAL_INV of an MR", l_inv, MW_BIND, NONE, EV_NO, false },
	{ "BIND_MW not permitted", l_bind, MW_BIND, NONE, EV_NO, false },
	/* 9.9.2: retry counters that run out, and wrong responses */
	{ "retries", r_retry, RETRY_EXC, NONE, EV_NO, false },
	{ "answer of another kind", r_bad_resp, BAD_RESP, NONE, EV_NO, false },
	{ "payload in an empty answer", r_fat_empty, BAD_RESP, NONE, EV_NO, false },
	{ "READ response too long", r_fat_read, LOC_LEN, NONE, EV_NO, false },
	{ "RNR retries", r_rnr, RNR_EXC, NONE, EV_NO, false },
	/* 9.9.3: invalid requests */
	{ "QP without REMOTE_WRITE", q_no_write, REM_INV_REQ, NONE, EV_REQ, true },
	{ "QP without REMOTE_READ", q_no_read, REM_INV_REQ, NONE, EV_REQ, true },
	{ "QP without REMOTE_ATOMIC", q_no_atomic, REM_INV_REQ, NONE, EV_REQ, true },
	{ "QP without FLUSH_GLOBAL", q_no_flush, REM_INV_REQ, NONE, EV_REQ, true },
	{ "QP without FLUSH_PERSISTENT", q_persistent, REM_INV_REQ, NONE, EV_REQ, true },
	{ "FLUSH of no type", q_no_type, REM_INV_REQ, NONE, EV_REQ, true },
	{ "FLUSH of no level", q_no_level, REM_INV_REQ, NONE, EV_REQ, true },
	{ "atomic alignment", q_align, REM_INV_REQ, NONE, EV_REQ, true },
	{ "ATOMIC WRITE alignment", q_align_write, REM_INV_REQ, NONE, EV_REQ, true },
	{ "no responder resources", q_resources, REM_INV_REQ, NONE, EV_REQ, true },
	{ "SEND longer than its receive", q_long, REM_INV_REQ, LOC_LEN, EV_NO, true },
	/* 9.9.3: remote access */
	{ "rkey", q_rkey, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "rkey of WRITE_IMM", q_rkey_imm, REM_ACCESS, LOC_ACCESS, EV_ACCESS, true },
	{ "remote range", q_range, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "key without REMOTE_WRITE", q_key_access, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "key without FLUSH_GLOBAL", q_key_flush, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "FLUSH range", q_flush_range, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "remote memory gone", q_unmapped, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "remote word gone", q_unmapped_word, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "window not bound", q_unbound, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "window of another QP", q_other_qp, REM_ACCESS, NONE, EV_ACCESS, true },
	{ "invalidate of an MR", q_inv, REM_ACCESS, REM_INV_REQ, EV_NO, true },
	{ "invalidate of type 1", q_inv_type1, REM_ACCESS, REM_INV_REQ, EV_NO, true },
	/* 9.9.3: remote operation */
	{ "receive lkey", o_lkey, REM_OP, LOC_PROT, EV_NO, true },
	{ "receive memory gone", o_unmapped, REM_OP, LOC_PROT, EV_NO, true },
	{ "receive entries", o_sges, REM_OP, LOC_QP_OP, EV_NO, true },
};

static void post_recvs(const struct trial *t)
{
	struct rxe_sge sge[8] = { t->recv };

	if (t->no_recv)
		return;
	sim_post_recv(b, 100, sge, t->recv_sges);
	sge[0] = sim_sge(b, RECV, 4096);
	sim_post_recv(b, 101, sge, 1);
}

static void check_requester(const struct row *r)
{
	sim_expect(a->scq, 0, SUCCESS);
	sim_expect(a->scq, 1, (uint32_t)r->req_status);
	sim_expect(a->scq, 2, FLUSH);
	sim_expect_none(a->scq);
	assert_int_equal(a->td->dev.counter[CNT_FAILED(0, r->req_status)], 1);
	assert_int_equal(a->qp->state, QPS_ERR);
	assert_int_equal(sim_event(a), a->srq ? EV_LAST : EV_NO);
	assert_int_equal(sim_event(a), EV_NO);
}

static void check_responder(const struct row *r, const struct trial *t)
{
	uint64_t id = 100, *n = b->td->dev.counter;

	/* REFUSED_INVALID, ACCESS and OPERATION. */
	for (int k = 0; k < 3; k++)
		assert_int_equal(n[CNT_REFUSED(k)], r->req_status == REM_INV_REQ + k);
	assert_int_equal(n[CNT_REFUSED(REFUSED_READ + REFUSED_RANGE - REFUSED_KEY)],
			 r->prepare == q_range || r->prepare == q_flush_range);
	assert_true(r->recv_status == NONE || n[CNT_FAILED(1, r->recv_status)] == 1);
	assert_int_equal(b->qp->state, r->resp_err ? QPS_ERR : QPS_RTS);
	assert_int_equal(b->qp->card->state, b->qp->state);
	if (r->recv_status != NONE)
		sim_expect(b->rcq, id++, (uint32_t)r->recv_status);
	for (; r->resp_err && !b->srq && !t->no_recv && id < 102; id++)
		sim_expect(b->rcq, id, FLUSH);
	sim_expect_none(b->rcq);
	if (b->srq && !t->no_recv)
		assert_int_equal(ring_count(&b->srq->rq), r->recv_status == NONE ? 2 : 1);
	/* An invalid WQE in an SRQ puts the SRQ into error, too. */
	if (b->srq && r->prepare == o_sges) {
		assert_int_equal(sim_event(b), EV_SRQ);
		assert_true(b->srq->error);
		b->srq->error = false;
	}
	if (r->resp_event != EV_NO)
		assert_int_equal(sim_event(b), r->resp_event);
	if (b->srq && r->resp_err)
		assert_int_equal(sim_event(b), EV_LAST);
	assert_int_equal(sim_event(b), EV_NO);
}

static void one_row(const struct row *r)
{
	struct trial t = { .cfg = sim_defaults(), .recv_sges = 1 };
	struct sim_wr good, last;

	sim_note(s, "%s%s", r->name, a->srq ? ", SRQ" : "");
	s->filter = NULL;
	t.wr = (struct sim_wr){ .id = 1, .rkey = b->mr->rkey,
				.raddr = (uintptr_t)b->buf + REMOTE };
	t.recv = sim_sge(b, RECV, 4096);
	t.cfg.mtu = 1024;
	r->prepare(&t);
	sim_connect(s, &t.cfg);
	memset(a->td->dev.counter, 0, sizeof(a->td->dev.own_counter));
	memset(b->td->dev.counter, 0, sizeof(b->td->dev.own_counter));
	good = last = (struct sim_wr){ .num_sge = 1, .rkey = b->mr->rkey, .op = OP_SEND };
	/* The good WR needs no access rights: a SEND of 0 bytes. */
	good.sge[0] = last.sge[0] = sim_sge(a, 0, 0);
	good.flags = F_SIGNALED;
	last.id = 2;
	/*
	 * The last WR may reach the responder before the requester finds the error. It is a WRITE,
	 * so it takes no receive WQE.
	 */
	last.op = OP_WRITE;
	sim_post_recv(b, 99, good.sge, 1);
	post_recvs(&t);
	sim_post(a, &good);
	sim_post(a, &t.wr);
	sim_post(a, &last);
	assert_int_equal(sim_bell(a), 0);
	sim_run(s, NS_S);
	s->filter = NULL;
	sim_expect(b->rcq, 99, SUCCESS);
	check_requester(r);
	check_responder(r, &t);
	if (t.mw)
		assert_int_equal(mw_dealloc(t.mw), 0);
	if (t.mr)
		assert_int_equal(mr_destroy(t.mr), 0);
}

static void run_rows(bool srq)
{
	s = srq ? sim_create_srq() : sim_create();
	a = &s->end[0];
	b = &s->end[1];
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		one_row(&rows[i]);
	sim_destroy(s);
}

static void test_rows_rq(void **state)
{
	run_rows(false);
}

static void test_rows_srq(void **state)
{
	run_rows(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_rq), cmocka_unit_test(test_rows_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
