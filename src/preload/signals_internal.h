/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the delivery of the two signals (signals.c) and libc's functions (calls_signal.c). */
#ifndef RUSE_PRELOAD_SIGNALS_INTERNAL_H
#define RUSE_PRELOAD_SIGNALS_INTERNAL_H

#include <signal.h>
#include "preload/signals.h"

/* True after the signals were taken over. */
extern bool signals_owned;

/* Copies the program's action for SIGSEGV or SIGBUS to old, then sets act (NULL: unchanged). */
void signals_exchange(int sig, const struct sigaction *act, struct sigaction *old);
/* Installs the real handler for the given action of the program. 0 or -1. */
int signals_install(int sig, const struct sigaction *program);
/* Call after bits were removed from signals_tls.blocked. */
void signals_flush_pending(void);
/* calls_signal.c: removes the two signals from the masks of installed handlers. */
void signals_strip_handlers(void);

#endif
