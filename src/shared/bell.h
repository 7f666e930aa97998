/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bell: a flag by which a side that is about to sleep asks the other one for a wake-up, so that a wake-up costs a system
 * call once a sleep and nothing else. What there is to do is in other words of the memory that both share. How the
 * sleeper is woken is theirs to say: an eventfd, a message, a call.
 *
 *	sleeper				waker
 *	bell_want()			smp_store_mb() of something to do
 *	is there something to do?	bell_take(): true: wake the sleeper
 *	if not, sleep
 *	bell_hush() when awake
 *
 * Each side stores a word of its own, and then reads the other's: at least one of them sees the other. So either the
 * sleeper finds what there is to do, or a waker takes the wish. tests/proto/readiness.py is a model of this file.
 *
 * The word is not trusted: a hostile sleeper is woken each time; a hostile waker takes the wish without a wake-up, which
 * delays what it and the bell's other wakers have for the sleeper until that wakes by itself.
 */
#ifndef RUSE_SHARED_BELL_H
#define RUSE_SHARED_BELL_H

#include "base/sys.h"
#include "base/util.h"
#include "shared/barrier.h"

struct bell {
	uint32_t want;		/* 0: no wake-up is needed; else what the sleeper has passed to bell_want() */
};

/* For the sleeper. */

/* Asks for a wake-up. what: not 0. The caller must look once more whether there is something to do. */
static inline void bell_want(struct bell *b, uint32_t what)
{
	smp_store_mb(&b->want, what);
}

/* No wake-up is needed. The word is read first, so its cache line stays shared while a sleeper that is awake repeats it. */
static inline void bell_hush(struct bell *b)
{
	if (READ_ONCE(b->want))
		WRITE_ONCE(b->want, 0u);
}

/* For wakers, after smp_store_mb() or another full barrier behind the stores of what there is to do. */

/* What the sleeper has asked for; 0: nothing. For a waker that does not take the wish: the sleeper takes it back. */
static inline uint32_t bell_wanted(const struct bell *b)
{
	return READ_ONCE(b->want);
}

/* Takes the wish. True: the caller must wake the sleeper; of several wakers one is told so. */
static inline bool bell_take(struct bell *b)
{
	return READ_ONCE(b->want) && atomic_xchg(&b->want, 0u);
}

/* Wake-ups by an eventfd, which remembers one that comes before the sleep. */

/* Wakes the sleeper. Errors are ignored: a full eventfd wakes it, too. */
static inline void bell_ring(int evfd)
{
	static const uint64_t one = 1;

	sys_write(evfd, &one, sizeof(one));
}

/* For the sleeper, when it is awake: forgets wake-ups. evfd does not block. */
static inline void bell_heard(int evfd)
{
	uint64_t n;

	sys_read(evfd, &n, sizeof(n));
}

#endif
