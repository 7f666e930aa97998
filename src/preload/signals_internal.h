/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the delivery of the two signals (signals.c) and libc's names for them (calls_signal.c). */
#ifndef RUSE_PRELOAD_SIGNALS_INTERNAL_H
#define RUSE_PRELOAD_SIGNALS_INTERNAL_H

#include <signal.h>
#include "preload/signals.h"

/* The two signals are ours. */
extern bool signals_owned;

/* The program's action for SIGSEGV or SIGBUS: the former one to old, then act in its place (NULL: none). */
void signals_exchange(int sig, const struct sigaction *act, struct sigaction *old);
/* Installs the real handler for a signal whose program action is this. 0 or -1. */
int signals_install(int sig, const struct sigaction *program);
/* After bits were taken out of signals_tls.blocked. */
void signals_flush_pending(void);
/* calls_signal.c: takes the two out of the masks of handlers that are installed already. */
void signals_strip_handlers(void);

#endif
