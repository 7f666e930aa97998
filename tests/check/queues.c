/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queues that cannot work with an adapter, and objects that end too early. */
#include "check.h"

static void peer_none(struct run *r)
{
	(void)r;
}

/* More requests without a completion than the queue has entries. */
static void unsignaled(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	struct wr w;

	NEED(!ibv_query_qp(r->me.qp, &attr, IBV_QP_CAP, &init));
	for (uint32_t i = 0; i < init.cap.max_send_wr + 1; i++) {
		wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 8);
		wr_remote(&w, &r->other, 0);
		if (r->wrong || i % 8 != 7)
			w.wr.send_flags = 0;
		while (ibv_post_send(r->me.qp, &w.wr, &bad)) /* unsignaled */
			;
		if (w.wr.send_flags)
			poll_one(&r->me, &wc);
	}
}

/* A CQ with room for fewer completions than are posted. */
static void cq_small(struct run *r)
{
	uint32_t most = (uint32_t)r->me.cq->cqe + 1, polled = 0;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	for (uint32_t i = 0; i < most; i++) {
		wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 8);
		wr_remote(&w, &r->other, 0);
		while (ibv_post_send(r->me.qp, &w.wr, &bad)) /* cq-small */
			;
		if (r->wrong)
			continue;
		poll_one(&r->me, &wc);
		polled++;
	}
	NEED(r->wrong || polled == most);
}

/* A UD QP of this process, and the way to itself. */
struct ud {
	struct ibv_qp *qp;
	struct ibv_ah *ah;
};

static void ud_open(struct ud *u, struct end *e)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 5 };
	struct ibv_ah_attr ah = { .port_num = 1, .is_global = 1, .grh.hop_limit = 1 };

	init.send_cq = init.recv_cq = e->cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = 4;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED(u->qp = ibv_create_qp(e->pd, &init));
	NEED(!ibv_modify_qp(u->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(u->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(u->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	ah.grh.sgid_index = end_gid(e, &ah.grh.dgid);
	NEED(u->ah = ibv_create_ah(e->pd, &ah));
}

/* A receive without room for a GRH. */
static void ud_short(struct run *r)
{
	struct ibv_sge sge = { (uintptr_t)r->me.buf, r->wrong ? 40 : 41, r->me.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ud u;

	ud_open(&u, &r->me);
	NEED(!ibv_post_recv(u.qp, &wr, &bad)); /* ud-short */
	NEED(!ibv_destroy_ah(u.ah) && !ibv_destroy_qp(u.qp));
}

/* An address handle that ends before the completion. */
static void ah_ended(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct ud u;
	struct wr w;

	ud_open(&u, &r->me);
	wr_make(&w, &r->me, IBV_WR_SEND, 0, 8);
	w.wr.wr.ud.ah = u.ah;
	w.wr.wr.ud.remote_qpn = u.qp->qp_num;
	w.wr.wr.ud.remote_qkey = 5;
	NEED(!ibv_post_send(u.qp, &w.wr, &bad)); /* ah-ended */
	if (r->wrong)
		NEED(!ibv_destroy_ah(u.ah));
	poll_one(&r->me, &wc);
	if (!r->wrong)
		NEED(!ibv_destroy_ah(u.ah));
	NEED(!ibv_destroy_qp(u.qp));
}

/* A window that ends before its bind is complete. */
static void mw_ended(struct run *r)
{
	struct ibv_mw *mw = ibv_alloc_mw(r->me.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_BIND_MW }, *bad;
	struct ibv_wc wc;
	struct ibv_mr *mr;

	NEED(mw && (mr = ibv_reg_mr(r->me.pd, r->me.buf, SIZE,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)));
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)r->me.buf, 64,
							  IBV_ACCESS_REMOTE_READ };
	NEED(!ibv_post_send(r->me.qp, &wr, &bad)); /* mw-ended */
	if (r->wrong)
		NEED(!ibv_dealloc_mw(mw));
	poll_one(&r->me, &wc);
	if (!r->wrong)
		NEED(!ibv_dealloc_mw(mw));
	NEED(!ibv_dereg_mr(mr));
}

/* Lawful: fields that are not defined hold a pattern; those that are defined do not. */
static void wc_fields(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	hear(r);
	wr_make(&w, &r->me, IBV_WR_SEND, 0, 64);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	NEED(wc.imm_data == 0xa5a5a5a5 && wc.src_qp == 0xa5a5a5a5 && wc.opcode == IBV_WC_SEND);
	hear(r);
	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 64);
	wr_remote(&w, &r->other, 0);
	w.wr.wr.rdma.rkey ^= 0xff;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	while (!ibv_poll_cq(r->me.cq, 1, &wc))
		;
	NEED(wc.status == IBV_WC_REM_ACCESS_ERR && wc.wr_id == 7 && wc.qp_num == r->me.qp->qp_num);
	NEED(wc.opcode == (enum ibv_wc_opcode)0xa5a5a5a5 && wc.byte_len == 0xa5a5a5a5);
}

static void peer_fields(struct run *r)
{
	struct ibv_wc wc;

	post_recv(&r->me, 0, SIZE);
	say(r);
	poll_one(&r->me, &wc);
	NEED(wc.byte_len == 64 && wc.imm_data == 0xa5a5a5a5 && wc.opcode == IBV_WC_RECV);
	say(r);
}

/* A completion comes between the last poll and the arm. */
static void lost_wakeup(struct run *r)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(r->me.ctx);
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *arg;
	struct ud u;
	struct wr w;
	struct end e = r->me;
	struct ibv_send_wr *bad;

	NEED(channel && (e.cq = ibv_create_cq(e.ctx, 8, NULL, channel, 0)));
	ud_open(&u, &e);
	NEED(!ibv_poll_cq(e.cq, 1, &wc));
	wr_make(&w, &e, IBV_WR_SEND, 0, 8);
	w.wr.wr.ud.ah = u.ah;
	w.wr.wr.ud.remote_qpn = u.qp->qp_num;
	w.wr.wr.ud.remote_qkey = 5;
	NEED(!ibv_post_send(u.qp, &w.wr, &bad));
	NEED(!ibv_req_notify_cq(e.cq, 0)); /* lost-wakeup */
	if (r->wrong)
		NEED(!ibv_get_cq_event(channel, &cq, &arg));
	poll_one(&e, &wc);
	if (r->wrong)
		ibv_ack_cq_events(cq, 1);
	NEED(!ibv_destroy_ah(u.ah) && !ibv_destroy_qp(u.qp));
	NEED(!ibv_destroy_cq(e.cq) && !ibv_destroy_comp_channel(channel));
}

const struct named queues[] = {
	{ "unsignaled", unsignaled, peer_none }, { "cq-small", cq_small, peer_none },
	{ "ud-short", ud_short, peer_none },	 { "ah-ended", ah_ended, peer_none },
	{ "lost-wakeup", lost_wakeup, peer_none },
	{ "mw-ended", mw_ended, peer_none },	 { "wc-fields", wc_fields, peer_fields },
	{ NULL, NULL, NULL },
};
