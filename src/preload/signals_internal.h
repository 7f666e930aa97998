/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the delivery of the two signals (signals.c, signals_pending.c) and libc's functions (calls_sig*.c, calls_exec.c). */
#ifndef RUSE_PRELOAD_SIGNALS_INTERNAL_H
#define RUSE_PRELOAD_SIGNALS_INTERNAL_H

#include <signal.h>
#include "base/sys.h"
#include "preload/signals.h"

#define SIG_BIT(sig) (1ull << ((sig) - 1))
#define OWN_MASK (SIG_BIT(SIGSEGV) | SIG_BIT(SIGBUS))

/* The flags that ruse carries out, or that mean nothing for the two signals. The others are the real handler's, too. */
#define SA_EMULATED                                                                                \
	((int)SA_RESETHAND | SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | \
	 SA_NODEFER)

/* Copies the program's action for SIGSEGV or SIGBUS to old, then sets act (NULL: unchanged). */
void signals_exchange(int sig, const struct sigaction *act, struct sigaction *old);
/* The program's action. In signal handlers, too. */
void signals_action(int sig, struct sigaction *act);
/* Installs the real handler for the given action of the program. 0 or -1. */
int signals_install(int sig, const struct sigaction *program);
/* calls_signal.c: removes the two signals from the masks of installed handlers. */
void signals_strip_handlers(void);

/* Raw system call with an 8-byte set: libc does not let programs block its internal signals. Returns the old mask. */
static inline uint64_t mask_change(int how, uint64_t set)
{
	uint64_t old = 0;

	sys_call(SYS_rt_sigprocmask, how, &set, &old, sizeof(set));
	return old;
}

static inline uint8_t own_bit(int sig)
{
	return sig == SIGSEGV ? OWN_SEGV : sig == SIGBUS ? OWN_BUS : 0;
}

static inline uint8_t bits_of_mask(uint64_t mask)
{
	return (mask & SIG_BIT(SIGSEGV) ? OWN_SEGV : 0) | (mask & SIG_BIT(SIGBUS) ? OWN_BUS : 0);
}

static inline uint64_t mask_of_bits(uint8_t bits)
{
	return (bits & OWN_SEGV ? SIG_BIT(SIGSEGV) : 0) | (bits & OWN_BUS ? SIG_BIT(SIGBUS) : 0);
}

/* signals_pending.c: signals that came while the program had them blocked. */

/* Must a signal that has just come wait? */
bool signals_held(int sig);
/* Keeps a signal that has just come. */
void signals_record(int sig, const siginfo_t *si);
/* Does another thread tell by this that the signal is pending for the process? */
bool signals_is_nudge(const siginfo_t *si);
/* This thread waits no longer. Another waiter is nudged for what it has not taken. Preserves errno. */
void signals_waiter_end(void);
/* Takes a signal that is pending for the process. False: there is none. */
bool signals_take_shared(int sig, siginfo_t *si);
/* The signals that are pending for this thread, blocked or not. */
uint8_t signals_pending_bits(void);
/* Sends those of them again that are among bits. The kernel must block them. */
void signals_send_pending(uint8_t bits);
/* Forgets them, as the kernel does when an action becomes SIG_IGN. */
void signals_forget_pending(uint8_t bits);
/* Call after bits were removed from signals_tls.blocked. Preserves errno. */
void signals_flush_pending(void);
/* In a child of fork(), which has no pending signals. */
void signals_pending_forked(void);

/*
 * A wait with a mask: until its end, the thread blocks of the two signals what is in the mask, and what is pending and not
 * in the mask interrupts the call.
 */
struct signals_wait {
	bool active;
	uint8_t was;
	uint64_t mask;
};

/*
 * bits: what the mask of the wait blocks. The caller leaves both signals out of the mask that the kernel gets. restarts: the
 * kernel restarts the call after a signal that is ignored.
 */
void signals_wait_begin(struct signals_wait *w, uint8_t bits, bool restarts);
void signals_wait_end(const struct signals_wait *w);

#endif
