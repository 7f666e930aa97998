/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>
#include "base/sys.h"
#include "base/tuning.h"
#include "engine/lock.h"

/* A lock that is lent for so long is taken. Most forks take less time. */
#define PATIENCE (50 * NS_MS)
#define LOANS(loan) ((uint32_t)(loan))
#define NUMBER(loan) ((uint32_t)((loan) >> 32))

__thread char elock_self __attribute__((tls_model("initial-exec")));
__thread const struct elock *elock_edge __attribute__((tls_model("initial-exec")));

/* The number of the loan of this thread's fork. 0: it has none. */
static __thread uint32_t elock_lent __attribute__((tls_model("initial-exec")));

bool elock_mine(const struct elock *l)
{
	return READ_ONCE(l->owner) == &elock_self;
}

static ns_t elock_now(void)
{
	struct timespec t;

	sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (ns_t)t.tv_sec * NS_S + t.tv_nsec;
}

/* While the kernel copies the memory for a child it lets no thread change mappings: waits until it does not. */
static void elock_no_copy(const struct elock *l)
{
	sys_call(SYS_mprotect, (uintptr_t)l & ~4095ul, 1L, PROT_READ | PROT_WRITE);
}

/* Takes all loans. late: with a new number, by which the forks learn that they have lost them. */
static bool elock_take(struct elock *l, bool late)
{
	uint64_t n;

	do {
		n = READ_ONCE(l->loan);
		if (!LOANS(n))
			return false;
	} while (!atomic_cmpxchg(&l->loan, n, (uint64_t)(NUMBER(n) + late) << 32));
	WRITE_ONCE(l->owner, (const void *)&elock_self);
	return true;
}

/*
 * Takes a lock that was lent for too long, or for several forks. A child whose copy has begun before has the lock as lent,
 * and what it protects must not change until the copy is complete.
 */
static noinline __cold bool elock_take_late(struct elock *l)
{
	elock_no_copy(l);
	if (!elock_take(l, true))
		return false;
	elock_no_copy(l);
	return true;
}

/* In the fork of the thread that has lent the lock, a handler or a signal handler needs it. */
static bool elock_take_own(struct elock *l)
{
	uint64_t n = READ_ONCE(l->loan);

	if (!elock_lent || NUMBER(n) != elock_lent)
		return false;
	return LOANS(n) > 1 ? elock_take_late(l) : elock_take(l, false);
}

/* Takes the lock, or says in it that a thread will sleep. */
static bool elock_take_word(struct elock *l)
{
	const struct elock *before = elock_edge;
	bool taken;

	WRITE_ONCE(elock_edge, (const struct elock *)l);
	taken = !atomic_xchg(&l->word, 2u);
	if (taken)
		WRITE_ONCE(l->owner, (const void *)&elock_self);
	WRITE_ONCE(elock_edge, before);
	return taken;
}

bool elock_wait(struct elock *l)
{
	const struct timespec nap = { .tv_nsec = PATIENCE / 2 };
	ns_t since = 0, now;

	if (elock_take_own(l))
		return true;
	if (elock_mine(l) || READ_ONCE(elock_edge) == l) {
		WRITE_ONCE(l->again, 1u);
		return false;
	}
	/* The owner normally holds the lock for at most a copy of 16 KiB. */
	for (uint32_t i = 0; i < TUNE_SPINS; i++) {
		cpu_relax();
		if (elock_try(l))
			return true;
	}
	while (!elock_take_word(l)) {
		sys_call(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2u, &nap, NULL, 0);
		now = LOANS(READ_ONCE(l->loan)) ? elock_now() : 0;
		if (!since || !now)
			since = now;
		else if (now - since >= PATIENCE && elock_take_late(l))
			return true;
	}
	return true;
}

void elock_lend(struct elock *l)
{
	elock_lent = NUMBER(l->loan) + 1;
	elock_lent += !elock_lent;
	smp_store_release(&l->loan, (uint64_t)elock_lent << 32 | 1);
	/* A signal handler may be here before, and another thread may own it by now. */
	atomic_cmpxchg(&l->owner, (const void *)&elock_self, (const void *)NULL);
}

bool elock_borrow(struct elock *l)
{
	uint64_t n;

	do {
		n = READ_ONCE(l->loan);
		if (!LOANS(n))
			return false;
	} while (!atomic_cmpxchg(&l->loan, n, n + 1));
	elock_lent = NUMBER(n);
	return true;
}

bool elock_return(struct elock *l)
{
	uint32_t mine = elock_lent;
	uint64_t n;

	elock_lent = 0;
	do {
		n = READ_ONCE(l->loan);
		if (NUMBER(n) != mine || !LOANS(n))
			return false;
	} while (!atomic_cmpxchg(&l->loan, n, n - 1));
	if (LOANS(n) > 1)
		return false;
	WRITE_ONCE(l->owner, (const void *)&elock_self);
	return true;
}

bool elock_settled(const struct elock *l)
{
	uint64_t n = READ_ONCE(l->loan);

	if (elock_lent && elock_lent != NUMBER(n))
		return false;
	return LOANS(n) || !READ_ONCE(l->word);
}

void elock_forget(void)
{
	elock_lent = 0;
}

void elock_wake(struct elock *l)
{
	sys_call(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
