/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A held completion is in the ring, and its index is not published: the program polls nothing, and no event is raised. The
 * data of a receive is in memory, as with an adapter that is slow to report. The order stays: a completion behind a held one
 * becomes visible with it or later.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include "base/pool.h"
#include "core/shake.h"
#include "engine/engine_internal.h"
#include "engine/hold.h"

struct cq_hold {
	struct timer timer;	/* the first member */
	struct timer event_timer;	/* when the event of the CQ is raised that waits */
	struct cq *cq;
	size_t size;		/* of this allocation */
	ns_t last;		/* due time of the latest hidden completion, and the rule that has hidden it, or one before it */
	uint32_t rule;
	struct hold_slot {
		ns_t due;
		bool solicited;
		uint32_t rule;	/* that has hidden it, or one before it */
	} slot[];		/* by slot of the ring */
};

static struct hold_slot *hold_oldest(const struct cq *cq)
{
	return &cq->hold->slot[(cq->ring.index - cq->hidden) & cq->ring.mask];
}

uint32_t hold_rule(const struct cq *cq)
{
	return cq->hidden ? hold_oldest(cq)->rule : 0;
}

static void hold_wake(struct cq *cq)
{
	ns_t when = cq->hidden ? hold_oldest(cq)->due : NS_NEVER;

	if (!timer_set(&engine.timers, &cq->hold->timer, when) &&
	    when < READ_ONCE(engine.sleep_until))
		progress_kick();
}

static void hold_show(struct cq *cq, ns_t now)
{
	while (cq->hidden && hold_oldest(cq)->due <= now)
		cq_unhide(cq, hold_oldest(cq)->solicited);
}

static void hold_due(struct timer *t, ns_t now)
{
	struct cq *cq = ((struct cq_hold *)t)->cq;

	hold_show(cq, now);
	hold_wake(cq);
}

static void hold_event_due(struct timer *t, ns_t now)
{
	cq_arm_raise(container_of(t, struct cq_hold, event_timer)->cq);
}

static struct cq_hold *hold_begin(struct cq *cq)
{
	size_t size = sizeof(struct cq_hold) + (cq->ring.mask + 1) * sizeof(struct hold_slot);
	struct cq_hold *h = pool_zalloc(size);

	if (!h)
		return NULL;
	h->timer.fn = hold_due;
	h->event_timer.fn = hold_event_due;
	h->cq = cq;
	h->size = size;
	return h;
}

static void hold_end(struct cq *cq)
{
	struct cq_hold *h = cq->hold;

	hold_show(cq, NS_NEVER);
	timer_cancel(&engine.timers, &h->timer);
	if (timer_armed(&h->event_timer))
		cq_arm_raise(cq);
	timer_cancel(&engine.timers, &h->event_timer);
	cq->hold = NULL;
	pool_free(h, h->size);
}

/* Lets the event of the CQ wait, if `ruse run --shake` wants it; not a second one meanwhile. */
static bool hold_event(struct cq *cq)
{
	ns_t wait = cq->shake ? shake_ops->event(cq) : 0, when;

	if (!wait)
		return false;
	if (!cq->hold)
		cq->hold = hold_begin(cq);
	if (!cq->hold || timer_armed(&cq->hold->event_timer))
		return false;
	when = engine_now() + wait;
	if (timer_set(&engine.timers, &cq->hold->event_timer, when))
		return false;
	if (when < READ_ONCE(engine.sleep_until))
		progress_kick();
	return true;
}

/* How long the completion that is published is hidden. *r: the rule that says so; NULL: none. */
static ns_t hold_delay(struct cq *cq, const struct fault_rule **r)
{
	const struct ib_uverbs_wc *wc = ring_slot(&cq->ring, cq->ring.index);
	struct fault_case c = { .action = FAULT_HOLD, .dev = cq->uctx->dev->index,
				.qpn = wc->qp_num };
	ns_t delay = cq->shake ? shake_ops->completion(cq) : 0;

	*r = engine.faults.holds ? faults_strike(&engine.faults.f, &c) : NULL;
	return max(delay, *r ? (ns_t)min((*r)->delay, (uint64_t)NS_S) : 0);
}

bool hold_ask(struct cq *cq, int what)
{
	const struct fault_rule *r;
	struct hold_slot *s;
	ns_t now, delay;

	if (what == CQ_HOLD_END) {
		hold_end(cq);
		return false;
	}
	if (what == CQ_HOLD_EVENT)
		return hold_event(cq);
	delay = hold_delay(cq, &r);
	if (!r && !delay && !cq->hidden)
		return false;
	if (!cq->hold)
		cq->hold = hold_begin(cq);
	if (!cq->hold)
		return false;
	now = engine_now();
	if (!cq->hidden)
		cq->hold->last = now;
	cq->hold->last = max(cq->hold->last, now + delay);
	if (r)
		cq->hold->rule = r->id;
	s = &cq->hold->slot[cq->ring.index];
	*s = (struct hold_slot){ .due = cq->hold->last, .solicited = what == CQ_HOLD_SOLICITED,
				  .rule = cq->hold->rule };
	if (!cq->hidden++ && timer_set(&engine.timers, &cq->hold->timer, s->due)) {
		cq->hidden--;
		return false;
	}
	if (s->due < READ_ONCE(engine.sleep_until))
		progress_kick();
	return true;
}

static void hold_cq(struct uverbs_file *f, uint16_t kind, void *obj, void *arg)
{
	struct cq *cq = obj;

	if (kind != UVERBS_OBJECT_CQ || !cq)
		return;
	cq->closely = *(const bool *)arg || cq->check || cq->shake;
	if (!*(const bool *)arg && cq->hold)
		hold_end(cq);
}

void hold_use(void)
{
	bool held = engine.faults.f.actions >> FAULT_HOLD & 1;
	struct efile *ef;
	struct edev *e;

	if (held == engine.faults.holds)
		return;
	engine.faults.holds = held;
	list_for_each_entry(e, &engine.devs, entry)
		e->dev.holds = held;
	list_for_each_entry(ef, &engine.files, entry)
		uverbs_for_each_obj(ef->uf, hold_cq, &held);
}

void hold_show_all(struct cq *cq)
{
	if (!cq->hold)
		return;
	hold_show(cq, NS_NEVER);
	hold_wake(cq);
}

void hold_inherit(struct cq *cq)
{
	cq->closely = engine.faults.holds || cq->check || cq->shake;
	if (cq->hold && timer_armed(&cq->hold->event_timer))
		cq_arm_raise(cq);
	cq->hold = NULL;
	cq->count += cq->hidden;
	cq->hidden = 0;
	ring_show(&cq->ring, 0);
}
