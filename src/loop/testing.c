/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "loop/testing.h"

#define MOST (10 * NS_S)

static void round_late(struct timer *t, ns_t now)
{
	fail_msg("no event within %d s", (int)(MOST / NS_S));
}

static void round_ended(struct loop *l)
{
	l->stop = true;
}

void loop_free_dead(struct loop *l)
{
	while (!list_empty(&l->dead)) {
		struct list_head *e = l->dead.next;

		list_del(e);
		free(e);
	}
}

void loop_round(struct loop *l, void (*settle)(struct loop *l))
{
	struct timer late = { .fn = round_late };

	l->stop = false;
	assert_int_equal(timer_set(&l->timers, &late, loop_clock() + MOST), 0);
	assert_int_equal(loop_run(l, round_ended), 0);
	timer_cancel(&l->timers, &late);
	if (settle)
		settle(l);
	loop_free_dead(l);
}
