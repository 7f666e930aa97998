/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slow path of the lock of a QP card (struct qp_card): waits a while for the holder to release it, or to be found dead. */
#include <errno.h>
#include <time.h>
#include "base/sys.h"
#include "base/tuning.h"
#include "queue/card.h"

#define NAPS 50 /* a few milliseconds: a holder that is not stopped, and copies 16 MiB, has ended by then */

static card_breaker breaker;
static void *breaker_arg;

void card_set_breaker(card_breaker fn, void *arg)
{
	breaker = fn;
	breaker_arg = arg;
}

noinline __cold bool card_lock_slow(struct qp_card *c, uint32_t proc)
{
	/* The holder may need this CPU: sleep after each TUNE_SPINS attempts. */
	const struct timespec ts = { .tv_nsec = 20 * NS_US };
	uint32_t holder;

	for (uint32_t i = 1; i <= NAPS * TUNE_SPINS; i++) {
		if (card_trylock(c, proc))
			return true;
		cpu_relax();
		if (i % TUNE_SPINS)
			continue;
		holder = READ_ONCE(c->lock);
		if (holder && breaker)
			breaker(c, holder, breaker_arg);
		sys_call(SYS_nanosleep, &ts, NULL);
	}
	return card_trylock(c, proc);
}
