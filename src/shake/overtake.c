/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * overtake: the responder answers a READ, and so fetches its data, after SENDs and WRITEs that came behind it were executed. The
 * answer waits in the responder's queue, and acknowledgements behind it, as if the link had no room. A request of another kind
 * than SEND and WRITE ends the wait before it is executed: READs and atomics stay in order.
 */
#include "shake/shake_internal.h"

static void overtake_end(struct shake_state *s)
{
	s->qp.reads = false;
	s->overtake.until = 0;
	shake_set_due(s);
}

bool overtake_judges(struct qp *qp)
{
	static const ns_t waits[] = { 2 * NS_MS, 10 * NS_MS, 30 * NS_MS };
	struct shake_state *s = shake_of(qp);
	struct overtake_state *o = &s->overtake;
	uint32_t event = o->reads++;
	ns_t now = max(s->now, rdev_now(qp->dev));
	uint64_t bits;

	if (o->until || !points_decide(SHAKE_OVERTAKE, s->number, event, &bits))
		return o->until;
	o->wait = min(waits[bits % ARRAY_SIZE(waits)], shake_peer_waits(qp));
	if (!o->wait)
		return false;
	o->event = event;
	o->told = false;
	o->until = now + o->wait;
	s->qp.reads = true;
	shake_set_due(s);
	return true;
}

void overtake_input(struct qp *qp, const struct seg *seg)
{
	struct shake_state *s = shake_of(qp);
	struct overtake_state *o = &s->overtake;

	if (!o->until || seg_is_answer(seg))
		return;
	if (seg->type > SEG_WRITE_IMM) {
		overtake_end(s);
	} else if (!o->told && !psn_diff(seg->psn & PSN_MASK, qp->card->epsn & PSN_MASK)) {
		o->told = true;
		shake_took(qp, SHAKE_OVERTAKE, o->event, seg->type >= SEG_WRITE,
			   (uint64_t)o->wait);
	}
}

void overtake_due(struct shake_state *s, ns_t now)
{
	if (s->overtake.until && s->overtake.until <= now)
		overtake_end(s);
}
