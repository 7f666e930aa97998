/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * late: the answer to a request waits at the requester, and those behind it. The number of a point is that of the request
 * among all of its QP, so it does not matter how many requests an ACK covers. A program sees the peer's reply, which comes
 * the other way, before the completion of what the peer has replied to.
 */
#include "shake/shake_internal.h"
#include "wire/psn.h"

/* Requests of the QP that were complete before the oldest one. */
static void late_count(struct shake_state *s, const struct qp *qp)
{
	s->late.done += (qp->sq.index - s->late.sq_index) & qp->sq.mask;
	s->late.sq_index = qp->sq.index;
	s->late.judged = max(s->late.judged, s->late.done);
}

/* How many requests will be complete after this answer; less than that if it acknowledges nothing. */
static uint32_t late_covers(const struct shake_state *s, const struct qp *qp, const struct seg *seg)
{
	const struct qp_req *r = &qp->req;
	uint32_t psn = seg->type == SEG_READ_RESP ? psn_add(seg->psn, seg->npkts - 1) : seg->psn;
	uint32_t end = (psn - r->una) & PSN_MASK, n = s->late.done;

	if (end >= ((r->nxt - r->una) & PSN_MASK))
		return n;
	for (uint32_t at = qp->sq.index; at != r->tail; at = (at + 1) & qp->sq.mask, n++) {
		const struct req_wqe *w = &r->wqe[at & r->wqe_mask];

		if (w->npkts && ((w->first_psn + w->npkts - 1 - r->una) & PSN_MASK) > end)
			break;
	}
	return n;
}

ns_t late_most(const struct qp *qp, ns_t now)
{
	ns_t deadline = min(qp->req.deadline, qp->req.early);

	return deadline == NS_NEVER ? NS_NEVER : max((deadline - now) / 2, (ns_t)0);
}

bool late_judges(struct qp *qp, const struct seg *seg, ns_t now)
{
	static const ns_t waits[] = { 2 * NS_MS, 20 * NS_MS, 250 * NS_MS };
	struct shake_state *s = shake_of(qp);
	uint32_t end;
	uint64_t bits;
	ns_t wait;

	late_count(s, qp);
	if ((seg->syndrome & AETH_TYPE_MASK) != AETH_ACK)
		return false;
	end = late_covers(s, qp, seg);
	while (s->late.judged < end) {
		uint32_t event = s->late.judged++;

		if (!points_decide(SHAKE_LATE, s->number, event, &bits))
			continue;
		now = max(now, rdev_now(qp->dev));
		wait = min(waits[bits % ARRAY_SIZE(waits)], late_most(qp, now));
		if (!wait)
			continue;
		queue_hold(qp, SHAKE_ANSWERS, now + wait);
		shake_took(qp, SHAKE_LATE_ANSWER, event, (uint64_t)wait);
		return true;
	}
	return false;
}
