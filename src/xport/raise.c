/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Asynchronous events of a QP without their cause, for `ruse fault event`. Each is raised only in a state in which an adapter
 * may raise it, and does what belongs to it (IBA 11.6.3.1, 11.6.3.2): after all but COMM_EST the QP is in ERR.
 */
#include "xport/raise.h"
#include "xport/why.h"
#include "xport/xport_internal.h"

static bool raise_receives(const struct qp *qp)
{
	return qp->state >= QPS_RTR && qp->state <= QPS_SQE;
}

/* A packet has arrived, and establishes the connection, whatever becomes of it. */
static enum xp_raised raise_comm_est(struct qp *qp)
{
	struct why_rec r = { .event = EV_COMM_EST + 1, .qpn = qp->qpn,
			     .peer_qpn = qp->attr.dest_qpn };

	if (qp->type == QPT_UD)
		return XP_OTHER_TYPE;
	if (qp->state != QPS_RTR || qp->resp.established)
		return XP_OTHER_STATE;
	qp->resp.established = true;
	why_set(&r.why, EVENT_FAULT);
	rdev_failed(qp->dev, &r);
	event_raise(&qp->async, EV_COMM_EST);
	return XP_RAISED;
}

/* The adapter cannot read the queue. */
static enum xp_raised raise_fatal(struct qp *qp, ns_t now)
{
	if (qp->state == QPS_RESET || qp->state == QPS_ERR)
		return XP_OTHER_STATE;
	xp_why(qp, EVENT_FAULT);
	xp_error(qp, now);
	return XP_RAISED;
}

/* event is raised here, or by xp_flush_rq() (EV_LAST_WQE). */
static enum xp_raised raise_and_flush(struct qp *qp, enum xp_event event)
{
	if (!raise_receives(qp))
		return XP_OTHER_STATE;
	xp_why(qp, EVENT_FAULT);
	xp_enter_err(qp, false);
	xp_why_event(qp, event);
	if (event != EV_LAST_WQE)
		event_raise(&qp->async, event);
	xp_flush_sq(qp);
	xp_flush_rq(qp);
	return XP_RAISED;
}

enum xp_raised xp_raise(struct qp *qp, enum xp_event event, ns_t now)
{
	switch (event) {
	case EV_QP_FATAL:
		return raise_fatal(qp, now);
	case EV_QP_REQ_ERR:
	case EV_QP_ACCESS_ERR:
		/* The responder has refused a request. Only on RC does this end the QP. */
		return qp->type == QPT_RC ? raise_and_flush(qp, event) : XP_OTHER_TYPE;
	case EV_LAST_WQE:
		/* The QP has failed and takes no more WQEs of its SRQ. */
		return qp->srq ? raise_and_flush(qp, event) : XP_NO_SRQ;
	case EV_COMM_EST:
		return raise_comm_est(qp);
	case EV_SQ_DRAINED:
	case EV_NONE:
		break;
	}
	return XP_OTHER_STATE;
}
