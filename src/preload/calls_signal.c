/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libc's functions for signal actions and masks. Until a device is open they call the real
 * functions; afterwards the program's actions of SIGSEGV and SIGBUS are kept in a table (signals.c).
 * Masks are the kernel's: a thread is asked for its mask again after a call that may have changed it
 * (core/umem_mask.h). A vfork child has its own actions but sees its parent's tables, so it gets the
 * real calls.
 */
#include <errno.h>
#include <stddef.h>
#include "preload/preload.h"
#include "preload/signals.h"

HOOK int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
/* Needs other feature-test macros for its declaration. */
HOOK sighandler_t bsd_signal(int sig, sighandler_t handler);

/* Bits of the two signals. */
#define OWN_SEGV 0x1
#define OWN_BUS 0x2

static uint8_t own_bit(int sig)
{
	return sig == SIGSEGV ? OWN_SEGV : sig == SIGBUS ? OWN_BUS : 0;
}

static bool own_signal(int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS) && handlers_owned() && preload_owns_tables();
}

/* Actions. */

/*
 * The kernel discards what is pending when a signal becomes ignored, but here it has ruse's handler. What is pending for
 * other threads stays.
 */
static void own_discard(int sig)
{
	uint64_t set = 1ull << (sig - 1), mask = umem_mask_change(SIG_BLOCK, set);
	const struct timespec now = { 0 };
	int e = errno;

	while (sys_call(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set)) == sig)
		;
	umem_mask_change(SIG_SETMASK, mask);
	errno = e;
}

static int own_action(int sig, const struct sigaction *act, struct sigaction *old)
{
	bool ignored = act && act->sa_handler == SIG_IGN;
	int ret = signals_action_set(sig, act, old);

	if (!ret && ignored)
		own_discard(sig);
	return ret;
}

HOOK int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return own_signal(sig) ? own_action(sig, act, old) : REAL(sigaction)(sig, act, old);
}

/* in_mask: the signal is blocked while its handler runs. */
static sighandler_t own_signal_set(int sig, sighandler_t handler, int flags, bool in_mask)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigemptyset(&act.sa_mask);
	if (in_mask)
		sigaddset(&act.sa_mask, sig);
	return own_action(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* The signals for which siginterrupt() has told signal() not to set SA_RESTART. In a vfork child the parent's, as in libc. */
static uint8_t interrupts;

/* The real function changes SA_RESTART of the real handler, which own_action() puts right. */
HOOK int siginterrupt(int sig, int interrupt)
{
	struct sigaction act;
	int ret = REAL(siginterrupt)(sig, interrupt);

	if (ret || !own_bit(sig))
		return ret;
	if (interrupt)
		interrupts |= own_bit(sig);
	else
		interrupts &= ~own_bit(sig);
	if (!own_signal(sig))
		return ret;
	own_action(sig, NULL, &act);
	act.sa_flags = interrupt ? act.sa_flags & ~SA_RESTART : act.sa_flags | SA_RESTART;
	return own_action(sig, &act, NULL);
}

HOOK sighandler_t signal(int sig, sighandler_t handler)
{
	if (!own_signal(sig))
		return REAL(signal)(sig, handler);
	return own_signal_set(sig, handler, own_bit(sig) & interrupts ? 0 : SA_RESTART, true);
}

HOOK sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	if (!own_signal(sig))
		return REAL(sysv_signal)(sig, handler);
	return own_signal_set(sig, handler, (int)SA_RESETHAND | SA_NODEFER, false);
}

HOOK int sigignore(int sig)
{
	if (!own_signal(sig))
		return REAL(sigignore)(sig);
	return own_signal_set(sig, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

/* Masks. */

/* Returns the result of the call that has changed the mask. Async-signal-safe. */
static int mask_changed(int ret)
{
	umem_thread = UMEM_ASK;
	return ret;
}

HOOK int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int ret = REAL(sigprocmask)(how, set, old);

	return set ? mask_changed(ret) : ret;
}

HOOK int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int ret = REAL(pthread_sigmask)(how, set, old);

	return set ? mask_changed(ret) : ret;
}

HOOK int sighold(int sig)
{
	return mask_changed(REAL(sighold)(sig));
}

HOOK int sigrelse(int sig)
{
	return mask_changed(REAL(sigrelse)(sig));
}

HOOK int sigblock(int mask)
{
	return mask_changed(REAL(sigblock)(mask));
}

HOOK int sigsetmask(int mask)
{
	return mask_changed(REAL(sigsetmask)(mask));
}

/* What was sent again is told as it was. */

HOOK int sigwaitinfo(const sigset_t *set, siginfo_t *si)
{
	int ret = REAL(sigwaitinfo)(set, si);

	if (ret > 0 && si)
		umem_siginfo(si);
	return ret;
}

HOOK int sigtimedwait(const sigset_t *set, siginfo_t *si, const struct timespec *ts)
{
	int ret = REAL(sigtimedwait)(set, si, ts);

	if (ret > 0 && si)
		umem_siginfo(si);
	return ret;
}

/*
 * sigset() of System V: SIG_HOLD blocks the signal; another value becomes its handler and unblocks
 * it. Returns SIG_HOLD if the signal was blocked.
 */
HOOK sighandler_t sigset(int sig, sighandler_t handler)
{
	struct sigaction act;
	sigset_t set, was;
	sighandler_t old;

	if (!own_signal(sig)) {
		old = REAL(sigset)(sig, handler);
		mask_changed(0);
		return old;
	}
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (handler != SIG_HOLD) {
		old = own_signal_set(sig, handler, 0, false);
		if (old == SIG_ERR)
			return SIG_ERR;
	} else {
		own_action(sig, NULL, &act);
		old = act.sa_handler;
	}
	if (sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &was))
		return SIG_ERR;
	return sigismember(&was, sig) == 1 ? SIG_HOLD : old;
}

/* Other names of the same functions in libc. */
extern __typeof__(sigaction) __sigaction __attribute__((alias("sigaction"), copy(sigaction))) HOOK;
extern __typeof__(signal) bsd_signal __attribute__((alias("signal"), copy(signal))) HOOK;
extern __typeof__(signal) ssignal __attribute__((alias("signal"), copy(signal))) HOOK;
extern __typeof__(sysv_signal) __sysv_signal
	__attribute__((alias("sysv_signal"), copy(sysv_signal))) HOOK;
