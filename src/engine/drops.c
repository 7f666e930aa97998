/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer that is early sends to a QP before RTR, and a network loses packets. The peer of an RC QP repeats what is not
 * acknowledged, so such a drop is a failure only if no repetition is taken: if the PSN that the QP expects does not move.
 */
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "ipc/why_log.h"
#include "wire/psn.h"

#define DROPS_MAX 16u
#define DROPS_WAIT (1 * NS_S)	/* a drop is told after this time; the ACK timeouts of programs are mostly shorter */

static struct drop {
	struct rdev *dev;	/* NULL: unused */
	uint32_t generation;	/* engine.generation; another one: of the parent of this process, unused */
	struct why_rec r;
	bool told;
} drops[DROPS_MAX];

static bool drop_used(const struct drop *d)
{
	return d->dev && d->generation == engine.generation;
}

static uint32_t drops_epsn(const struct qp *qp)
{
	return READ_ONCE(qp->card->epsn) & PSN_MASK;
}

static bool drop_repaired(const struct drop *d, const struct qp *qp)
{
	if (qp->state < QPS_RTR)
		return false;
	if (d->r.why.id == WHY_DROP_PSN || d->r.why.id == WHY_DROP_FAULT)
		return drops_epsn(qp) != (d->r.why.arg[1] & PSN_MASK);
	return drops_epsn(qp) != (qp->attr.rq_psn & PSN_MASK);
}

/* Looks at a drop once more. last: it is forgotten in any case. */
static void drop_look(struct drop *d, const struct qp *qp, bool last)
{
	if (qp && drop_repaired(d, qp)) {
		why_log_repaired(engine.why_log, d->r.dev, d->r.qpn, (enum why_id)d->r.why.id);
		d->dev = NULL;
		return;
	}
	if (!d->told)
		explain_first_told(&d->r);
	d->told = true;
	if (last || !qp)
		d->dev = NULL;
}

static void drops_due(struct timer *t, ns_t now)
{
	for (uint32_t i = 0; i < DROPS_MAX; i++) {
		struct drop *d = &drops[i];

		if (drop_used(d) && d->told)
			continue;
		if (drop_used(d) && d->r.last + DROPS_WAIT <= (uint64_t)now)
			drop_look(d, rdev_find_qp(d->dev, d->r.qpn), false);
		else if (drop_used(d))
			timer_set(&engine.timers, t, (ns_t)d->r.last + DROPS_WAIT);
	}
}

static struct drop *drops_find(const struct rdev *dev, const struct why_rec *r)
{
	struct drop *free = NULL;

	for (uint32_t i = 0; i < DROPS_MAX; i++) {
		struct drop *d = &drops[i];

		if (drop_used(d) && d->dev == dev && d->r.qpn == r->qpn && d->r.why.id == r->why.id)
			return d;
		if (!drop_used(d))
			free = d;
	}
	return free;
}

bool drops_add(struct rdev *dev, const struct why_rec *r)
{
	const struct qp *qp;
	struct drop *d;

	if (!dev || (r->why.id != WHY_DROP_PSN && r->why.id != WHY_DROP_FAULT &&
		     (r->why.id != WHY_DROP_STATE || r->why.arg[0] >= QPS_RTR)))
		return false;
	qp = rdev_find_qp(dev, r->qpn);
	d = qp && qp->type == QPT_RC ? drops_find(dev, r) : NULL;
	if (!d)
		return false;
	if (!drop_used(d))
		d->told = false;
	d->dev = dev;
	d->generation = engine.generation;
	d->r = *r;
	engine.drops_timer.fn = drops_due;
	if (!timer_armed(&engine.drops_timer))
		timer_set(&engine.timers, &engine.drops_timer, (ns_t)r->last + DROPS_WAIT);
	return true;
}

void drops_end(const struct qp *qp)
{
	for (uint32_t i = 0; i < DROPS_MAX; i++) {
		struct drop *d = &drops[i];

		if (!drop_used(d))
			continue;
		if (!qp)
			drop_look(d, rdev_find_qp(d->dev, d->r.qpn), true);
		else if (d->dev == qp->dev && d->r.qpn == qp->qpn)
			drop_look(d, qp, true);
	}
}
