/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SIGSEGV and SIGBUS belong to the checked copies of core/umem.h once a device
 * is open; calls_signal.c says how the program keeps its own. A thread goes
 * into the engine between signals_enter() and signals_leave(): a thread that
 * really has the two blocked would be killed by the first copy that faults.
 */
#ifndef RUSE_PRELOAD_SIGNALS_H
#define RUSE_PRELOAD_SIGNALS_H

#include "engine/engine.h"

/* Bits for the two signals. */
#define OWN_SEGV 0x1
#define OWN_BUS 0x2

struct signals_tls {
	uint8_t blocked;	/* the program has blocked them on this thread: remembered, not done */
	uint8_t pending;	/* sent by somebody while so blocked */
	uint32_t depth;		/* the program's handlers that are running on this thread */
};

extern __thread struct signals_tls signals_tls __attribute__((tls_model("initial-exec")));

/* Before the first device is opened: takes the two signals over. Once; cheap afterwards. */
void signals_attach(void);

void signals_enter_slow(struct thread_guard *g);
void signals_leave_slow(const struct thread_guard *g);

/* The two below, for struct engine_host. */
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
