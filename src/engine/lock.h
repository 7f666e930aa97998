/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock that knows its owner. Each process has two: the engine lock, and the connection lock for
 * messages to rused (rused.h).
 *
 * A doorbell in a signal handler that interrupted the owner of the engine lock sets `again` and
 * returns; the owner does its work when it unlocks. With a lock held, system calls are raw: a pending
 * pthread_cancel() would act in a libc call that waits, and leave the lock held for ever. Lock order:
 * engine lock first, then the connection lock or QP cards. The provider's locks, which the program
 * holds across a doorbell, are never taken here.
 */
#ifndef RUSE_ENGINE_LOCK_H
#define RUSE_ENGINE_LOCK_H

#include "base/util.h"
#include "shared/barrier.h"

struct elock {
	uint32_t word;		/* 0: free, 1: held, 2: held, and a thread sleeps */
	uint32_t again;		/* a doorbell interrupted the owner */
	const void *owner;	/* address of elock_self in the owning thread */
	uint64_t loan;		/* elock_lend(): forks for which the lock is held, and in the upper half a number of this loan */
};

/* Slow path of elock_leave(): wake a sleeping thread. */
void elock_wake(struct elock *l);

/* Its address identifies the thread. */
extern __thread char elock_self __attribute__((tls_model("initial-exec")));

/*
 * The lock that this thread is about to take or to release: word and owner do not change at once. A signal handler that finds its
 * lock here has interrupted that, and must not wait.
 */
extern __thread const struct elock *elock_edge __attribute__((tls_model("initial-exec")));

/* Take the lock if it is free. False if it is held, by this thread too. */
static inline bool elock_try(struct elock *l)
{
	const struct elock *before = elock_edge;
	bool taken;

	if (READ_ONCE(l->word))
		return false;
	WRITE_ONCE(elock_edge, (const struct elock *)l);
	taken = atomic_cmpxchg(&l->word, 0u, 1u);
	if (taken)
		WRITE_ONCE(l->owner, (const void *)&elock_self);
	WRITE_ONCE(elock_edge, before);
	return taken;
}
/* Slow path of elock_enter(). */
bool elock_wait(struct elock *l);
/* Take the lock. False if this thread holds it already (signal handler): again is set. */
static inline bool elock_enter(struct elock *l)
{
	return likely(elock_try(l)) || elock_wait(l);
}
/* A handler may set `again` before this returns. */
static inline void elock_leave(struct elock *l)
{
	const struct elock *before = elock_edge;
	uint32_t word;

	WRITE_ONCE(elock_edge, (const struct elock *)l);
	WRITE_ONCE(l->owner, (const void *)NULL);
	word = atomic_xchg(&l->word, 0u);
	WRITE_ONCE(elock_edge, before);
	if (unlikely(word == 2))
		elock_wake(l);
}
/* Does this thread hold the lock? */
bool elock_mine(const struct elock *l);

/*
 * Loans, for fork(). What the lock protects must not change until the child has its copy, but the forking thread still
 * waits for locks of libc and of the program's own handlers meanwhile, and their holders may wait for this lock. So its
 * owner lends it to the fork. Others wait as if it were held, but not for ever: then they take it.
 *
 * elock_lend() ends the ownership. elock_borrow(): for a fork beside another one; false if the lock is not lent.
 * elock_return() ends the loan of this thread, if it has one. True: it was the last, and this thread owns the lock.
 * A thread lends one lock of all.
 */
void elock_lend(struct elock *l);
bool elock_borrow(struct elock *l);
bool elock_return(struct elock *l);
/*
 * In a child, which has the lock as it was at the fork: was no thread changing what it protects? False, too, if another
 * thread has taken the loan of this fork. elock_forget(): the child has no loan.
 */
bool elock_settled(const struct elock *l);
void elock_forget(void);

#endif
