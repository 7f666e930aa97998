/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues (limits, resize, events), memory windows of both types (bind,
 * access, invalidate, end of the QP), and multicast attachments. The tests call core/
 * directly; no transport runs.
 */
#include "base/testing.h"
#include "core/mcast.h"
#include "core/mw.h"
#include "core/testing.h"

struct fix {
	struct test_dev *td;
	struct pd *pd;
	struct cq *cq;
	uint8_t *buf;
};

static int setup(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	f->td = test_dev_create();
	assert_int_equal(pd_create(&f->td->uctx, &f->pd), 0);
	assert_int_equal(cq_create(&f->td->uctx, 16, 0, NULL, NULL, 0, &f->cq), 0);
	f->buf = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fix *f = *state;
	uint32_t a, b;

	assert_int_equal(cq_destroy(f->cq, &a, &b), 0);
	assert_int_equal(pd_destroy(f->pd), 0);
	assert_int_equal(f->td->rings, 0);
	test_dev_destroy(f->td);
	munmap(f->buf, 8192);
	free(f);
	return 0;
}

static struct qp *make_qp(struct fix *f, uint8_t type, struct srq *srq)
{
	struct qp_init_attr attr = {
		.send_cq = f->cq, .recv_cq = f->cq, .srq = srq, .type = type,
		.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 };
	struct qp *qp;

	assert_int_equal(qp_create(f->pd, &attr, &qp), 0);
	assert_int_equal(attr.max_recv_wr, srq ? 0 : 4);
	return qp;
}

static void test_srq(void **state)
{
	struct fix *f = *state;
	struct event_file *ev = test_event_file(true);
	struct srq_init_attr attr = { .max_wr = 5, .max_sge = 3, .async = ev, .user_handle = 77 };
	struct srq_init_attr bad[] = { { .max_wr = 0 }, { .max_wr = DEV_MAX_SRQ_WR + 1 },
				       { .max_wr = 1, .max_sge = DEV_MAX_SRQ_SGE + 1 } };
	struct srq *srq;
	struct qp *qp;
	struct ring ring;
	uint32_t reported;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(srq_create(f->pd, &bad[i], &srq), -EINVAL);
	assert_int_equal(srq_create(f->pd, &attr, &srq), 0);
	assert_int_equal(attr.max_wr, 7);
	assert_int_equal(pd_destroy(f->pd), -EBUSY);
	qp = make_qp(f, QPT_RC, srq);
	assert_int_equal(srq_destroy(srq, &reported), -EBUSY);

	/* The program posts three WQEs and one is consumed; a resize moves the others in order. */
	for (uint64_t i = 0; i < 3; i++)
		((struct rxe_recv_wqe *)ring_slot(&srq->rq, (uint32_t)i))->wr_id = 100 + i;
	srq->rq.buf->producer_index = 3;
	ring_consume(&srq->rq);
	assert_int_equal(srq_resize_alloc(srq, 1, &ring), -EINVAL);
	assert_int_equal(srq_resize_alloc(srq, 20, &ring), 0);
	srq_resize_commit(srq, &ring);
	assert_int_equal(srq->max_wr, 31);
	assert_int_equal(ring_count(&srq->rq), 2);
	assert_int_equal(((struct rxe_recv_wqe *)ring_slot(&srq->rq, srq->rq.index))->wr_id, 101);

	/* Limit 2: no event with two WQEs left; one event with one left. */
	srq->limit = 2;
	srq_taken(srq);
	assert_int_equal(ev->fd, 0);
	ring_consume(&srq->rq);
	srq_taken(srq);
	srq_taken(srq);
	assert_int_equal(ev->fd, 1);
	assert_int_equal(srq->limit, 0);
	srq_fail(srq);
	srq_fail(srq);
	assert_int_equal(ev->fd, 2);

	assert_int_equal(qp_destroy(qp, &reported), 0);
	assert_int_equal(srq_destroy(srq, &reported), 0);
	event_file_put(ev);
}

static void test_mw(void **state)
{
	struct fix *f = *state;
	const uint32_t all = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			     IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_MW_BIND;
	const uint32_t rw = IB_UVERBS_ACCESS_REMOTE_WRITE;
	struct rdev *dev = &f->td->dev;
	uint64_t va = (uint64_t)(uintptr_t)f->buf;
	struct qp *qp = make_qp(f, QPT_RC, NULL), *other = make_qp(f, QPT_RC, NULL);
	struct mw *w1, *w2;
	struct mr *mr;
	struct mw_bind b;
	uint32_t n, old;
	void *p;

	assert_int_equal(mr_create(f->pd, va, 8192, va, all, &mr), 0);
	assert_int_equal(mw_alloc(f->pd, (enum mw_type)3, &w1), -EINVAL);
	assert_int_equal(mw_alloc(f->pd, MW_TYPE_1, &w1), 0);
	assert_int_equal(mw_alloc(f->pd, MW_TYPE_2, &w2), 0);
	assert_int_not_equal(w1->index, mr->index);
	assert_int_not_equal(mr_check(dev, f->pd->id, qp->qpn, w1->rkey, va, 1, rw, &p), MR_OK);

	b = (struct mw_bind){ va + 100, 50, mr->lkey, w2->rkey, (w2->rkey + 1) & 0xff, rw };
	old = w2->rkey;
	assert_int_equal(mw_bind(qp, &b), 0);
	assert_int_equal(f->td->quiesces, 0);
	assert_int_equal(w2->rkey, (old & ~0xffu) | ((old + 1) & 0xff));
	assert_int_equal(mr_check(dev, f->pd->id, qp->qpn, w2->rkey, va + 100, 50, rw, &p), MR_OK);
	assert_ptr_equal(p, f->buf + 100);
	/* Refused: another QP, a byte too many, a missing right, the old key, use as lkey. */
	assert_int_equal(mr_check(dev, f->pd->id, other->qpn, w2->rkey, va + 100, 50, rw, &p),
			 MR_BAD_PD);
	assert_int_equal(mr_check(dev, f->pd->id, qp->qpn, w2->rkey, va + 100, 51, rw, &p),
			 MR_BAD_RANGE);
	assert_int_equal(mr_check(dev, f->pd->id, qp->qpn, w2->rkey, va + 100, 5,
				  IB_UVERBS_ACCESS_REMOTE_READ, &p), MR_BAD_ACCESS);
	assert_int_equal(mr_check(dev, f->pd->id, qp->qpn, old, va + 100, 5, rw, &p), MR_BAD_KEY);
	assert_int_equal(mr_check(dev, f->pd->id, qp->qpn, w2->rkey, va + 100, 5, KEY_LOCAL, &p),
			 MR_BAD_ACCESS);
	assert_int_equal(mr_destroy(mr), -EINVAL);
	/* Refused: a second bind; invalidation by a QP that has not bound the window. */
	b.mw_rkey = w2->rkey;
	assert_int_equal(mw_bind(qp, &b), MW_BOUND);
	assert_int_equal(mw_invalidate(other, w2->rkey), MW_OTHER_QP);
	assert_int_equal(f->td->quiesces, 0);
	assert_int_equal(mw_invalidate(qp, w2->rkey), 0);
	assert_int_equal(f->td->quiesces, 1);
	assert_int_not_equal(mr_check(dev, f->pd->id, qp->qpn, w2->rkey, va + 100, 5, rw, &p),
			     MR_OK);

	/* Type 1: any QP of the PD has access; no bind beyond the MR; length 0 unbinds. */
	b = (struct mw_bind){ va, 8192, mr->lkey, w1->rkey, 1, rw };
	assert_int_equal(mw_bind(qp, &b), 0);
	assert_int_equal(mr_check(dev, f->pd->id, other->qpn, w1->rkey, va, 8192, rw, &p), MR_OK);
	assert_int_equal(mw_invalidate(qp, w1->rkey), MW_TYPE);
	b = (struct mw_bind){ va + 8000, 200, mr->lkey, w1->rkey, 2, rw };
	assert_int_equal(mw_bind(qp, &b), MW_RANGE);
	b = (struct mw_bind){ 0, 0, 0, w1->rkey, 3, 0 };
	assert_int_equal(mw_bind(qp, &b), 0);
	assert_int_equal(mr->usecnt, 0);
	assert_int_equal(f->td->quiesces, 2);

	/* Destroying the QP unbinds its type 2 windows. */
	b = (struct mw_bind){ va, 8, mr->lkey, w2->rkey, 9, rw | IB_UVERBS_ACCESS_ZERO_BASED };
	assert_int_equal(mw_bind(qp, &b), 0);
	assert_int_equal(mr_check(dev, f->pd->id, qp->qpn, w2->rkey, 0, 8, rw, &p), MR_OK);
	assert_int_equal(f->td->withdrawals, 0);
	assert_int_equal(qp_destroy(qp, &n), 0);
	assert_int_equal(mr->usecnt, 0);
	assert_int_equal(f->td->withdrawals, 1);
	b = (struct mw_bind){ va, 8192, mr->lkey, w1->rkey, 4, rw };
	assert_int_equal(mw_bind(other, &b), 0);
	assert_int_equal(mw_dealloc(w1), 0);
	assert_int_equal(f->td->withdrawals, 2);
	assert_int_equal(mw_dealloc(w2), 0);
	assert_int_equal(f->td->withdrawals, 2);
	assert_int_equal(f->td->quiesces, 2);
	assert_int_equal(qp_destroy(other, &n), 0);
	assert_int_equal(mr_destroy(mr), 0);
}

static void test_mcast(void **state)
{
	struct fix *f = *state;
	static const uint8_t v6[16] = { 0xff, 0x0e, [15] = 1 }, uc[16] = { 0xfe, 0x80 },
			     v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1 };
	struct qp *ud = make_qp(f, QPT_UD, NULL), *rc = make_qp(f, QPT_RC, NULL);
	uint32_t n;

	assert_int_equal(mcast_attach(rc, v6, 0), -EINVAL);
	assert_int_equal(mcast_attach(ud, uc, 0), -EINVAL);
	assert_int_equal(mcast_detach(ud, v6, 0), -EINVAL);
	assert_int_equal(mcast_attach(ud, v6, 0), 0);
	assert_int_equal(mcast_attach(ud, v6, 0), 0);
	assert_int_equal(mcast_attach(ud, v4, 0), 0);
	assert_int_equal(ud->nmcast, 2);
	assert_int_equal(mcast_find(&f->td->dev, v6)->count, 1);
	assert_int_equal(mcast_detach(ud, v6, 0), 0);
	assert_null(mcast_find(&f->td->dev, v6));
	assert_int_equal(qp_destroy(ud, &n), 0);
	assert_null(mcast_find(&f->td->dev, v4));
	assert_int_equal(qp_destroy(rc, &n), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_srq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mw, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mcast, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
