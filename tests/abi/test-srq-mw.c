/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SRQs, memory windows, multicast, REREG_MR and ADVISE_MR: errors in the kernel's order,
 * references between objects, and state that a refused call must not change.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "core/mcast.h"
#include "core/mw.h"
#include "core/objects.h"
#include "core/srq.h"
#include "fixture.h"

#define RESP(c, type) ((struct type *)(uintptr_t)(c).resp)
#define REQ_OF(c, type) ((struct type *)&(c).req)
#define MAX_WR 1u	/* attr_mask of MODIFY_SRQ */
#define LIMIT 2u

static void *object(uint32_t handle)
{
	return ((struct uobj *)idtable_find(&fx.f->ids, handle))->obj;
}

static void test_srq_create(void **state)
{
	uint32_t count = fx.f->ids.count;
	struct ib_uverbs_create_xsrq *x;
	struct ib_uverbs_create_srq *q;
	struct rxe_create_srq_resp *drv;
	const struct srq *srq;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_CREATE_SRQ, false, &c);
	q = REQ_OF(c, ib_uverbs_create_srq);
	assert_int_equal(run(BY_WRITE, &c), 0);
	srq = object(RESP(c, ib_uverbs_create_srq_resp)->srq_handle);
	drv = (void *)RESP(c, ib_uverbs_create_srq_resp)->driver_data;
	assert_int_equal(RESP(c, ib_uverbs_create_srq_resp)->max_wr, 15);
	assert_int_equal(RESP(c, ib_uverbs_create_srq_resp)->max_sge, 2);
	assert_int_equal(drv->mi.offset, srq->rq.offset);
	assert_int_equal(drv->mi.size, srq->rq.buf_size);
	assert_int_equal(drv->srq_num, srq->num);
	assert_int_equal(srq->async.user_handle, 0x5555);
	count++;

	q->max_wr = 0;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->max_wr = DEV_MAX_SRQ_WR + 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->max_wr = 1;
	q->max_sge = DEV_MAX_SRQ_SGE + 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->max_sge = 0;
	c.drv_out = sizeof(*drv) - 8;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_out = sizeof(*drv);
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(RESP(c, ib_uverbs_create_srq_resp)->max_sge, 1);
	count++;
	fx.td->ring_err = -ENOMEM;
	assert_int_equal(run(BY_WRITE, &c), -ENOMEM);
	fx.td->ring_err = 0;

	/*
	 * SRQ types that the device does not have: handles are checked first, then the driver
	 * refuses.
	 */
	sample(IB_USER_VERBS_CMD_CREATE_XSRQ, false, &c);
	x = REQ_OF(c, ib_uverbs_create_xsrq);
	x->srq_type = IB_UVERBS_SRQT_XRC;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	x->srq_type = IB_UVERBS_SRQT_TM;
	x->cq_handle = 1000;
	assert_int_equal(run(BY_WRITE, &c), -ENOENT);
	x->cq_handle = fx.cq;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	x->srq_type = 3;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	assert_int_equal(fx.f->ids.count, count);
}

static void test_srq_create_types(void **state)
{
	static const struct { uint64_t type; bool cq, tags; int want; } t[] = {
		{ IB_UVERBS_SRQT_BASIC, false, false, 0 },
		{ IB_UVERBS_SRQT_XRC, false, false, -ENOENT },
		{ IB_UVERBS_SRQT_XRC, true, false, -ENOENT },
		{ IB_UVERBS_SRQT_TM, false, true, -ENOENT },
		{ IB_UVERBS_SRQT_TM, true, false, -ENOENT },
		{ IB_UVERBS_SRQT_TM, true, true, -EOPNOTSUPP },
		{ 3, true, true, -EINVAL },
		{ 1ull << 32, true, true, -EINVAL },
	};
	static const struct method_spec m = { .object = UVERBS_OBJECT_SRQ,
					      .method = UVERBS_METHOD_SRQ_CREATE };

	for (size_t n = 0; n < ARRAY_SIZE(t); n++) {
		uint32_t count = fx.f->ids.count;
		struct ioc i;
		int expect;

		assert_true(ioc_sample(&m, &i, &expect));
		ioc_find(&i, UVERBS_ATTR_CREATE_SRQ_TYPE)->data = t[n].type;
		if (t[n].cq)
			ioc_add(&i, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, 0, fx.cq);
		if (t[n].tags)
			ioc_add(&i, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, 4, 8);
		assert_int_equal(ioc_run(&i), t[n].want);
		assert_int_equal(fx.f->ids.count, count + !t[n].want);
	}
}

static int modify_srq(uint32_t handle, uint32_t mask, uint32_t max_wr, uint32_t limit, void *mi)
{
	struct ib_uverbs_modify_srq *q;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_MODIFY_SRQ, false, &c);
	q = REQ_OF(c, ib_uverbs_modify_srq);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, q->srq_handle), 0);
	q->srq_handle = handle;
	q->attr_mask = mask;
	q->max_wr = max_wr;
	q->srq_limit = limit;
	((struct rxe_modify_srq_cmd *)(c.req.b + c.in))->mmap_info_addr = (uintptr_t)mi;
	return run(BY_WRITE, &c);
}

static int query_srq(uint32_t handle, struct ib_uverbs_query_srq_resp *resp)
{
	struct ib_uverbs_query_srq *q;
	struct cmd c;
	int ret;

	sample(IB_USER_VERBS_CMD_QUERY_SRQ, false, &c);
	q = REQ_OF(c, ib_uverbs_query_srq);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, q->srq_handle), 0);
	q->srq_handle = handle;
	ret = run(BY_WRITE, &c);
	*resp = *RESP(c, ib_uverbs_query_srq_resp);
	return ret;
}

static void expect_srq(uint32_t handle, uint32_t max_wr, uint32_t limit)
{
	struct ib_uverbs_query_srq_resp resp;

	assert_int_equal(query_srq(handle, &resp), 0);
	assert_int_equal(resp.max_wr, max_wr);
	assert_int_equal(resp.max_sge, 2);
	assert_int_equal(resp.srq_limit, limit);
}

static void test_srq_modify(void **state)
{
	uint32_t h = mk_srq(fx.pd);
	struct srq *srq = object(h);
	struct mminfo *mi = arena_get(sizeof(*mi));
	struct ib_uverbs_query_srq_resp resp;
	struct cmd c;
	int rings;

	expect_srq(h, 15, 0);
	assert_int_equal(modify_srq(h, 0, 0, 0, NULL), 0);
	assert_int_equal(modify_srq(h, LIMIT, 0, 15, NULL), 0);
	expect_srq(h, 15, 15);
	assert_int_equal(modify_srq(h, LIMIT, 0, 16, NULL), -EINVAL);
	assert_int_equal(modify_srq(h, LIMIT, 0, UINT32_MAX, NULL), -EINVAL);
	expect_srq(h, 15, 15);
	/* Refused sizes: below the armed limit; 0; above the device's maximum. */
	assert_int_equal(modify_srq(h, MAX_WR, 14, 0, mi), -EINVAL);
	assert_int_equal(modify_srq(h, MAX_WR, 0, 0, mi), -EINVAL);
	assert_int_equal(modify_srq(h, MAX_WR, DEV_MAX_SRQ_WR + 1, 0, mi), -EINVAL);
	rings = fx.td->rings;
	/* If the ring's mminfo cannot be written, the old ring stays. */
	assert_int_equal(modify_srq(h, MAX_WR, 40, 0, readonly), -EFAULT);
	assert_int_equal(modify_srq(h, MAX_WR, 40, 0, unmapped), -EFAULT);
	expect_srq(h, 15, 15);
	assert_int_equal(modify_srq(h, MAX_WR | LIMIT, 40, 3, mi), 0);
	expect_srq(h, 63, 3);
	assert_int_equal(mi->offset, srq->rq.offset);
	assert_int_equal(mi->size, srq->rq.buf_size);
	assert_int_equal(fx.td->rings, rings);

	/* Without the provider data, or with half of it, MODIFY_SRQ is refused. */
	sample(IB_USER_VERBS_CMD_MODIFY_SRQ, false, &c);
	c.drv_in = 0;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_in = 4;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);

	srq->error = true;
	assert_int_equal(modify_srq(h, LIMIT, 0, 1, NULL), -EINVAL);
	assert_int_equal(query_srq(h, &resp), -EINVAL);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, h), 0);
}

/* The QP refers to the SRQ and the SRQ to the PD; such a QP has no receive queue. */
static void test_srq_busy(void **state)
{
	struct ib_uverbs_create_qp_resp *resp;
	struct ib_uverbs_query_qp_resp *told;
	struct ib_uverbs_create_qp *q;
	uint32_t pd = mk_pd(), srq = mk_srq(pd), qp;
	int rings = fx.td->rings;
	struct cmd c;

	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), -EBUSY);
	for (enum way w = 0; w < WAYS; w++) {
		sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c);
		q = REQ_OF(c, ib_uverbs_create_qp);
		q->is_srq = 1;
		q->srq_handle = srq;
		/* Ignored when the QP has an SRQ. */
		q->max_recv_wr = q->max_recv_sge = UINT32_MAX;
		assert_int_equal(run(w, &c), 0);
		resp = RESP(c, ib_uverbs_create_qp_resp);
		qp = resp->qp_handle;
		assert_int_equal(((struct rxe_create_qp_resp *)resp->driver_data)->rq_mi.size, 0);
		assert_int_equal(fx.td->rings, rings + 1);
		assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, srq), -EBUSY);

		sample(IB_USER_VERBS_CMD_QUERY_QP, false, &c);
		REQ_OF(c, ib_uverbs_query_qp)->qp_handle = qp;
		assert_int_equal(run(w, &c), 0);
		told = RESP(c, ib_uverbs_query_qp_resp);
		assert_int_equal(told->max_recv_wr, 0);
		assert_int_equal(told->max_recv_sge, 0);
		assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, qp), 0);
	}
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, srq), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), 0);
}

static void test_qp_create_with_srq(void **state)
{
	static const struct method_spec m = { .object = UVERBS_OBJECT_QP,
					      .method = UVERBS_METHOD_QP_CREATE };
	uint32_t srq = mk_srq(fx.pd);
	struct ioc i;
	int expect;

	assert_true(ioc_sample(&m, &i, &expect));
	ioc_add(&i, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, srq);
	assert_int_equal(ioc_run(&i), 0);
	assert_ptr_equal(fx.last_qp->srq, object(srq));
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_SRQ, srq), -EBUSY);
	assert_true(ioc_sample(&m, &i, &expect));
	ioc_add(&i, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, 1000);
	assert_int_equal(ioc_run(&i), -ENOENT);
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE)->data = fx.cq;
	assert_int_equal(ioc_run(&i), -EINVAL);
	/*
	 * An XRC initiator with an SRQ: refused before missing attributes and the type are
	 * checked.
	 */
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE)->data = srq;
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_TYPE)->data = IB_UVERBS_QPT_XRC_INI;
	assert_int_equal(ioc_run(&i), -EINVAL);
	ioc_remove(&i, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
	assert_int_equal(ioc_run(&i), -EOPNOTSUPP);
	ioc_add(&i, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, srq);
	ioc_remove(&i, UVERBS_ATTR_CREATE_QP_PD_HANDLE);
	assert_int_equal(ioc_run(&i), -EINVAL);
}

static void test_mw(void **state)
{
	const uint32_t access = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_MW_BIND;
	uint32_t pd = mk_pd(), w, mr;
	struct ib_uverbs_reg_mr *m;
	struct mw_bind b;
	struct mw *mw;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_ALLOC_MW, false, &c);
	for (uint8_t type = 0; type < 4; type++) {
		REQ_OF(c, ib_uverbs_alloc_mw)->mw_type = type;
		assert_int_equal(run(BY_WRITE, &c), type == 1 || type == 2 ? 0 : -EINVAL);
	}
	w = mk_mw(pd);
	mw = object(w);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_MW, w), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, pd), 0);

	/* A bound window refers to its MR. */
	sample(IB_USER_VERBS_CMD_REG_MR, false, &c);
	m = REQ_OF(c, ib_uverbs_reg_mr);
	m->access_flags = access;
	assert_int_equal(run(BY_WRITE, &c), 0);
	mr = RESP(c, ib_uverbs_reg_mr_resp)->mr_handle;
	w = mk_mw(fx.pd);
	mw = object(w);
	b = (struct mw_bind){ m->hca_va, 8, RESP(c, ib_uverbs_reg_mr_resp)->lkey, mw->rkey, 1, 0 };
	assert_int_equal(mw_bind(object(fx.qp), &b), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, mr), -EINVAL);
	sample(IB_USER_VERBS_CMD_REREG_MR, false, &c);
	REQ_OF(c, ib_uverbs_rereg_mr)->mr_handle = mr;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_MW, w), 0);
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, mr), 0);
}

static int mcast_lid(uint32_t nr, uint32_t qp, const uint8_t gid[16], uint16_t lid)
{
	struct ib_uverbs_attach_mcast *a;
	struct cmd c;

	sample(nr, false, &c);
	a = REQ_OF(c, ib_uverbs_attach_mcast);
	a->qp_handle = qp;
	memcpy(a->gid, gid, 16);
	a->mlid = lid;
	return run(BY_WRITE, &c);
}

static int mcast(uint32_t nr, uint32_t qp, const uint8_t gid[16])
{
	return mcast_lid(nr, qp, gid, 0xc000);
}

static void test_mcast(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x0e, [15] = 9 }, host[16] = { 0xfe, 0x80 },
			     v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 9 },
			     not_v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 223 };
	uint32_t ud = mk_ud(false);

	assert_int_equal(mcast(IB_USER_VERBS_CMD_ATTACH_MCAST, fx.qp, group), -EINVAL);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_ATTACH_MCAST, ud, host), -EINVAL);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_ATTACH_MCAST, ud, not_v4), -EINVAL);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_DETACH_MCAST, ud, group), -EINVAL);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_ATTACH_MCAST, ud, group), 0);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_ATTACH_MCAST, ud, group), 0);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_ATTACH_MCAST, ud, v4), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, ud), -EBUSY);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_DETACH_MCAST, ud, group), 0);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_DETACH_MCAST, ud, group), -EINVAL);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, ud), -EBUSY);
	assert_int_equal(mcast(IB_USER_VERBS_CMD_DETACH_MCAST, ud, v4), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, ud), 0);
}

/*
 * An attachment to a multicast group consists of a GID and a LID. A QP can have several with the same GID; it is in
 * the group until the last of them is detached.
 */
static void test_mcast_lids(void **state)
{
	static const uint8_t group[16] = { 0xff, 0x0e, [15] = 9 };
	const uint32_t in = IB_USER_VERBS_CMD_ATTACH_MCAST, out = IB_USER_VERBS_CMD_DETACH_MCAST;
	uint32_t ud = mk_ud(false);
	struct mcast_grp *g;

	assert_int_equal(mcast_lid(in, ud, group, 0xc001), 0);
	assert_int_equal(mcast_lid(out, ud, group, 0xc002), -EINVAL);
	/* RoCE ignores the LID, but it is part of the attachment. */
	assert_int_equal(mcast_lid(in, ud, group, 0), 0);
	assert_int_equal(mcast_lid(in, ud, group, 0), 0);
	g = mcast_find(fx.last_qp->dev, group);
	assert_non_null(g);
	assert_int_equal(g->count, 1);
	assert_int_equal(mcast_lid(out, ud, group, 0xc001), 0);
	assert_int_equal(mcast_lid(out, ud, group, 0xc001), -EINVAL);
	assert_ptr_equal(mcast_find(fx.last_qp->dev, group), g);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, ud), -EBUSY);
	assert_int_equal(mcast_lid(out, ud, group, 0), 0);
	assert_null(mcast_find(fx.last_qp->dev, group));
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, ud), 0);
	/* Closing the file detaches what is attached. */
	ud = mk_ud(false);
	assert_int_equal(mcast_lid(in, ud, group, 1), 0);
	assert_int_equal(mcast_lid(in, ud, group, 2), 0);
}

#define TRANS 1u
#define PD 2u
#define ACCESS 4u

/* A refused call leaves keys, range and PD unchanged. */
static void test_rereg_mr(void **state)
{
	const uint32_t local = IB_UVERBS_ACCESS_LOCAL_WRITE;
	uint32_t h = mk_mr(fx.pd), other = mk_pd(), key;
	struct ib_uverbs_rereg_mr *m;
	struct mr *mr = object(h);
	struct cmd c;
	static const struct { uint32_t flags, access; bool bad_pd, skew, hole; int want; } t[] = {
		{ 0, 0, false, false, false, -EINVAL },
		{ 8, 0, false, false, false, -EOPNOTSUPP },
		{ 0x80000001, 0, false, false, false, -EOPNOTSUPP },
		{ TRANS, 0, false, true, false, -EINVAL },
		{ TRANS, 0, false, false, true, -EFAULT },
		{ PD, 0, true, false, false, -ENOENT },
		{ ACCESS, IB_UVERBS_ACCESS_REMOTE_WRITE, false, false, false, -EINVAL },
		{ ACCESS, 1u << 15, false, false, false, -EINVAL },
		/* Access is checked before the PD. */
		{ PD | ACCESS, IB_UVERBS_ACCESS_REMOTE_ATOMIC, true, false, false, -EINVAL },
		{ TRANS | PD | ACCESS, local, true, false, true, -ENOENT },
	};

	for (size_t n = 0; n < ARRAY_SIZE(t); n++) {
		sample(IB_USER_VERBS_CMD_REREG_MR, false, &c);
		m = REQ_OF(c, ib_uverbs_rereg_mr);
		*m = (struct ib_uverbs_rereg_mr){
			.mr_handle = h, .flags = t[n].flags, .access_flags = t[n].access,
			.pd_handle = t[n].bad_pd ? 1000 : other, .length = 64,
			.start = (uintptr_t)(t[n].hole ? unmapped : arena) + 32 };
		m->hca_va = m->start ^ t[n].skew;
		key = mr->lkey;
		assert_int_equal(run(BY_WRITE, &c), t[n].want);
		assert_int_equal(mr->lkey, key);
		assert_int_equal(mr->rkey, key);
		assert_ptr_equal(mr->pd, object(fx.pd));
		assert_int_equal(fx.td->dev.keys[mr->index].length, 4096);
	}
	*m = (struct ib_uverbs_rereg_mr){ .mr_handle = h, .flags = TRANS | PD | ACCESS,
		.access_flags = local, .pd_handle = other, .length = 64,
		.start = (uintptr_t)arena + 32, .hca_va = 0x7000000000000020ull };
	m->hca_va = (m->hca_va & ~4095ull) | (m->start & 4095);
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(RESP(c, ib_uverbs_rereg_mr_resp)->lkey, mr->lkey);
	assert_int_equal(RESP(c, ib_uverbs_rereg_mr_resp)->rkey, 0);
	assert_ptr_equal(mr->pd, object(other));
	assert_int_equal(fx.td->dev.keys[mr->index].length, 64);
	assert_int_equal(fx.td->dev.keys[mr->index].iova, m->hca_va);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, other), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, h), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, other), 0);
}

static int advise(uint32_t pd, uint64_t advice, uint64_t flags, const struct ib_uverbs_sge *sge,
		  uint16_t len)
{
	struct ioc i;

	ioc_init(&i, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	ioc_add(&i, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 0, pd);
	ioc_add(&i, UVERBS_ATTR_ADVISE_MR_ADVICE, 8, advice);
	ioc_add(&i, UVERBS_ATTR_ADVISE_MR_FLAGS, 4, flags);
	ioc_add(&i, UVERBS_ATTR_ADVISE_MR_SGE_LIST, len, (uintptr_t)sge);
	return ioc_run(&i);
}

static void test_advise_mr(void **state)
{
	const struct mr *mr = object(fx.mr);
	struct ib_uverbs_sge *sge = arena_get(2 * sizeof(*sge));
	uint32_t other = mk_pd(), ro;
	struct cmd c;

	sge[0] = sge[1] = (struct ib_uverbs_sge){ (uintptr_t)arena + 16, 4096, mr->lkey };
	for (uint64_t advice = 0; advice < 3; advice++)
		for (uint64_t flags = 0; flags < 2; flags++)
			assert_int_equal(advise(fx.pd, advice, flags, sge, 32), 0);
	assert_int_equal(advise(fx.pd, 3, 0, sge, 32), -EOPNOTSUPP);
	assert_int_equal(advise(fx.pd, 1ull << 32, 0, sge, 32), -EINVAL);
	assert_int_equal(advise(fx.pd, 0, 2, sge, 32), -EINVAL);
	assert_int_equal(advise(fx.pd, 0, 0, sge, 24), -EINVAL);
	assert_int_equal(advise(fx.pd, 0, 0, sge, 0), -EINVAL);
	assert_int_equal(advise(other, 0, 0, sge, 32), -EPERM);
	sge[1].length++;
	assert_int_equal(advise(fx.pd, 0, 0, sge, 32), -EFAULT);
	sge[1].lkey ^= 1;
	assert_int_equal(advise(fx.pd, 0, 0, sge, 32), -ENOENT);
	sge[1].lkey = UINT32_MAX;
	assert_int_equal(advise(fx.pd, 0, 0, sge, 32), -ENOENT);

	sample(IB_USER_VERBS_CMD_REG_MR, false, &c);
	REQ_OF(c, ib_uverbs_reg_mr)->access_flags = 0;
	assert_int_equal(run(BY_WRITE, &c), 0);
	ro = RESP(c, ib_uverbs_reg_mr_resp)->lkey;
	sge[0] = (struct ib_uverbs_sge){ (uintptr_t)arena + 16, 100, ro };
	assert_int_equal(advise(fx.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH, 1, sge, 16), 0);
	assert_int_equal(advise(fx.pd, IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE, 1, sge, 16),
			 -EPERM);
}

/* ON_DEMAND permits the registration of unmapped memory. */
static void test_on_demand(void **state)
{
	struct ib_uverbs_reg_mr *m;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_REG_MR, false, &c);
	m = REQ_OF(c, ib_uverbs_reg_mr);
	m->start = m->hca_va = (uintptr_t)unmapped;
	m->length = 4096;
	m->access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_HUGETLB;
	assert_int_equal(run(BY_WRITE, &c), -EFAULT);
	m->access_flags |= IB_UVERBS_ACCESS_ON_DEMAND;
	assert_int_equal(run(BY_WRITE, &c), 0);
	m->start = m->hca_va = 0;
	m->length = UINT64_MAX;
	assert_int_equal(run(BY_WRITE, &c), 0);
	m->access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
}

/* Closing the file destroys all objects. */
static void test_close_destroys_all(void **state)
{
	uint32_t srq = mk_srq(fx.pd);
	struct cmd c;

	sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c);
	REQ_OF(c, ib_uverbs_create_qp)->is_srq = 1;
	REQ_OF(c, ib_uverbs_create_qp)->srq_handle = srq;
	assert_int_equal(run(BY_WRITE, &c), 0);
	mk_ud(true);
	mk_mw(fx.pd);
	uverbs_close(fx.f);
	fx.f = NULL;
	assert_int_equal(fx.td->uctx.npd, 0);
	assert_int_equal(fx.td->uctx.nsrq, 0);
	assert_int_equal(fx.td->uctx.nmw, 0);
	assert_int_equal(fx.td->rings, 0);
	assert_true(list_empty(&fx.td->dev.mcgs));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup_objects, teardown)
	const struct CMUnitTest tests[] = {
		T(test_srq_create), T(test_srq_create_types), T(test_srq_modify),
		T(test_srq_busy), T(test_qp_create_with_srq), T(test_mw), T(test_mcast),
		T(test_mcast_lids),
		T(test_rereg_mr), T(test_advise_mr), T(test_on_demand),
		T(test_close_destroys_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
