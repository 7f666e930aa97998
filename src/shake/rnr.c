/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rnr: a request that needs a receive of the peer is not sent for a while, as if an RNR NAK had come before, and the requests
 * behind it wait, too. Only a QP whose rnr_retry says that it waits without end.
 */
#include "shake/shake_internal.h"

#define RNR_WITHOUT_END 7

bool rnr_judges(struct qp *qp, uint32_t psn, ns_t now)
{
	static const ns_t waits[] = { 1 * NS_MS, 5 * NS_MS, 20 * NS_MS };
	struct shake_state *s = shake_of(qp);
	struct rnr_state *r = &s->rnr;
	uint32_t event;
	uint64_t bits;
	ns_t wait;

	if (r->judged && r->psn == psn)
		return r->until;
	r->judged = true;
	r->psn = psn;
	event = r->sends++;
	if (qp->attr.rnr_retry != RNR_WITHOUT_END ||
	    !points_decide(SHAKE_RNR, s->number, event, &bits))
		return false;
	wait = waits[bits % ARRAY_SIZE(waits)];
	r->until = max(now, rdev_now(qp->dev)) + wait;
	shake_set_due(s);
	shake_took(qp, SHAKE_RNR, event, (uint64_t)wait);
	return true;
}

void rnr_due(struct shake_state *s, ns_t now)
{
	if (!s->rnr.until || s->rnr.until > now)
		return;
	s->rnr.until = 0;
	shake_set_due(s);
}
