/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SIGSEGV and SIGBUS while the program has them blocked
 *
 * The kernel does not block them (signals.c), so it delivers what is sent, and fault_handler() records it here. What
 * tgkill() has sent is pending for the thread, all else for the process: the siginfo does not tell sigqueue() from
 * pthread_sigqueue(). When the program unblocks a signal, it is sent again with its siginfo.
 *
 * A window is a call of libc in which the kernel must know: it gets the mask and what is pending, and both are taken back
 * at the end. In a wait with a mask, all signals are blocked until the kernel has put the mask of the wait in force, so
 * what is pending interrupts the call.
 *
 * A signal for the process may come to a thread that blocks it by record, while another one waits for it. The waiter is
 * nudged: it gets the same signal with a siginfo of ruse, and takes the one that is pending.
 */
#include <pthread.h>
#include <string.h>
#include "base/sys.h"
#include "preload/preload.h"
#include "preload/signals_internal.h"

/* Pending for the process. The holder of the lock has all signals blocked. */
static struct signals_pending process;
static uint32_t process_lock;

/* Threads in a window or wait. One that siglongjmp() or its cancellation has taken out is counted for ever. */
static uint32_t windows;

/* Threads that wait: the tid, and above it the signals that they wait for. Under the lock. More do not get nudged. */
#define WAITERS 16
#define WAITER_BITS 32
static uint64_t waiters[WAITERS];

static const int own_signals[] = { SIGSEGV, SIGBUS };

static uint64_t pending_lock(void)
{
	uint64_t mask = mask_change(SIG_BLOCK, ~0ull);

	while (!atomic_cmpxchg(&process_lock, 0u, 1u))
		cpu_relax();
	return mask;
}

static void pending_unlock(uint64_t mask)
{
	smp_store_release(&process_lock, 0u);
	mask_change(SIG_SETMASK, mask);
}

/* While all threads of the program really block a signal, the kernel gives it to a thread of the engine. */
bool signals_held(int sig)
{
	return signals_tls.blocked & own_bit(sig) || (signals_tls.engine && READ_ONCE(windows));
}

static void pending_put(struct signals_pending *p, int sig, const siginfo_t *si)
{
	if (p->bits & own_bit(sig))
		return;
	p->info[sig == SIGBUS] = *si;
	WRITE_ONCE(p->bits, (uint8_t)(p->bits | own_bit(sig)));
}

/* A waiter for the signal if it is pending for the process, else 0. Under the lock. */
static uint32_t waiter_due(int sig)
{
	if (!(process.bits & own_bit(sig)))
		return 0;
	for (int i = 0; i < WAITERS; i++)
		if (waiters[i] >> WAITER_BITS & own_bit(sig))
			return (uint32_t)waiters[i];
	return 0;
}

/* Only a thread itself can be sent what looks like kill(). */
static bool waiter_nudge(uint32_t tid, int sig)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_QUEUE };
	long pid = sys_call(SYS_getpid);

	si.si_value.sival_ptr = &process;
	return !sys_call(SYS_rt_tgsigqueueinfo, pid, (long)tid, (long)sig, &si);
}

static void waiter_forget(uint32_t tid)
{
	uint64_t mask = pending_lock();

	for (int i = 0; i < WAITERS; i++)
		if ((uint32_t)waiters[i] == tid)
			waiters[i] = 0;
	pending_unlock(mask);
}

/* Nudges a waiter if the signal is pending for the process. One may have been cancelled. */
static void waiters_wake(int sig)
{
	uint64_t mask;
	uint32_t tid;
	int e = errno;

	for (;;) {
		mask = pending_lock();
		tid = waiter_due(sig);
		pending_unlock(mask);
		if (!tid || waiter_nudge(tid, sig))
			break;
		waiter_forget(tid);
	}
	errno = e;
}

bool signals_is_nudge(const siginfo_t *si)
{
	return si->si_code == SI_QUEUE && si->si_value.sival_ptr == &process;
}

void signals_record(int sig, const siginfo_t *si)
{
	bool shared = si->si_code != SI_TKILL || signals_tls.engine;
	uint64_t mask = pending_lock();

	pending_put(shared ? &process : &signals_tls.pending, sig, si);
	pending_unlock(mask);
	if (shared)
		waiters_wake(sig);
}

/* A place that is free, or of a thread that has ended. -1: there is none. Under the lock. */
static int waiter_place(void)
{
	long pid = sys_call(SYS_getpid);

	for (int i = 0; i < WAITERS; i++)
		if (!waiters[i])
			return i;
	for (int i = 0; i < WAITERS; i++)
		if (sys_call(SYS_tgkill, pid, (long)(uint32_t)waiters[i], 0L) == -ESRCH)
			return i;
	return -1;
}

/* This thread waits for these signals from now on. It may be in the table, if a handler has left a wait by siglongjmp(). */
static void waiter_add(uint8_t bits)
{
	uint32_t tid = (uint32_t)sys_call(SYS_gettid);
	uint64_t mask;
	int i;

	waiter_forget(tid);
	if (!bits)
		return;
	mask = pending_lock();
	i = waiter_place();
	if (i >= 0)
		waiters[i] = (uint64_t)bits << WAITER_BITS | tid;
	pending_unlock(mask);
}

void signals_waiter_end(void)
{
	waiter_forget((uint32_t)sys_call(SYS_gettid));
	for (size_t i = 0; i < ARRAY_SIZE(own_signals); i++)
		waiters_wake(own_signals[i]);
}

uint8_t signals_pending_bits(void)
{
	return READ_ONCE(signals_tls.pending.bits) | READ_ONCE(process.bits);
}

static bool pending_take_of(struct signals_pending *p, int sig, siginfo_t *si)
{
	uint64_t mask = pending_lock();
	bool found = p->bits & own_bit(sig);

	if (found) {
		*si = p->info[sig == SIGBUS];
		WRITE_ONCE(p->bits, (uint8_t)(p->bits & ~own_bit(sig)));
	}
	pending_unlock(mask);
	return found;
}

bool signals_take_shared(int sig, siginfo_t *si)
{
	return pending_take_of(&process, sig, si);
}

/* Moves one from the thread, else from the process. */
static bool pending_take(int sig, siginfo_t *si)
{
	return pending_take_of(&signals_tls.pending, sig, si) || signals_take_shared(sig, si);
}

void signals_send_pending(uint8_t bits)
{
	siginfo_t si;

	if (likely(!(signals_pending_bits() & bits)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(own_signals); i++) {
		int sig = own_signals[i];
		long pid = sys_call(SYS_getpid), tid = sys_call(SYS_gettid);

		if (!(bits & own_bit(sig)) || !pending_take(sig, &si))
			continue;
		/* A seccomp filter may know only the older call. */
		if (sys_call(SYS_rt_tgsigqueueinfo, pid, tid, sig, &si))
			sys_call(SYS_tgkill, pid, tid, sig);
	}
}

void signals_forget_pending(uint8_t bits)
{
	uint64_t mask = pending_lock();

	WRITE_ONCE(signals_tls.pending.bits, (uint8_t)(signals_tls.pending.bits & ~bits));
	WRITE_ONCE(process.bits, (uint8_t)(process.bits & ~bits));
	pending_unlock(mask);
}

/* One may be pending twice, for the thread and for the process. */
void signals_flush_pending(void)
{
	int e = errno;
	uint8_t due;

	while ((due = signals_pending_bits() & ~signals_tls.blocked)) {
		uint64_t mask = mask_change(SIG_BLOCK, OWN_MASK);

		signals_send_pending(due);
		mask_change(SIG_SETMASK, mask);
	}
	errno = e;
}

void signals_pending_forked(void)
{
	signals_tls.pending.bits = 0;
	process.bits = 0;
	process_lock = 0;
	windows = 0;
	memset(waiters, 0, sizeof(waiters));
}

/*
 * A vfork child uses the data of its parent, and has that thread's block by record only. Once it has changed its own
 * mask, that one is real (calls_signal.c).
 */
static void window_begin_child(struct signals_window *w)
{
	w->child = true;
	if (signals_tls.vfork_child == sys_call(SYS_getpid))
		w->bits = 0;
	else
		w->mask = mask_of_bits(w->bits) & ~mask_change(SIG_BLOCK, mask_of_bits(w->bits));
}

static void window_leave_count(void)
{
	/* In a child of fork() the window may be the parent's. */
	if (READ_ONCE(windows))
		atomic_dec(&windows, 1u);
}

void signals_window_begin_slow(struct signals_window *w, uint8_t wanted)
{
	int e = errno;

	w->bits = signals_tls.blocked;
	w->child = false;
	w->waits = wanted;
	w->depth = signals_tls.depth;
	if (!preload_owns_tables()) {
		window_begin_child(w);
	} else {
		/* In this order: a handler that comes in between must find that engine calls have to look. */
		signals_tls.depth = w->depth + 1;
		engine_thread_ready = false;
		atomic_add(&windows, 1u);
		w->mask = mask_of_bits(w->bits) & ~mask_change(SIG_BLOCK, mask_of_bits(w->bits));
		if (wanted)
			waiter_add(wanted & w->bits);
		signals_send_pending(w->bits);
	}
	errno = e;
}

/* What is still pending comes when it is unblocked, and is recorded again. */
void signals_window_end_slow(const struct signals_window *w)
{
	int e = errno;

	if (w->waits)
		signals_waiter_end();
	mask_change(SIG_UNBLOCK, w->mask);
	if (!w->child) {
		signals_tls.depth = w->depth;
		engine_thread_ready = false;
		window_leave_count();
		signals_flush_pending();
	}
	errno = e;
}

static void wait_forget_ignored(uint8_t due)
{
	struct sigaction act;

	for (size_t i = 0; i < ARRAY_SIZE(own_signals); i++) {
		if (!(due & own_bit(own_signals[i])))
			continue;
		signals_action(own_signals[i], &act);
		if (act.sa_handler == SIG_IGN)
			signals_forget_pending(own_bit(own_signals[i]));
	}
}

void signals_wait_begin(struct signals_wait *w, uint8_t bits, bool restarts)
{
	int e = errno;
	uint8_t due = signals_pending_bits() & ~bits;

	w->active = due || bits != signals_tls.blocked;
	if (likely(!w->active))
		return;
	/* The call would be cancelled with all signals blocked. */
	pthread_testcancel();
	w->mask = mask_change(SIG_BLOCK, ~0ull);
	engine_thread_ready = false;
	w->was = signals_tls.blocked;
	signals_tls.blocked = bits;
	atomic_add(&windows, 1u);
	waiter_add((OWN_SEGV | OWN_BUS) & ~bits);
	due = signals_pending_bits() & ~bits;
	if (restarts)
		wait_forget_ignored(due);
	signals_send_pending(due);
	errno = e;
}

void signals_wait_end(const struct signals_wait *w)
{
	int e = errno;

	if (likely(!w->active))
		return;
	signals_waiter_end();
	window_leave_count();
	signals_tls.blocked = w->was;
	engine_thread_ready = false;
	mask_change(SIG_SETMASK, w->mask);
	signals_flush_pending();
	errno = e;
}
