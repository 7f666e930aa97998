/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder of UC (IBA 9.8.2.2). A message is delivered completely or not at all. On
 * any error the packet and the rest of its message are dropped silently; the first packet
 * of the next message sets the expected PSN. The receive WQE held by a dropped message is
 * used by the next one. The QP enters ERR if a receive WQE has too many scatter/gather
 * entries, if its SRQ has failed, or if the receive buffer cannot be written (key or address).
 */
#include "xport/resp_internal.h"
#include "xport/why.h"

/* Kind of the message that the segment belongs to. */
static enum resp_msg uc_msg_of(const struct seg *seg)
{
	return seg->type <= SEG_SEND_INV ? RESP_MSG_SEND : RESP_MSG_WRITE;
}

/* Ends the message in progress: its further packets are dropped. */
static void uc_drop_message(struct qp *qp)
{
	qp->resp.msg = RESP_MSG_NONE;
}

/* The reason for which uc_begin() or uc_place_write() drops a WRITE. left: bytes of the message that are not placed. */
static noinline __cold void uc_why_write(struct resp_ctx *c, uint32_t left)
{
	const struct qp_resp *r = &c->qp->resp;

	if (!(c->qp->attr.access & IB_UVERBS_ACCESS_REMOTE_WRITE))
		xp_why(c->qp, QP_ACCESS, c->qp->attr.access, IB_UVERBS_ACCESS_REMOTE_WRITE);
	else if (left > DEV_MAX_MSG)
		xp_why(c->qp, LENGTH_MAX, left, DEV_MAX_MSG);
	else
		xp_why_key(c->qp, r->rkey, r->va, left, IB_UVERBS_ACCESS_REMOTE_WRITE);
	xp_why_drop(c->qp, &xp_fail(c->qp)->why);
	xp_fail(c->qp)->why.id = WHY_NONE;
}

/* Starts a message at its FIRST or ONLY packet. False: the message is dropped. */
static bool uc_begin(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct qp_resp *r = &qp->resp;
	const struct seg *seg = c->seg;

	r->off = 0;
	if (uc_msg_of(seg) == RESP_MSG_SEND)
		return true;
	r->va = seg->va;
	r->rkey = seg->rkey;
	r->resid = seg->dma_len;
	if (qp->attr.access & IB_UVERBS_ACCESS_REMOTE_WRITE && r->resid <= DEV_MAX_MSG &&
	    (!r->resid || mr_check(qp->dev, qp->pd->id, qp->qpn, r->rkey, r->va, r->resid,
				   IB_UVERBS_ACCESS_REMOTE_WRITE, &c->addr) == MR_OK))
		return true;
	uc_why_write(c, r->resid);
	return false;
}

/* The receive WQE or its buffer is bad: fails the QP (IBA 9.9.3.1). */
static void uc_local_error(struct qp *qp, enum wc_status status)
{
	xp_enter_err(qp, true);
	xp_fail_recv(qp, status);
	xp_flush_sq(qp);
	xp_flush_rq(qp);
}

/* Copies the payload of a SEND to its receive buffer. False: the message is dropped, or the QP has failed. */
static bool uc_place_send(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct qp_resp *r = &qp->resp;
	struct iovec iov[SEG_MAX_IOV];
	int n;

	if (c->flags & SEG_F_START) {
		switch (recv_fetch(qp)) {
		case RECV_GOT:
			break;
		case RECV_NONE:
			xp_drop(qp, DROP_UC, 1);
			return false;
		case RECV_BAD:
			xp_why_bad_recv(qp);
			uc_local_error(qp, WC_LOC_QP_OP_ERR);
			return false;
		}
	}
	if (r->off + (uint64_t)c->len > r->room) {
		xp_drop(qp, LENGTH_RECV, r->off + (uint64_t)c->len, r->room);
		return false;
	}
	n = recv_iov(qp, r->off, c->len, iov);
	switch (n < 0 ? -EFAULT : xp_place(c->seg, 0, iov, n, c->len)) {
	case 0:
		return true;
	case -EFAULT:
		xp_why_recv(qp, r->off, c->len);
		uc_local_error(qp, WC_LOC_PROT_ERR);
		return false;
	default:
		return false;
	}
}

static bool uc_place_write(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct qp_resp *r = &qp->resp;
	struct iovec iov;

	if (c->flags & SEG_F_END ? c->len != r->resid : c->len >= r->resid) {
		xp_drop(qp, LENGTH_RETH, c->len, r->resid);
		return false;
	}
	if (!c->len)
		return true;
	/* The key may have been invalidated since the message began. */
	if (mr_check(qp->dev, qp->pd->id, qp->qpn, r->rkey, r->va, c->len,
		     IB_UVERBS_ACCESS_REMOTE_WRITE, &c->addr) != MR_OK) {
		uc_why_write(c, c->len);
		return false;
	}
	iov = (struct iovec){ c->addr, c->len };
	if (xp_place(c->seg, 0, &iov, 1, c->len)) {
		xp_drop(qp, MEM_GONE, (uintptr_t)c->addr, r->rkey);
		return false;
	}
	r->va += c->len;
	r->resid -= c->len;
	return true;
}

/* Completes the receive WQE of a SEND or of a WRITE with immediate. The latter fetches its WQE here. */
static void uc_complete(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct ib_uverbs_wc *wc;

	if (c->seg->type == SEG_WRITE)
		return;
	if (c->seg->type == SEG_WRITE_IMM) {
		switch (recv_fetch(qp)) {
		case RECV_GOT:
			break;
		case RECV_NONE:
			xp_drop(qp, DROP_UC, 1);
			return;
		case RECV_BAD:
			xp_why_bad_recv(qp);
			uc_local_error(qp, WC_LOC_QP_OP_ERR);
			return;
		}
	}
	wc = recv_wc(qp, qp->resp.off);
	if (!wc)
		return;
	wc->opcode = c->seg->type == SEG_WRITE_IMM ? WC_OP_RECV_RDMA_WITH_IMM : WC_OP_RECV;
	wc->wc_flags = WC_FLAG_GRH;
	if (c->seg->type != SEG_SEND) {
		wc->wc_flags |= WC_FLAG_IMM;
		wc->ex.imm_data = c->seg->imm;
	}
	cq_publish(qp->recv_cq, c->flags & SEG_F_SOLICITED);
}

static void uc_run(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct qp_resp *r = &qp->resp;
	const struct seg *seg = c->seg;

	/* Accept the expected PSN, or the first packet of a message; otherwise end the message. */
	if (c->psn != qp->card->epsn && !(c->flags & SEG_F_START)) {
		if (r->msg != RESP_MSG_NONE)
			xp_drop(qp, DROP_UC, 0);
		uc_drop_message(qp);
		return;
	}
	qp->card->epsn = psn_add(c->psn, c->npkts);
	if (c->flags & SEG_F_START) {
		uc_drop_message(qp);
		if (!uc_begin(c))
			return;
	} else if (r->msg != uc_msg_of(seg)) {
		uc_drop_message(qp);
		return;
	}
	if (!resp_payload_fits(c) ||
	    !(uc_msg_of(seg) == RESP_MSG_SEND ? uc_place_send(c) : uc_place_write(c))) {
		uc_drop_message(qp);
		return;
	}
	r->off += c->len;
	if (!(c->flags & SEG_F_END)) {
		r->msg = (uint8_t)uc_msg_of(seg);
		return;
	}
	uc_drop_message(qp);
	uc_complete(c);
}

/* A rule of `ruse fault` makes the receive fail that the packet consumes. */
static noinline __cold void uc_refuse_recv(struct qp *qp, const struct seg *seg)
{
	if (recv_fetch(qp) != RECV_GOT)
		return;
	xp_why(qp, FAULT_RECV, seg->msn);
	uc_local_error(qp, (enum wc_status)(seg->refuse & ~SEG_REFUSE_RECV));
}

void uc_input(struct qp *qp, const struct seg *seg)
{
	struct resp_ctx c = {
		.qp = qp, .seg = seg, .psn = seg->psn & PSN_MASK, .npkts = seg->npkts,
		.len = seg->len, .flags = seg->flags,
	};

	if (unlikely(qp->state < QPS_RTR || qp->state == QPS_ERR)) {
		xp_drop_state(qp);
		return;
	}
	if (unlikely(seg->service != SEG_UC))
		return;
	switch ((enum seg_type)seg->type) {
	case SEG_SEND:
	case SEG_SEND_IMM:
	case SEG_WRITE:
	case SEG_WRITE_IMM:
		break;
	/* Not defined on UC (IBA table 38). */
	case SEG_SEND_INV:
	case SEG_READ_REQ:
	case SEG_READ_RESP:
	case SEG_ACK:
	case SEG_CMP_SWP:
	case SEG_FETCH_ADD:
	case SEG_ATOMIC_ACK:
	case SEG_ATOMIC_WRITE:
	case SEG_FLUSH:
	case SEG_NTYPES:
		return;
	}
	if (unlikely(qp->state == QPS_RTR && !qp->resp.established)) {
		qp->resp.established = true;
		event_raise(&qp->async, EV_COMM_EST);
	}
	if (unlikely(!card_lock(qp->card, CARD_OWNER)))
		return;
	if (unlikely(seg->refuse))
		uc_refuse_recv(qp, seg);
	else
		uc_run(&c);
	card_unlock(qp->card);
}
