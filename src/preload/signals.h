/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SIGSEGV and SIGBUS are used by the checked copies of core/umem.h once a device is open.
 * calls_signal.c emulates them for the program. A thread must call signals_enter() before the
 * engine and signals_leave() afterwards. In between the kernel must not block the two signals on
 * this thread: it kills a process that faults while the signal is blocked, and a checked copy may
 * fault.
 */
#ifndef RUSE_PRELOAD_SIGNALS_H
#define RUSE_PRELOAD_SIGNALS_H

#include <signal.h>
#include "engine/engine.h"
#include "shared/barrier.h"

/* Bits of the two signals. */
#define OWN_SEGV 0x1
#define OWN_BUS 0x2

/* Signals that were sent while blocked. They do not queue: of each, the first one counts. Index 0 SIGSEGV, 1 SIGBUS. */
struct signals_pending {
	uint8_t bits;
	siginfo_t info[2];
};

struct signals_tls {
	uint8_t blocked;	/* blocked by the program on this thread: recorded, not done */
	bool engine;		/* a thread of the engine */
	pid_t vfork_child;	/* the last vfork child of this thread that has a mask of its own */
	uint32_t depth;		/* number of the program's handlers running on this thread, and of windows */
	struct signals_pending pending;
};

extern __thread struct signals_tls signals_tls __attribute__((tls_model("initial-exec")));

/* True after the signals were taken over. */
extern bool signals_owned;

static inline bool handlers_owned(void)
{
	return smp_load_acquire(&signals_owned);
}

/* Takes over the two signals. Call before the first device is opened; later calls return at once. */
void signals_attach(void);

void signals_enter_slow(struct thread_guard *g);
void signals_leave_slow(const struct thread_guard *g);

/* In a child of fork(): another thread of the parent may have been changing an action, which then is what it was. */
void signals_forked(void);

/* signals_enter() and signals_leave() for struct engine_ops. */
void signals_thread_enter(struct thread_guard *g);
void signals_thread_leave(const struct thread_guard *g);
/* First on a thread of the engine: it does not block the two signals, whatever it has inherited. */
void signals_thread_own(void);

/*
 * A window: the time of a call of libc in which the kernel must block what the program has blocked, and must have what
 * is pending, because the call passes the mask on or waits for signals. A handler that runs in it may use the engine.
 */
struct signals_window {
	uint8_t bits;		/* 0: none */
	bool child;		/* of a vfork child */
	bool waits;		/* for one of the two signals */
	uint32_t depth;
	uint64_t mask;		/* to be unblocked at the end */
};

/* wanted: the signals that the call waits for. */
void signals_window_begin_slow(struct signals_window *w, uint8_t wanted);
void signals_window_end_slow(const struct signals_window *w);

/* Both preserve errno, and are async-signal-safe. */
static inline void signals_window_begin(struct signals_window *w)
{
	w->bits = 0;
	if (unlikely(handlers_owned() && signals_tls.blocked))
		signals_window_begin_slow(w, 0);
}

static inline void signals_window_end(const struct signals_window *w)
{
	if (unlikely(w->bits))
		signals_window_end_slow(w);
}

static inline void signals_enter(struct thread_guard *g)
{
	g->restore = false;
	if (unlikely(!engine_thread_ready))
		signals_enter_slow(g);
}

static inline void signals_leave(const struct thread_guard *g)
{
	if (unlikely(g->restore))
		signals_leave_slow(g);
}

#endif
