/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine's lock: one a process. It knows its owner, so that a doorbell
 * from a signal handler that interrupted the owner is recognised: it leaves a
 * note ("again") and returns, and the owner does its work on the way out.
 *
 * Under it only raw system calls are made: a pending pthread_cancel in a libc
 * call would leave it held for ever (doc/platform). Lock order: engine lock,
 * then QP cards. The provider's own locks (held by the program across a
 * doorbell) are never taken by us.
 */
#ifndef RUSE_ENGINE_LOCK_H
#define RUSE_ENGINE_LOCK_H

#include "base/util.h"
#include "queue/barrier.h"

struct elock {
	uint32_t word;		/* 0 free, 1 held, 2 held and somebody sleeps */
	uint32_t again;		/* the owner was interrupted by a doorbell */
	const void *owner;	/* address of a variable of the owning thread */
};

/* elock_leave() found somebody asleep. */
void elock_wake(struct elock *l);

/* Its address is the thread's. */
extern __thread char elock_self __attribute__((tls_model("initial-exec")));

/* Takes it only when free; false also for the owner itself. */
static inline bool elock_try(struct elock *l)
{
	if (READ_ONCE(l->word) || !atomic_cmpxchg(&l->word, 0u, 1u))
		return false;
	WRITE_ONCE(l->owner, (const void *)&elock_self);
	return true;
}
/* It is not free: as elock_enter(). */
bool elock_wait(struct elock *l);
/* False when this very thread holds it already (signal handler): again is set. */
static inline bool elock_enter(struct elock *l)
{
	return likely(elock_try(l)) || elock_wait(l);
}
static inline void elock_leave(struct elock *l)
{
	WRITE_ONCE(l->owner, (const void *)NULL);
	if (unlikely(atomic_xchg(&l->word, 0u) == 2))
		elock_wake(l);
}
bool elock_mine(const struct elock *l);

#endif
