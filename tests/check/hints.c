/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What works, and may be wanted: attributes, sizes, and objects that are left. */
#include "check.h"

static void peer_none(struct run *r)
{
	(void)r;
}

static struct ibv_qp *qp_open(const struct end *e, struct ibv_cq *cq, uint32_t depth,
			      uint32_t sges)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };
	struct ibv_qp *qp;

	init.cap.max_send_wr = init.cap.max_recv_wr = depth;
	init.cap.max_send_sge = init.cap.max_recv_sge = sges;
	NEED(qp = ibv_create_qp(e->pd, &init)); /* cq-sized */
	return qp;
}

/* Attributes of a QP that is connected to itself. */
struct path {
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
};

static void path_set(const struct end *e, const struct path *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	struct ibv_qp *qp = qp_open(e, e->cq, 4, 1);

	NEED(!ibv_modify_qp(qp, &attr, init));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	attr.min_rnr_timer = p->min_rnr_timer;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.hop_limit = 1;
	attr.ah_attr.grh.sgid_index = end_gid(e, &attr.ah_attr.grh.dgid);
	NEED(!ibv_modify_qp(qp, &attr, rtr)); /* rnr-timer */
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = p->timeout;
	attr.retry_cnt = p->retry_cnt;
	attr.rnr_retry = p->rnr_retry;
	NEED(!ibv_modify_qp(qp, &attr, rts)); /* retry timeout */
	NEED(!ibv_destroy_qp(qp));
}

static void rnr_timer(struct run *r)
{
	path_set(&r->me, &(struct path){ 14, 7, 6, r->wrong ? 0 : 12 });
}

static void timeout(struct run *r)
{
	path_set(&r->me, &(struct path){ r->wrong ? 0 : 14, 7, 6, 12 });
}

static void retry(struct run *r)
{
	path_set(&r->me, &(struct path){ 14, 7, r->wrong ? 7 : 6, 12 });
}

/* An address handle from entry 0 of the GID table to itself. */
static void gid_index(struct run *r)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .grh.hop_limit = 1 };
	uint8_t index = end_gid(&r->me, &attr.grh.dgid);
	struct ibv_ah *ah;

	NEED(index);
	if (r->wrong)
		NEED(!ibv_query_gid(r->me.ctx, 1, index = 0, &attr.grh.dgid));
	attr.grh.sgid_index = index;
	NEED(ah = ibv_create_ah(r->me.pd, &attr)); /* gid-index */
	NEED(!ibv_destroy_ah(ah));
}

/* A CQ for one QP that is used by two. */
static void cq_sized(struct run *r)
{
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, r->wrong ? 12 : 16, NULL, NULL, 0);
	struct ibv_qp *one, *two;

	NEED(cq);
	one = qp_open(&r->me, cq, 4, 1);
	two = qp_open(&r->me, cq, 4, 1);
	NEED(!ibv_destroy_qp(one) && !ibv_destroy_qp(two) && !ibv_destroy_cq(cq));
}

static void beyond(struct run *r)
{
	struct ibv_cq *cq = ibv_create_cq(r->me.ctx, 32767, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };
	struct ibv_qp *qp;

	init.cap.max_send_wr = r->wrong ? 4064 : 4063;
	init.cap.max_recv_wr = 4063;
	init.cap.max_send_sge = init.cap.max_recv_sge = 6;
	NEED(cq && (qp = ibv_create_qp(r->me.pd, &init))); /* beyond */
	NEED(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
}

/* The peer sends four messages. */
static void few_receives(struct run *r)
{
	struct ibv_wc wc;

	for (int i = 0; i < 4 + !r->wrong; i++)
		post_recv(&r->me, 0, 64);
	say(r);
	for (int i = 0; i < 4; i++)
		poll_one(&r->me, &wc);
}

static void peer_sends(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	hear(r);
	for (int i = 0; i < 4; i++) {
		wr_make(&w, &r->me, IBV_WR_SEND, 0, 64);
		NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
		poll_one(&r->me, &wc);
	}
}

/* A region that is not deregistered. The program opens the device again, which nothing closes. */
static void left(struct run *r)
{
	struct ibv_context *ctx = ibv_open_device(r->me.ctx->device);
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	NEED(ctx && (pd = ibv_alloc_pd(ctx)));
	NEED(mr = ibv_reg_mr(pd, r, sizeof(*r), 0));
	if (!r->wrong)
		NEED(!ibv_dereg_mr(mr));
}

const struct named hints[] = {
	{ "rnr-timer", rnr_timer, peer_none }, { "timeout", timeout, peer_none },
	{ "retry", retry, peer_none },	       { "gid-index", gid_index, peer_none },
	{ "cq-sized", cq_sized, peer_none },   { "beyond", beyond, peer_none },
	{ "receives", few_receives, peer_sends },  { "left", left, peer_none },
	{ NULL, NULL, NULL },
};
