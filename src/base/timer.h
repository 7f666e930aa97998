/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timer heap: deadlines in nanoseconds, earliest first. No clock in here; the
 * owner asks for the next deadline, sleeps, and pops what is due. The caller locks.
 */
#ifndef RUSE_BASE_TIMER_H
#define RUSE_BASE_TIMER_H

#include "base/util.h"

struct timer {
	ns_t when;
	uint32_t pos;	/* index in the heap + 1; 0 = not armed */
	void (*fn)(struct timer *t, ns_t now);
};

struct timer_heap {
	struct timer **heap;
	uint32_t count, size;
};

void timer_heap_init(struct timer_heap *h);
/* Disarms what is armed. */
void timer_heap_fini(struct timer_heap *h);
/*
 * Arms or moves the timer, which was zeroed before its first use; NS_NEVER disarms.
 * 0 or -ENOMEM (then it keeps its former state).
 */
int timer_set(struct timer_heap *h, struct timer *t, ns_t when);
void timer_cancel(struct timer_heap *h, struct timer *t);
/*
 * Calls every timer due at now, each disarmed before its call; returns the number.
 * At most as many calls as timers were armed at the start: one that arms itself
 * for the past again is left to the next run.
 */
int timer_run(struct timer_heap *h, ns_t now);

static inline bool timer_armed(const struct timer *t)
{
	return t->pos != 0;
}

/* Earliest deadline, NS_NEVER if none. */
static inline ns_t timer_next(const struct timer_heap *h)
{
	return h->count ? h->heap[0]->when : NS_NEVER;
}

#endif
