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

/*
 * The flags that ruse carries out, or that mean nothing for the two signals. The others are the real handler's, too, and
 * are told as the kernel tells them.
 */
#define SA_EMULATED                                                                                \
	((int)SA_RESETHAND | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | \
	 SA_NODEFER)

/* True after the signals were taken over. */
extern bool signals_owned;

static inline bool handlers_owned(void)
{
	return smp_load_acquire(&signals_owned);
}

/* Takes over the two signals. Call before the first device is opened; later calls return at once. */
void signals_attach(void);

/* Copies the program's action for SIGSEGV or SIGBUS to old, then sets act (NULL: unchanged). */
void signals_exchange(int sig, const struct sigaction *act, struct sigaction *old);
/* Installs the real handler for the given action of the program. 0 or -1. */
int signals_install(int sig, const struct sigaction *program);

/* In a child of fork(): another thread of the parent may have been changing an action, which then is what it was. */
void signals_forked(void);
#endif
