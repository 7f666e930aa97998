/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock that knows its owner. Each process has two: the engine lock, and the connection lock for
 * calls to rused (attach.h).
 *
 * A doorbell in a signal handler that interrupted the owner of the engine lock sets `again` and
 * returns; the owner does its work when it unlocks. With a lock held, system calls are raw: a pending
 * pthread_cancel() would act in a libc call that waits, and leave the lock held for ever
 * (doc/platform). Lock order: engine lock first, then the connection lock or QP cards. The
 * provider's locks, which the program holds across a doorbell, are never taken here.
 */
#ifndef RUSE_ENGINE_LOCK_H
#define RUSE_ENGINE_LOCK_H

#include "base/util.h"
#include "queue/barrier.h"

struct elock {
	uint32_t word;		/* 0: free, 1: held, 2: held, and a thread sleeps */
	uint32_t again;		/* a doorbell interrupted the owner */
	const void *owner;	/* address of elock_self in the owning thread */
};

/* Slow path of elock_leave(): wake a sleeping thread. */
void elock_wake(struct elock *l);

/* Its address identifies the thread. */
extern __thread char elock_self __attribute__((tls_model("initial-exec")));

/* Take the lock if it is free. False if it is held, by this thread too. */
static inline bool elock_try(struct elock *l)
{
	if (READ_ONCE(l->word) || !atomic_cmpxchg(&l->word, 0u, 1u))
		return false;
	WRITE_ONCE(l->owner, (const void *)&elock_self);
	return true;
}
/* Slow path of elock_enter(). */
bool elock_wait(struct elock *l);
/* Take the lock. False if this thread holds it already (signal handler): again is set. */
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
/* Does this thread hold the lock? */
bool elock_mine(const struct elock *l);

#endif
