/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Failure of a QP. The order is fixed (IBA 10.3.1.6, 10.8.3.2; kernel rxe_qp_error()): the
 * QP enters ERR; the failed WQE completes with its own status, even if unsignaled; all
 * later send WQEs complete with WR_FLUSH_ERR in ring order; then the receive WQEs, first
 * the one held by a message in progress. Before any of them completes, the link's
 * references to the program's memory are revoked.
 */
#include <rdma/ib_user_verbs.h>
#include "core/credits.h"
#include "shared/barrier.h"
#include "xport/why.h"
#include "xport/xport_internal.h"

/* Adds an error completion. It also notifies CQs armed for solicited events only. */
void xp_error_cqe(struct qp *qp, bool send, uint64_t wr_id, enum wc_status status)
{
	struct cq *cq = send ? qp->send_cq : qp->recv_cq;
	struct ib_uverbs_wc *wc = cq_reserve(cq);
	uint32_t why = xp_why_cqe(qp, wr_id, status);

	qp->dev->counter[CNT_FAILED(!send, status)]++;
	if (!wc)
		return;
	wc->wr_id = wr_id;
	wc->status = status;
	wc->vendor_err = why;
	wc->qp_num = qp->qpn;
	if (unlikely(qp->special))
		credits_note(qp, send);
	cq_publish(cq, true);
}

/* Enters ERR: requester and responder stop. Only an ACK or NAK that waits for room in the link is still sent. */
noinline void xp_enter_err(struct qp *qp, bool card_locked)
{
	struct qp_req *r = &qp->req;
	bool locked = !card_locked && card_lock(qp->card, CARD_OWNER);

	if (r->una != r->nxt && qp->link)
		qp->link->ops->revoke(qp->link, qp->qpn);
	qp_set_state(qp, QPS_ERR);
	xp_why_err(qp);
	/* Also without the lock, which a stopped peer may have: it has made its checks. */
	qp->card->state = QPS_ERR;
	qp->card->err = xp_fail(qp)->err;
	qp->card->busy = 0;
	if (locked)
		card_unlock(qp->card);
	r->deadline = r->early = NS_NEVER;
	r->rnr_until = 0;
	r->una = r->nxt;
	r->rd_out = 0;
	qp->sq_draining = false;
	qp->resp.res_count = 0;
	qp->resp.fatal_syn = 0;
	qp->resp.refused = false;
	qp->resp.msg = RESP_MSG_NONE;
}

/* Flushes the send queue. WQEs that the program posts later wait for the next doorbell. */
noinline void xp_flush_sq(struct qp *qp)
{
	struct qp_req *r = &qp->req;
	uint32_t end = ring_producer(&qp->sq);
	bool unread = qp->sq.index == r->tail;

	if (unlikely(qp_checked(qp)))
		check_ops->posted(qp);
	while (qp->sq.index != end) {
		const struct rxe_send_wqe *s = ring_slot(&qp->sq, qp->sq.index);
		uint64_t wr_id = unread ? READ_ONCE(s->wr.wr_id) : req_wqe(qp, qp->sq.index)->wr_id;

		credits_consume(qp);
		unread |= qp->sq.index == r->tail;
		xp_error_cqe(qp, true, wr_id, WC_WR_FLUSH_ERR);
	}
	r->cur = r->tail = qp->sq.index;
	r->cur_pkt = 0;
}

/* Completes the receive WQE that the QP has fetched and not completed (qp_resp.have_wqe), if any, with an error. */
void xp_fail_recv(struct qp *qp, enum wc_status status)
{
	if (!qp->resp.have_wqe)
		return;
	qp->resp.have_wqe = false;
	xp_error_cqe(qp, false, qp->resp.wr_id, status);
}

/*
 * Flushes the WQEs in the receive queue of a QP in ERR. WQEs in an SRQ do not belong to the QP; the
 * event LAST_WQE_REACHED says that the QP will take no more of them (IBA 11.6.3.1).
 */
noinline void xp_flush_rq(struct qp *qp)
{
	uint32_t end;

	xp_fail_recv(qp, WC_WR_FLUSH_ERR);
	if (qp->srq) {
		event_raise(&qp->async, EV_LAST_WQE);
		return;
	}
	end = ring_producer(&qp->rq);
	while (qp->rq.index != end) {
		const struct rxe_recv_wqe *s = ring_slot(&qp->rq, qp->rq.index);
		uint64_t wr_id = READ_ONCE(s->wr_id);

		ring_consume(&qp->rq);
		xp_error_cqe(qp, false, wr_id, WC_WR_FLUSH_ERR);
	}
}

/* Fails the QP: its oldest send WQE completes with this status, all others are flushed. */
noinline void xp_fail_head(struct qp *qp, enum wc_status status)
{
	struct qp_req *r = &qp->req;
	uint64_t wr_id;

	if (BUG_ON(qp->sq.index == r->tail))
		return;
	wr_id = req_wqe(qp, qp->sq.index)->wr_id;
	xp_enter_err(qp, false);
	credits_consume(qp);
	xp_error_cqe(qp, true, wr_id, status);
	xp_flush_sq(qp);
	xp_flush_rq(qp);
}

void xp_error(struct qp *qp, ns_t now)
{
	if (qp->state == QPS_RESET || qp->state == QPS_ERR)
		return;
	xp_enter_err(qp, false);
	xp_why_event(qp, EV_QP_FATAL);
	event_raise(&qp->async, EV_QP_FATAL);
	xp_flush_sq(qp);
	xp_flush_rq(qp);
}

void xp_flush_recv(struct qp *qp, ns_t now)
{
	if (qp->state == QPS_ERR && !qp->srq)
		xp_flush_rq(qp);
}
