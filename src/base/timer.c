/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Binary heap. Each timer stores its index, so that moving and cancelling are O(log n). */
#include <errno.h>
#include "base/pool.h"
#include "base/timer.h"

#define TIMER_MIN_SLOTS 16u

void timer_heap_init(struct timer_heap *h)
{
	*h = (struct timer_heap){ 0 };
}

void timer_heap_fini(struct timer_heap *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		h->heap[i]->pos = 0;
	pool_free(h->heap, h->size * sizeof(*h->heap));
	timer_heap_init(h);
}

static void timer_place(struct timer_heap *h, uint32_t i, struct timer *t)
{
	h->heap[i] = t;
	t->pos = i + 1;
}

/*
 * Puts t into the heap. i is a free position. If t is earlier than its parent there, or later than a
 * child, these are moved and t gets another position.
 */
static void timer_sift(struct timer_heap *h, uint32_t i, struct timer *t)
{
	while (i && h->heap[(i - 1) / 2]->when > t->when) {
		timer_place(h, i, h->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= h->count)
			break;
		if (c + 1 < h->count && h->heap[c + 1]->when < h->heap[c]->when)
			c++;
		if (h->heap[c]->when >= t->when)
			break;
		timer_place(h, i, h->heap[c]);
		i = c;
	}
	timer_place(h, i, t);
}

int timer_set(struct timer_heap *h, struct timer *t, ns_t when)
{
	if (when == NS_NEVER) {
		timer_cancel(h, t);
		return 0;
	}
	if (!t->pos) {
		if (h->count == h->size) {
			uint32_t size = max(h->size * 2, TIMER_MIN_SLOTS);
			struct timer **heap = pool_grow(h->heap, h->size * sizeof(*heap),
							size * sizeof(*heap));

			if (!heap)
				return -ENOMEM;
			h->heap = heap;
			h->size = size;
		}
		t->pos = ++h->count;
		h->heap[t->pos - 1] = t;
	}
	t->when = when;
	timer_sift(h, t->pos - 1, t);
	return 0;
}

void timer_cancel(struct timer_heap *h, struct timer *t)
{
	uint32_t i = t->pos;
	struct timer *last;

	if (!i)
		return;
	t->pos = 0;
	last = h->heap[--h->count];
	if (last != t)
		timer_sift(h, i - 1, last);
}

int timer_run(struct timer_heap *h, ns_t now)
{
	uint32_t budget = h->count;
	int n = 0;

	/* Limits the calls if timers rearm themselves for the past. */
	while (budget-- && timer_next(h) <= now && h->count) {
		struct timer *t = h->heap[0];

		timer_cancel(h, t);
		t->fn(t, now);
		n++;
	}
	return n;
}
