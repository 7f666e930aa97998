/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timer heap: deadlines in nanoseconds, earliest first. It has no clock: the owner gets
 * the next deadline with timer_next(), sleeps, and calls timer_run(). The caller
 * serialises all calls.
 */
#ifndef RUSE_BASE_TIMER_H
#define RUSE_BASE_TIMER_H

#include "base/util.h"

struct timer {
	ns_t when;
	uint32_t pos;	/* index in the heap + 1; 0: not armed */
	void (*fn)(struct timer *t, ns_t now);
};

struct timer_heap {
	struct timer **heap;
	uint32_t count, size;
};

void timer_heap_init(struct timer_heap *h);
/* Disarms all timers. */
void timer_heap_fini(struct timer_heap *h);
/*
 * Arms or moves the timer, which must be zeroed before its first use; NS_NEVER disarms
 * it. 0, or -ENOMEM with the state unchanged; setting an armed timer cannot fail.
 */
int timer_set(struct timer_heap *h, struct timer *t, ns_t when);
void timer_cancel(struct timer_heap *h, struct timer *t);
/*
 * Disarms and calls every timer that is due, and returns their number. Makes at most as
 * many calls as timers were armed at the start, so that a timer that rearms itself for
 * the past does not loop. fn may free its timer, and may set or cancel any timer.
 */
int timer_run(struct timer_heap *h, ns_t now);

static inline bool timer_armed(const struct timer *t)
{
	return t->pos != 0;
}

/* Earliest deadline; NS_NEVER if no timer is armed. */
static inline ns_t timer_next(const struct timer_heap *h)
{
	return h->count ? h->heap[0]->when : NS_NEVER;
}

#endif
