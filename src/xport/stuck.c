/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/aeth.h"
#include "wire/smp.h"
#include "xport/stuck.h"
#include "xport/why.h"

static void stuck_answer(const struct qp *qp, struct why *why)
{
	const struct port_attr *port = &qp->dev->port;
	const struct qp_req *r = &qp->req;

	if (port->state != PORT_ACTIVE &&
	    (port->ib || !qp->link || qp->link->kind == LINK_UDP))
		why_set(why, WAIT_PORT, r->una, port->state);
	else if (!(qp->attr.timeout & 31))
		why_set(why, WAIT_NO_TIMEOUT, r->una);
	else
		why_set(why, WAIT_ANSWER, r->una, qp->attr.retry_cnt - r->retry + 1u,
			qp->attr.retry_cnt + 1u, ack_timeout_ns(qp->attr.timeout & 31));
}

/* How many RNR NAKs have come since una advanced. */
static uint32_t stuck_rnr_naks(const struct qp *qp)
{
	uint32_t left = qp->req.rnr_retry, all = qp->attr.rnr_retry;

	return left >= 7 ? left - 7 : all - left;
}

bool xp_stuck_send(const struct qp *qp, struct why *why, uint64_t *wr_id)
{
	const struct qp_req *r = &qp->req;
	const struct rxe_send_wqe *s = ring_slot(&qp->sq, qp->sq.index);
	struct peer_qp peer = xp_peer_qp(qp);
	uint32_t naks = stuck_rnr_naks(qp);

	if (!xp_sends(qp) || ring_empty(&qp->sq))
		return false;
	*wr_id = qp->sq.index != r->tail ? req_wqe(qp, qp->sq.index)->wr_id :
					   READ_ONCE(s->wr.wr_id);
	if (naks && xp_rule_in(qp))
		why_set(why, WAIT_RNR_FAULT, qp->attr.dest_qpn, naks, qp->attr.rnr_retry,
			qp->attr.rnr_retry == 7, r->rnr_retry == UINT8_MAX, xp_rule_in(qp));
	else if (naks)
		why_set(why, WAIT_RNR, qp->attr.dest_qpn, naks, qp->attr.rnr_retry,
			qp->attr.rnr_retry == 7, r->rnr_retry == UINT8_MAX);
	else if (qp->type == QPT_RC && xp_peer_deaf(&peer))
		why_set(why, WAIT_STATE, qp->attr.dest_qpn, peer.state);
	else if (qp->state == QPS_SQD && r->una == r->nxt)
		why_set(why, WAIT_SQD);
	else if (qp->link && !qp->link->dead && qp->link->ops->peer_behind &&
		 qp->link->ops->peer_behind(qp->link))
		why_set(why, WAIT_PEER);
	else if (r->una != r->nxt)
		stuck_answer(qp, why);
	else
		return false;	/* it is sent when the engine runs next or the link has room */
	return true;
}

bool xp_stuck_recv(const struct qp *qp, struct why *why)
{
	uint32_t n;

	if (qp->srq || qp->state < QPS_INIT || qp->state > QPS_SQD)
		return false;
	n = ring_count(&qp->rq);
	if (qp->state == QPS_RTR && qp->type != QPT_UD)
		why_set(why, WAIT_RTR, n);
	else if (!n)
		return false;
	else if (qp->state == QPS_INIT)
		why_set(why, WAIT_INIT, n);
	else
		why_set(why, WAIT_RECV, n);
	return true;
}

bool xp_stuck_unsignaled(const struct qp *qp, struct why *why, uint64_t *wr_id)
{
	const struct rxe_send_wqe *s = ring_slot(&qp->sq, qp->sq.index - 1);

	if (qp->type != QPT_RC || !xp_sends(qp) || !ring_empty(&qp->sq) || qp->sq_sig_all ||
	    qp->req.psn == (qp->attr.sq_psn & PSN_MASK) ||
	    (READ_ONCE(s->wr.send_flags) & WQE_SIGNALED))
		return false;
	*wr_id = READ_ONCE(s->wr.wr_id);
	why_set(why, WAIT_UNSIGNALED);
	return true;
}

uint32_t xp_stuck_mark(const struct qp *qp)
{
	return qp->req.una * 31 + qp->sq.index * 7 + qp->rq.index;
}
