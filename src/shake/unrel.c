/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ud: a datagram is lost, comes twice, or is overtaken by the next one; a message of an unreliable connection is lost. Decided
 * where it arrives.
 */
#include "shake/shake_internal.h"

#define UNREL_WAIT (10 * NS_MS)		/* if no datagram follows */

static bool unrel_datagram(struct qp *qp, const struct seg *seg, struct link *from, ns_t now,
			   shake_replay *replay)
{
	struct shake_state *s = shake_of(qp);
	uint32_t event = s->messages++;
	uint64_t bits;

	if (queue_waits(s, SHAKE_REQUESTS)) {
		replay(qp, seg, from, now);
		queue_release(qp, SHAKE_REQUESTS, now, replay);
		return true;
	}
	if (!points_decide(SHAKE_UD, s->number, event, &bits))
		return false;
	switch (bits % 3) {
	case 0:
		shake_took(qp, SHAKE_UD_LOST, event, 0);
		return true;
	case 1:
		shake_took(qp, SHAKE_UD_TWICE, event, 0);
		replay(qp, seg, from, now);
		return false;
	}
	now = max(now, rdev_now(qp->dev));
	queue_hold(qp, SHAKE_REQUESTS, now + UNREL_WAIT);
	shake_took(qp, SHAKE_UD_OVERTAKEN, event, (uint64_t)UNREL_WAIT);
	return queue_keep(qp, SHAKE_REQUESTS, seg, from, now, replay);
}

bool unrel_judges(struct qp *qp, const struct seg *seg, struct link *from, ns_t now,
		  shake_replay *replay)
{
	struct shake_state *s = shake_of(qp);
	uint32_t event;
	uint64_t bits;

	if (qp->state < QPS_RTR || qp->state == QPS_ERR)
		return false;
	if (qp->type == QPT_UD)
		return unrel_datagram(qp, seg, from, now, replay);
	if (!(seg->flags & SEG_F_START))
		return false;
	event = s->messages++;
	if (!points_decide(SHAKE_UD, s->number, event, &bits))
		return false;
	/* Without its first packet the transport drops the rest of the message. */
	shake_took(qp, SHAKE_UC_LOST, event, 0);
	return true;
}
