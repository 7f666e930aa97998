/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SIGSEGV and SIGBUS are used by the guarded copies of core/umem.h once a device is open. The program keeps its own
 * actions (signals.c), and its mask is the kernel's (core/umem_mask.h).
 */
#ifndef RUSE_PRELOAD_SIGNALS_H
#define RUSE_PRELOAD_SIGNALS_H

#include <signal.h>
#include "core/umem_mask.h"
#include "shared/barrier.h"

/* True after the signals were taken over. */
extern bool signals_owned;

static inline bool handlers_owned(void)
{
	return smp_load_acquire(&signals_owned);
}

/* Takes over the two signals. Call before the first device is opened; later calls return at once. */
void signals_attach(void);

/* sigaction() of SIGSEGV or SIGBUS: 0, or -1 with errno. old may be NULL, and act, which changes nothing then. */
int signals_action_set(int sig, const struct sigaction *act, struct sigaction *old);

/* In a child of fork(): another thread of the parent may have been changing an action, which then is what it was. */
void signals_forked(void);
#endif
