/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the transport calls, and what is told of a decision. */
#include <string.h>
#include "base/pool.h"
#include "shake/shake_internal.h"

static const struct shake_host *shake_host;
#define SHAKE_PEER_WAITS (15 * NS_MS)	/* if it is not known: a quarter of the usual timeout, 14 */

static uint32_t shake_qps;	/* QPs so far */

static void shake_qp_begin(struct qp *qp)
{
	struct shake_state *s = pool_zalloc(sizeof(*s));
	uint32_t number = shake_qps++;

	cm_qp_begin(qp);
	if (!s)
		return;
	s->number = number;
	s->late.sq_index = qp->sq.index;
	queue_init(s);
	qp->shake = &s->qp;
	qp->special |= QP_SHAKEN;
}

static void shake_qp_end(struct qp *qp)
{
	struct shake_state *s = shake_of(qp);

	if (!s)
		return;
	queue_forget(s, true);
	pool_free(s, sizeof(*s));
	qp->shake = NULL;
	qp->special &= (uint8_t)~QP_SHAKEN;
}

ns_t shake_peer_waits(const struct qp *qp)
{
	uint32_t timeout = qp->attr.timeout & 31;

	if (!(qp->attr_set & IB_QP_TIMEOUT))
		return SHAKE_PEER_WAITS;
	return timeout ? (4096LL << timeout) / 4 : NS_NEVER;
}

void shake_set_due(struct shake_state *s)
{
	ns_t until[] = { s->queue[SHAKE_REQUESTS].until, s->queue[SHAKE_ANSWERS].until,
			 s->overtake.until, s->rnr.until };

	s->qp.due = NS_NEVER;
	for (size_t i = 0; i < ARRAY_SIZE(until); i++)
		if (until[i])
			s->qp.due = min(s->qp.due, until[i]);
}

static bool shake_input(struct qp *qp, const struct seg *seg, struct link *from, ns_t now,
			shake_replay *replay)
{
	enum shake_side side = seg_is_answer(seg) ? SHAKE_ANSWERS : SHAKE_REQUESTS;
	struct shake_state *s = shake_of(qp);

	s->from = from;
	s->now = now;
	if (qp->type != QPT_RC)
		return unrel_judges(qp, seg, from, now, replay);
	if ((queue_waits(s, side) || (side == SHAKE_ANSWERS && late_judges(qp, seg, now))) &&
	    queue_keep(qp, side, seg, from, now, replay))
		return true;
	overtake_input(qp, seg);
	return false;
}

static void shake_due(struct qp *qp, ns_t now, shake_replay *replay)
{
	struct shake_state *s = shake_of(qp);

	overtake_due(s, now);
	rnr_due(s, now);
	for (int i = 0; i < SHAKE_SIDES; i++)
		if (queue_waits(s, (enum shake_side)i) && s->queue[i].until <= now)
			queue_release(qp, (enum shake_side)i, now, replay);
}

/* A segment that is handed over may be divided and wait again. */
static void shake_release(struct qp *qp, ns_t now, shake_replay *replay)
{
	struct shake_state *s = shake_of(qp);

	overtake_due(s, NS_NEVER);
	rnr_due(s, NS_NEVER);
	for (int i = 0; i < SHAKE_SIDES; i++)
		while (queue_waits(s, (enum shake_side)i))
			queue_release(qp, (enum shake_side)i, now, replay);
}

static void shake_forget(struct qp *qp, bool links)
{
	struct shake_state *s = shake_of(qp);

	queue_forget(s, links);
	overtake_due(s, NS_NEVER);
	s->rnr.judged = false;
	s->rnr.until = 0;
	shake_set_due(s);
}

void shake_tell(struct rdev *dev, uint32_t qpn, const struct why *why, uint32_t object,
		uint32_t event)
{
	struct why_rec r = { .why = *why, .qpn = qpn };

	r.why.arg[5] = object;
	strcpy(r.call, points_take());
	shake_host->taken(dev, &r);
}

void shake_begin(const struct shake_host *host, const struct shake_cfg *cfg)
{
	static const struct shake_ops ops = {
		.qp_begin = shake_qp_begin,
		.qp_end = shake_qp_end,
		.input = shake_input,
		.due = shake_due,
		.release = shake_release,
		.place = place_judges,
		.place_rest = place_keeps,
		.read = overtake_judges,
		.rnr = rnr_judges,
		.forget = shake_forget,
		.cq_begin = queues_cq_begin,
		.cq_end = queues_cq_end,
		.completion = queues_completion,
		.event = queues_event,
		.arm = queues_arm,
		.key_index = keys_index,
		.key = keys_new,
		.key_gone = keys_gone,
		.qpn = cm_qpn,
		.cm = cm_message,
	};

	shake_host = host;
	shake_qps = 0;
	points_begin(cfg);
	queues_begin();
	keys_begin();
	cm_begin();
	shake_ops = &ops;
}
