/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A valid call of each enabled write() command (sample()) and ioctl method (ioc_sample()), and
 * functions that create one object each. The tests in this directory start from these calls and
 * change one thing in them.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "fixture.h"

#define REQ(c, type) ((c)->in = sizeof(struct type), (struct type *)&(c)->req)
#define ACCESS_ALL (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | \
		    IB_UVERBS_ACCESS_REMOTE_READ)

uint32_t mk_pd(void)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_ALLOC_PD, false, &c));
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(uint32_t *)(uintptr_t)c.resp;
}

uint32_t mk_cq(void)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_CREATE_CQ, false, &c));
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(uint32_t *)(uintptr_t)c.resp;
}

uint32_t mk_mr(uint32_t pd)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_REG_MR, false, &c));
	((struct ib_uverbs_reg_mr *)&c.req)->pd_handle = pd;
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(uint32_t *)(uintptr_t)c.resp;
}

uint32_t mk_ah(uint32_t pd)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_CREATE_AH, false, &c));
	((struct ib_uverbs_create_ah *)&c.req)->pd_handle = pd;
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(uint32_t *)(uintptr_t)c.resp;
}

static void qp_request(struct cmd *c, uint32_t pd, uint32_t cq)
{
	struct ib_uverbs_create_qp *q = REQ(c, ib_uverbs_create_qp);

	q->user_handle = 0x9999;
	q->pd_handle = pd;
	q->send_cq_handle = q->recv_cq_handle = cq;
	q->max_send_wr = q->max_recv_wr = 10;
	q->max_send_sge = q->max_recv_sge = 1;
	q->qp_type = IB_UVERBS_QPT_RC;
	c->drv_out = sizeof(struct rxe_create_qp_resp);
}

uint32_t mk_qp(uint32_t pd, uint32_t cq)
{
	struct cmd c = { .nr = IB_USER_VERBS_CMD_CREATE_QP };

	qp_request(&c, pd, cq);
	c.out = sizeof(struct ib_uverbs_create_qp_resp);
	c.resp = (uintptr_t)arena_get(c.out + c.drv_out);
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(uint32_t *)(uintptr_t)c.resp;
}

int mk_channel(void)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, false, &c));
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(int *)(uintptr_t)c.resp;
}

uint32_t mk_srq(uint32_t pd)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_CREATE_SRQ, false, &c));
	((struct ib_uverbs_create_srq *)&c.req)->pd_handle = pd;
	assert_int_equal(run(BY_WRITE, &c), 0);
	return *(uint32_t *)(uintptr_t)c.resp;
}

uint32_t mk_mw(uint32_t pd)
{
	struct cmd c;

	assert_true(sample(IB_USER_VERBS_CMD_ALLOC_MW, false, &c));
	((struct ib_uverbs_alloc_mw *)&c.req)->pd_handle = pd;
	assert_int_equal(run(BY_WRITE, &c), 0);
	/* The response has the rkey before the handle. */
	return ((struct ib_uverbs_alloc_mw_resp *)(uintptr_t)c.resp)->mw_handle;
}

const uint8_t sample_mgid[16] = { 0xff, 0x0e, [15] = 1 };

uint32_t mk_ud(bool attached)
{
	struct cmd c;
	uint32_t qp;

	assert_true(sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c));
	((struct ib_uverbs_create_qp *)&c.req)->qp_type = IB_UVERBS_QPT_UD;
	assert_int_equal(run(BY_WRITE, &c), 0);
	qp = *(uint32_t *)(uintptr_t)c.resp;
	if (attached) {
		struct ib_uverbs_attach_mcast *a;

		memset(&c, 0, sizeof(c));
		c.nr = IB_USER_VERBS_CMD_ATTACH_MCAST;
		a = REQ(&c, ib_uverbs_attach_mcast);
		a->qp_handle = qp;
		memcpy(a->gid, sample_mgid, 16);
		assert_int_equal(run(BY_WRITE, &c), 0);
	}
	return qp;
}

int destroy(uint32_t nr, uint32_t handle)
{
	struct cmd c = { .nr = nr };
	const struct write_row *row = row_of(&c);

	c.in = row->req_size;
	c.out = row->resp_size;
	if (c.out)
		c.resp = (uintptr_t)arena_get(c.out);
	memcpy(c.req.b + (row->has_resp ? 8 : 0), &handle, sizeof(handle));
	return run(BY_WRITE, &c);
}

static const uint32_t to_init = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
static const uint32_t to_rtr = IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
	IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
static const uint32_t to_rts = IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
	IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC;

struct ib_uverbs_modify_qp *modify_request(struct cmd *c, uint32_t qp, enum qp_state s)
{
	struct ib_uverbs_modify_qp *m;

	memset(c, 0, sizeof(*c));
	c->nr = IB_USER_VERBS_CMD_MODIFY_QP;
	m = REQ(c, ib_uverbs_modify_qp);
	m->qp_handle = qp;
	m->qp_state = s;
	m->attr_mask = s == QPS_INIT ? to_init : s == QPS_RTR ? to_rtr :
		       s == QPS_RTS ? to_rts : IB_QP_STATE;
	m->port_num = 1;
	m->qp_access_flags = ACCESS_ALL;
	m->dest.is_global = 1;
	m->dest.port_num = 1;
	m->dest.sgid_index = 1;
	m->dest.sl = 3;
	memcpy(m->dest.dgid, fx.td->dev.gid[1].raw, 16);
	m->path_mtu = 3;
	m->dest_qp_num = 0x1234;
	m->rq_psn = 0xff000005;
	m->sq_psn = 7;
	m->max_dest_rd_atomic = 3;
	m->max_rd_atomic = 1;
	m->min_rnr_timer = 12;
	m->timeout = 14;
	m->retry_cnt = 7;
	m->rnr_retry = 6;
	return m;
}

int to_state(uint32_t qp, enum qp_state s)
{
	struct cmd c;

	modify_request(&c, qp, s);
	return run(BY_WRITE, &c);
}

static bool sample_create(uint32_t nr, struct cmd *c)
{
	switch (nr) {
	case IB_USER_VERBS_CMD_GET_CONTEXT:
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
	case IB_USER_VERBS_CMD_ALLOC_PD:
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		return true;
	case IB_USER_VERBS_CMD_QUERY_PORT:
		REQ(c, ib_uverbs_query_port)->port_num = 1;
		return true;
	case IB_USER_VERBS_CMD_CREATE_AH: {
		struct ib_uverbs_create_ah *a = REQ(c, ib_uverbs_create_ah);

		a->pd_handle = fx.pd;
		a->attr.port_num = 1;
		a->attr.is_global = 1;
		a->attr.grh.sgid_index = 1;
		memcpy(a->attr.grh.dgid, fx.td->dev.gid[1].raw, 16);
		c->drv_out = sizeof(struct rxe_create_ah_resp);
		return true;
	}
	case IB_USER_VERBS_CMD_REG_MR: {
		struct ib_uverbs_reg_mr *m = REQ(c, ib_uverbs_reg_mr);

		m->start = m->hca_va = (uintptr_t)arena + 16;
		m->length = 4096;
		m->pd_handle = fx.pd;
		m->access_flags = ACCESS_ALL;
		return true;
	}
	case IB_USER_VERBS_CMD_CREATE_CQ: {
		struct ib_uverbs_create_cq *q = REQ(c, ib_uverbs_create_cq);

		q->user_handle = 0x7777;
		q->cqe = 10;
		q->comp_channel = fx.channel ? fx.channel : -1;
		c->drv_out = sizeof(struct rxe_create_cq_resp);
		return true;
	}
	case IB_USER_VERBS_CMD_CREATE_QP:
		qp_request(c, fx.pd, fx.cq);
		return true;
	}
	return false;
}

static bool sample_other(uint32_t nr, struct cmd *c)
{
	switch (nr) {
	case IB_USER_VERBS_CMD_DEALLOC_PD:
		REQ(c, ib_uverbs_dealloc_pd)->pd_handle = mk_pd();
		return true;
	case IB_USER_VERBS_CMD_DESTROY_AH:
		REQ(c, ib_uverbs_destroy_ah)->ah_handle = mk_ah(fx.pd);
		return true;
	case IB_USER_VERBS_CMD_DEREG_MR:
		REQ(c, ib_uverbs_dereg_mr)->mr_handle = mk_mr(fx.pd);
		return true;
	case IB_USER_VERBS_CMD_DESTROY_CQ:
		REQ(c, ib_uverbs_destroy_cq)->cq_handle = mk_cq();
		return true;
	case IB_USER_VERBS_CMD_RESIZE_CQ: {
		struct ib_uverbs_resize_cq *q = REQ(c, ib_uverbs_resize_cq);

		q->cq_handle = fx.cq;
		q->cqe = 20;
		c->drv_out = sizeof(struct rxe_resize_cq_resp);
		return true;
	}
	case IB_USER_VERBS_CMD_REQ_NOTIFY_CQ:
		REQ(c, ib_uverbs_req_notify_cq)->cq_handle = fx.cq;
		return true;
	case IB_USER_VERBS_CMD_QUERY_QP:
		REQ(c, ib_uverbs_query_qp)->qp_handle = fx.qp;
		return true;
	case IB_USER_VERBS_CMD_MODIFY_QP:
		modify_request(c, mk_qp(fx.pd, fx.cq), QPS_INIT);
		return true;
	case IB_USER_VERBS_CMD_DESTROY_QP:
		REQ(c, ib_uverbs_destroy_qp)->qp_handle = mk_qp(fx.pd, fx.cq);
		return true;
	case IB_USER_VERBS_CMD_POST_SEND: {
		struct ib_uverbs_post_send *p = REQ(c, ib_uverbs_post_send);

		p->qp_handle = fx.qp;
		p->wqe_size = 128;
		return true;
	}
	}
	return false;
}

static bool sample_srq(uint32_t nr, struct cmd *c)
{
	switch (nr) {
	case IB_USER_VERBS_CMD_CREATE_SRQ: {
		struct ib_uverbs_create_srq *q = REQ(c, ib_uverbs_create_srq);

		q->user_handle = 0x5555;
		q->pd_handle = fx.pd;
		q->max_wr = 10;
		q->max_sge = 2;
		c->drv_out = sizeof(struct rxe_create_srq_resp);
		return true;
	}
	case IB_USER_VERBS_CMD_CREATE_XSRQ: {
		struct ib_uverbs_create_xsrq *q = REQ(c, ib_uverbs_create_xsrq);

		q->pd_handle = fx.pd;
		q->max_wr = 10;
		q->srq_type = IB_UVERBS_SRQT_BASIC;
		c->drv_out = sizeof(struct rxe_create_srq_resp);
		return true;
	}
	case IB_USER_VERBS_CMD_MODIFY_SRQ: {
		struct ib_uverbs_modify_srq *q = REQ(c, ib_uverbs_modify_srq);

		q->srq_handle = mk_srq(fx.pd);
		q->attr_mask = 2;
		q->srq_limit = 3;
		c->drv_in = sizeof(struct rxe_modify_srq_cmd);
		return true;
	}
	case IB_USER_VERBS_CMD_QUERY_SRQ:
		REQ(c, ib_uverbs_query_srq)->srq_handle = mk_srq(fx.pd);
		return true;
	case IB_USER_VERBS_CMD_DESTROY_SRQ:
		REQ(c, ib_uverbs_destroy_srq)->srq_handle = mk_srq(fx.pd);
		return true;
	}
	return false;
}

static bool sample_mw(uint32_t nr, struct cmd *c)
{
	switch (nr) {
	case IB_USER_VERBS_CMD_ALLOC_MW: {
		struct ib_uverbs_alloc_mw *m = REQ(c, ib_uverbs_alloc_mw);

		m->pd_handle = fx.pd;
		m->mw_type = 1;
		return true;
	}
	case IB_USER_VERBS_CMD_DEALLOC_MW:
		REQ(c, ib_uverbs_dealloc_mw)->mw_handle = mk_mw(fx.pd);
		return true;
	case IB_USER_VERBS_CMD_REREG_MR: {
		struct ib_uverbs_rereg_mr *m = REQ(c, ib_uverbs_rereg_mr);

		m->mr_handle = mk_mr(fx.pd);
		m->flags = 4;
		m->access_flags = IB_UVERBS_ACCESS_LOCAL_WRITE;
		return true;
	}
	case IB_USER_VERBS_CMD_ATTACH_MCAST: {
		struct ib_uverbs_attach_mcast *m = REQ(c, ib_uverbs_attach_mcast);

		m->qp_handle = mk_ud(false);
		memcpy(m->gid, sample_mgid, 16);
		return true;
	}
	case IB_USER_VERBS_CMD_DETACH_MCAST: {
		struct ib_uverbs_detach_mcast *m = REQ(c, ib_uverbs_detach_mcast);

		m->qp_handle = mk_ud(true);
		memcpy(m->gid, sample_mgid, 16);
		return true;
	}
	}
	return false;
}

static bool sample_ex(uint32_t nr, struct cmd *c)
{
	switch (nr) {
	case IB_USER_VERBS_EX_CMD_QUERY_DEVICE:
		return true;
	case IB_USER_VERBS_EX_CMD_CREATE_CQ: {
		struct ib_uverbs_ex_create_cq *q = REQ(c, ib_uverbs_ex_create_cq);

		q->cqe = 10;
		q->comp_channel = -1;
		c->drv_out = sizeof(struct rxe_create_cq_resp);
		return true;
	}
	case IB_USER_VERBS_EX_CMD_CREATE_QP: {
		struct ib_uverbs_ex_create_qp *q = REQ(c, ib_uverbs_ex_create_qp);

		q->pd_handle = fx.pd;
		q->send_cq_handle = q->recv_cq_handle = fx.cq;
		q->max_send_wr = q->max_recv_wr = 4;
		q->max_send_sge = q->max_recv_sge = 1;
		q->qp_type = IB_UVERBS_QPT_RC;
		c->drv_out = sizeof(struct rxe_create_qp_resp);
		return true;
	}
	case IB_USER_VERBS_EX_CMD_MODIFY_QP:
		modify_request(c, mk_qp(fx.pd, fx.cq), QPS_INIT);
		return true;
	}
	return false;
}

bool sample(uint32_t nr, bool ex, struct cmd *c)
{
	bool known;

	memset(c, 0, sizeof(*c));
	known = ex ? sample_ex(nr, c) : sample_create(nr, c) || sample_other(nr, c) ||
				       sample_srq(nr, c) || sample_mw(nr, c);
	c->nr = nr;
	c->ex = ex;
	c->in = row_of(c)->req_size;
	c->out = row_of(c)->resp_size;
	if (c->out + c->drv_out)
		c->resp = (uintptr_t)arena_get(c->out + c->drv_out);
	return known;
}

static void ioc_out(struct ioc *i, uint16_t id, uint16_t len)
{
	ioc_add(i, id, len, (uintptr_t)arena_get(len));
}

static void ioc_qp_create(struct ioc *i)
{
	struct ib_uverbs_qp_cap *cap = arena_get(sizeof(*cap));

	*cap = (struct ib_uverbs_qp_cap){ 10, 10, 1, 1, 0 };
	ioc_add(i, UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, fx.pd);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, fx.cq);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, fx.cq);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0x9999);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_CAP, sizeof(*cap), (uintptr_t)cap);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_TYPE, 8, IB_UVERBS_QPT_RC);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_FLAGS, 4, IB_UVERBS_QP_CREATE_SQ_SIG_ALL);
	ioc_add(i, UVERBS_ATTR_CREATE_QP_EVENT_FD, 0, (uint64_t)fx.async);
	ioc_out(i, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(*cap));
	ioc_out(i, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, sizeof(struct rxe_create_qp_resp));
}

static void ioc_cq_create(struct ioc *i)
{
	ioc_add(i, UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0);
	ioc_add(i, UVERBS_ATTR_CREATE_CQ_CQE, 4, 10);
	ioc_add(i, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0x7777);
	ioc_add(i, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, (uint64_t)fx.channel);
	ioc_add(i, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 1);
	ioc_out(i, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
	ioc_add(i, UVERBS_ATTR_CREATE_CQ_EVENT_FD, 0, (uint64_t)fx.async)->flags = 0;
	ioc_out(i, UVERBS_ATTR_UHW_OUT, sizeof(struct rxe_create_cq_resp));
}

static bool ioc_sample_device(uint16_t method, struct ioc *i, int *expect)
{
	switch (method) {
	case UVERBS_METHOD_INVOKE_WRITE:
		ioc_add(i, UVERBS_ATTR_WRITE_CMD, 8, IB_USER_VERBS_CMD_ALLOC_PD);
		ioc_add(i, UVERBS_ATTR_CORE_IN, 8, 0);
		ioc_out(i, UVERBS_ATTR_CORE_OUT, 4);
		return true;
	case UVERBS_METHOD_INFO_HANDLES:
		ioc_add(i, UVERBS_ATTR_INFO_OBJECT_ID, 8, UVERBS_OBJECT_PD);
		ioc_out(i, UVERBS_ATTR_INFO_TOTAL_HANDLES, 4);
		ioc_out(i, UVERBS_ATTR_INFO_HANDLES_LIST, 64);
		return true;
	case UVERBS_METHOD_QUERY_PORT:
		ioc_add(i, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 8, 1);
		ioc_out(i, UVERBS_ATTR_QUERY_PORT_RESP, 48);
		return true;
	case UVERBS_METHOD_GET_CONTEXT:
		ioc_out(i, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4);
		ioc_out(i, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8);
		*expect = fx.f->has_context ? -EINVAL : 0;
		return true;
	case UVERBS_METHOD_QUERY_CONTEXT:
		ioc_out(i, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4);
		*expect = -EOPNOTSUPP;
		return true;
	case UVERBS_METHOD_QUERY_GID_TABLE:
		ioc_add(i, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 8, 32);
		ioc_add(i, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4, 0);
		ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 128);
		ioc_out(i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8);
		return true;
	case UVERBS_METHOD_QUERY_GID_ENTRY:
		ioc_add(i, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 8, 1);
		ioc_add(i, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 8, 1);
		ioc_add(i, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, 0);
		ioc_out(i, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, 32);
		return true;
	}
	return false;
}

static uint32_t key_of(uint32_t mr)
{
	return ((struct mr *)((struct uobj *)idtable_find(&fx.f->ids, mr))->obj)->lkey;
}

static void ioc_srq_create(struct ioc *i)
{
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, 0);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, 0, fx.pd);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_TYPE, 8, IB_UVERBS_SRQT_BASIC);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8, 0x5555);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4, 10);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, 2);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_LIMIT, 4, 0);
	ioc_add(i, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, 0, (uint64_t)fx.async)->flags = 0;
	ioc_out(i, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	ioc_out(i, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	ioc_out(i, UVERBS_ATTR_UHW_OUT, sizeof(struct rxe_create_srq_resp));
}

static bool ioc_sample_mr(uint16_t method, struct ioc *i, int *expect)
{
	struct ib_uverbs_sge *sge;

	switch (method) {
	case UVERBS_METHOD_MR_DESTROY:
		ioc_add(i, UVERBS_ATTR_DESTROY_MR_HANDLE, 0, mk_mr(fx.pd));
		return true;
	case UVERBS_METHOD_ADVISE_MR:
		ioc_add(i, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 0, fx.pd);
		ioc_add(i, UVERBS_ATTR_ADVISE_MR_ADVICE, 8, 0);
		ioc_add(i, UVERBS_ATTR_ADVISE_MR_FLAGS, 4, 0);
		sge = arena_get(sizeof(*sge));
		*sge = (struct ib_uverbs_sge){ (uintptr_t)arena + 16, 100, key_of(fx.mr) };
		ioc_add(i, UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(*sge), (uintptr_t)sge);
		return true;
	case UVERBS_METHOD_QUERY_MR:
		ioc_add(i, UVERBS_ATTR_QUERY_MR_HANDLE, 0, fx.mr);
		ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4);
		ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4);
		ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8);
		ioc_out(i, UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8);
		return true;
	case UVERBS_METHOD_REG_DMABUF_MR:
		ioc_add(i, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
		ioc_add(i, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0, fx.pd);
		ioc_add(i, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8, 0);
		ioc_add(i, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8, 0);
		ioc_add(i, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8, 0);
		ioc_add(i, UVERBS_ATTR_REG_DMABUF_MR_FD, 4, 0);
		ioc_out(i, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4);
		ioc_out(i, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4);
		*expect = -EOPNOTSUPP;
		return true;
	}
	return false;
}

bool ioc_sample(const struct method_spec *m, struct ioc *i, int *expect)
{
	ioc_init(i, m->object, m->method);
	*expect = 0;
	switch (m->object) {
	case UVERBS_OBJECT_DEVICE:
		return ioc_sample_device(m->method, i, expect);
	case UVERBS_OBJECT_MR:
		return ioc_sample_mr(m->method, i, expect);
	case UVERBS_OBJECT_PD:
		ioc_add(i, UVERBS_ATTR_DESTROY_PD_HANDLE, 0, mk_pd());
		return true;
	case UVERBS_OBJECT_AH:
		ioc_add(i, UVERBS_ATTR_DESTROY_AH_HANDLE, 0, mk_ah(fx.pd));
		return true;
	case UVERBS_OBJECT_ASYNC_EVENT:
		ioc_add(i, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0, 0);
		return true;
	case UVERBS_OBJECT_CQ:
		if (m->method == UVERBS_METHOD_CQ_CREATE) {
			ioc_cq_create(i);
		} else {
			ioc_add(i, UVERBS_ATTR_DESTROY_CQ_HANDLE, 0, mk_cq());
			ioc_out(i, UVERBS_ATTR_DESTROY_CQ_RESP, 8);
		}
		return true;
	case UVERBS_OBJECT_MW:
		ioc_add(i, UVERBS_ATTR_DESTROY_MW_HANDLE, 0, mk_mw(fx.pd));
		return true;
	case UVERBS_OBJECT_SRQ:
		if (m->method == UVERBS_METHOD_SRQ_CREATE) {
			ioc_srq_create(i);
		} else {
			ioc_add(i, UVERBS_ATTR_DESTROY_SRQ_HANDLE, 0, mk_srq(fx.pd));
			ioc_out(i, UVERBS_ATTR_DESTROY_SRQ_RESP, 4);
		}
		return true;
	case UVERBS_OBJECT_QP:
		if (m->method == UVERBS_METHOD_QP_CREATE) {
			ioc_qp_create(i);
		} else {
			ioc_add(i, UVERBS_ATTR_DESTROY_QP_HANDLE, 0, mk_qp(fx.pd, fx.cq));
			ioc_out(i, UVERBS_ATTR_DESTROY_QP_RESP, 4);
		}
		return true;
	}
	return false;
}
