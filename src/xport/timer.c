/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers and attempts. The other files say what has happened; when to wake,
 * and whether there is another attempt, is decided here alone.
 *
 * ack timer	runs while something is unacknowledged (IBA 9.7.6.1.3); started
 *		by the first packet, restarted by progress, stopped by the last
 *		acknowledgement and during an RNR wait. While the link says that a
 *		living peer has not yet looked at what we sent, its end counts for
 *		nothing: on a wire the NIC would answer, however busy the host.
 * RNR timer	the wait that an RNR NAK asks for (IBA 9.7.5.2.8).
 *
 * retry_cnt and rnr_retry are reloaded by progress, that is when una advances
 * (IBA 9.9.2.4.1). rnr_retry 7 means for ever; retry_cnt 7 is just 7, unlike
 * in kernel rxe.
 */
#include "wire/aeth.h"
#include "xport/window.h"
#include "xport/xport_internal.h"

/* The QP's attributes may have changed. */
void xp_timer_config(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	r->timeout = ack_timeout_ns(qp->attr.timeout & 31);
	r->retry = qp->attr.retry_cnt;
	r->rnr_retry = qp->attr.rnr_retry;
}

static void ack_timer_start(struct qp_req *r, ns_t now)
{
	r->deadline = r->timeout == NS_NEVER ? NS_NEVER : now + r->timeout;
}

/* Something was sent. */
void xp_timer_sent(struct qp *qp, ns_t now)
{
	if (qp->req.deadline == NS_NEVER)
		ack_timer_start(&qp->req, now);
}

/* una has advanced. */
void xp_timer_progress(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	r->retry = qp->attr.retry_cnt;
	r->rnr_retry = qp->attr.rnr_retry;
	r->retrying = false;
	if (r->una == r->nxt)
		r->deadline = NS_NEVER;
	else
		ack_timer_start(r, now);
}

/* The oldest packet must go out again. False: it was the last attempt. */
bool xp_timer_retry(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (!r->retry) {
		qp->dev->counter[CNT_RETRY_EXCEEDED]++;
		return false;
	}
	r->retry--;
	qp->dev->counter[CNT_COMP_RETRY]++;
	ack_timer_start(r, now);
	return true;
}

/* An RNR NAK has come. False: it was the last attempt. */
bool xp_timer_rnr(struct qp *qp, uint8_t syndrome, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (!r->rnr_retry) {
		qp->dev->counter[CNT_RNR_RETRY_EXCEEDED]++;
		return false;
	}
	if (r->rnr_retry != 7)
		r->rnr_retry--;
	r->rnr_until = now + aeth_rnr_ns(syndrome);
	r->deadline = NS_NEVER;
	return true;
}

ns_t xp_wake(const struct qp *qp)
{
	return qp->req.rnr_until ? qp->req.rnr_until : qp->req.deadline;
}

void xp_timer(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	resp_check_card(qp);
	if (!xp_sends(qp))
		return;
	if (r->rnr_until) {
		if (now < r->rnr_until)
			return;
		r->rnr_until = 0;
		req_go_back(qp);
		if (r->una != r->nxt)
			ack_timer_start(r, now);
		req_run(qp, now);
		return;
	}
	if (now < r->deadline)
		return;
	if (qp->link && qp->link->ops->peer_behind && qp->link->ops->peer_behind(qp->link)) {
		ack_timer_start(r, now);
		return;
	}
	r->retrying = false;
	if (!xp_timer_retry(qp, now)) {
		xp_fail_head(qp, WC_RETRY_EXC_ERR);
		return;
	}
	win_lost(qp, true);
	req_go_back(qp);
	req_run(qp, now);
}
