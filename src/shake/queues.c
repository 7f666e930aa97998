/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * queues: the completions of a CQ are hidden for a while, from one on, or the event of a completion waits; other CQs go on.
 * engine/hold.c hides and shows. arm: an arm raises no event for completions that were there.
 */
#include <string.h>
#include "base/pool.h"
#include "shake/shake_internal.h"

struct shake_cq {
	uint32_t number;	/* of the CQ among those of the process, from 0 */
	uint32_t completions, arms;
	uint32_t event;		/* the completion whose event waits, if event_wait is not 0 */
	ns_t event_wait;
};

static uint32_t queues_made;	/* so far */

void queues_begin(void)
{
	queues_made = 0;
}

void queues_cq_begin(struct cq *cq)
{
	uint32_t number = queues_made++;

	cq->shake = pool_zalloc(sizeof(*cq->shake));
	if (cq->shake)
		cq->shake->number = number;
}

void queues_cq_end(struct cq *cq)
{
	pool_free(cq->shake, sizeof(*cq->shake));
	cq->shake = NULL;
}

#define queues_took(cq, id, event, ...)                                                          \
	shake_told((cq)->uctx->dev, 0, (cq)->shake->number, id, event, __VA_ARGS__)

ns_t queues_completion(struct cq *cq)
{
	static const ns_t waits[] = { 2 * NS_MS, 20 * NS_MS, 250 * NS_MS };
	struct shake_cq *s = cq->shake;
	uint32_t event = s->completions++;
	uint64_t bits;
	ns_t wait;

	s->event_wait = 0;
	if (!points_decide(SHAKE_QUEUES, s->number, event, &bits))
		return 0;
	wait = waits[(bits >> 8) % ARRAY_SIZE(waits)];
	if (cq->notify && bits & 1) {
		s->event = event;
		s->event_wait = wait;
		return 0;
	}
	queues_took(cq, SHAKE_QUEUES_HELD, event, (uint64_t)wait);
	return wait;
}

ns_t queues_event(struct cq *cq)
{
	struct shake_cq *s = cq->shake;
	ns_t wait = s->event_wait;

	s->event_wait = 0;
	if (wait)
		queues_took(cq, SHAKE_QUEUES_EVENT, s->event, (uint64_t)wait);
	return wait;
}

bool queues_arm(struct cq *cq, uint32_t n)
{
	uint32_t event = cq->shake->arms++;
	uint64_t bits;

	if (!points_decide(SHAKE_ARM, cq->shake->number, event, &bits))
		return false;
	queues_took(cq, SHAKE_ARM, event, n);
	return true;
}
