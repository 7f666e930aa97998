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

#include "engine/engine.h"

/* Bits of the two signals. */
#define OWN_SEGV 0x1
#define OWN_BUS 0x2

struct signals_tls {
	uint8_t blocked;	/* blocked by the program on this thread: recorded, not done */
	uint8_t pending;	/* sent by kill() etc. while blocked */
	uint32_t depth;		/* number of the program's handlers running on this thread */
};

extern __thread struct signals_tls signals_tls __attribute__((tls_model("initial-exec")));

/* Takes over the two signals. Call before the first device is opened; later calls return at once. */
void signals_attach(void);

void signals_enter_slow(struct thread_guard *g);
void signals_leave_slow(const struct thread_guard *g);

/* In a child of fork(): another thread of the parent may have been changing an action, which then is what it was. */
void signals_forked(void);

/* signals_enter() and signals_leave() for struct engine_ops. */
void signals_thread_enter(struct thread_guard *g);
void signals_thread_leave(const struct thread_guard *g);

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
