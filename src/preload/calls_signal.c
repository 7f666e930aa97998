/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libc's functions for signal actions and masks. Until a device is open they call the real
 * functions; afterwards SIGSEGV and SIGBUS are emulated (signals.c): their actions are kept in a
 * table, and blocking them is recorded per thread but not done. They are also removed from the
 * masks of the program's other handlers. A vfork child has its own actions and mask but sees its
 * parent's tables, so it gets the real calls.
 */
#include <errno.h>
#include <stddef.h>
#include "preload/preload.h"
#include "preload/signals_internal.h"

HOOK int __sigaction(int sig, const struct sigaction *act, struct sigaction *old);
/* Needs other feature-test macros for its declaration. */
HOOK sighandler_t bsd_signal(int sig, sighandler_t handler);

/* By signal: which of SIGSEGV and SIGBUS the program has put into the mask of its handler (OWN_SEGV, OWN_BUS). */
static uint8_t handler_bits[NSIG];

static bool own_signal(int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS) && handlers_owned() && preload_owns_tables();
}

static uint8_t bits_of(const sigset_t *set)
{
	return (sigismember(set, SIGSEGV) == 1 ? OWN_SEGV : 0) |
	       (sigismember(set, SIGBUS) == 1 ? OWN_BUS : 0);
}

static void own_strip(sigset_t *set)
{
	sigdelset(set, SIGSEGV);
	sigdelset(set, SIGBUS);
}

static void add_bits(sigset_t *set, uint8_t bits)
{
	if (bits & OWN_SEGV)
		sigaddset(set, SIGSEGV);
	if (bits & OWN_BUS)
		sigaddset(set, SIGBUS);
}

/* Actions. */

/*
 * Makes it what the kernel would tell of it. libc adds the same restorer to each action, and so to that of the real
 * handler; from Linux 5.11 on, the kernel drops unknown flags.
 */
static void own_action_kept(int sig, struct sigaction *act)
{
	struct sigaction now;

	sigdelset(&act->sa_mask, SIGKILL);
	sigdelset(&act->sa_mask, SIGSTOP);
	if (REAL(sigaction)(sig, NULL, &now))
		return;
	act->sa_flags = (act->sa_flags & SA_EMULATED) | (now.sa_flags & ~SA_EMULATED);
	act->sa_restorer = now.sa_restorer;
}

static int own_action(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction copy;

	if (act) {
		copy = *act;
		if (signals_install(sig, &copy))
			return -1;
		own_action_kept(sig, &copy);
	}
	signals_exchange(sig, act ? &copy : NULL, old);
	if (act && copy.sa_handler == SIG_IGN)
		signals_forget_pending(own_bit(sig));
	return 0;
}

/* sigaction() of the other signals. Their handlers must not run with SIGSEGV or SIGBUS really blocked. */
static int other_action(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction copy;
	uint8_t bits = sig > 0 && sig < NSIG ? READ_ONCE(handler_bits[sig]) : 0, more = 0;
	int ret;

	if (act) {
		copy = *act;
		more = bits_of(&copy.sa_mask);
		own_strip(&copy.sa_mask);
	}
	ret = REAL(sigaction)(sig, act ? &copy : NULL, old);
	if (ret)
		return ret;
	if (old)
		add_bits(&old->sa_mask, bits);
	if (act && more != bits && preload_owns_tables())
		WRITE_ONCE(handler_bits[sig], more);
	return 0;
}

void signals_strip_handlers(void)
{
	struct sigaction act;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sig == SIGSEGV || sig == SIGBUS || REAL(sigaction)(sig, NULL, &act))
			continue;
		if (act.sa_handler == SIG_DFL || act.sa_handler == SIG_IGN ||
		    !bits_of(&act.sa_mask))
			continue;
		WRITE_ONCE(handler_bits[sig], bits_of(&act.sa_mask));
		own_strip(&act.sa_mask);
		REAL(sigaction)(sig, &act, NULL);
	}
}

HOOK int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	if (likely(!handlers_owned()))
		return REAL(sigaction)(sig, act, old);
	return own_signal(sig) ? own_action(sig, act, old) : other_action(sig, act, old);
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

/* signal() and the like, of another signal, have set a mask without the two. */
static sighandler_t other_set(int sig, sighandler_t ret)
{
	if (unlikely(handlers_owned() && ret != SIG_ERR && handler_bits[sig]) &&
	    preload_owns_tables())
		WRITE_ONCE(handler_bits[sig], 0);
	return ret;
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
		return other_set(sig, REAL(signal)(sig, handler));
	return own_signal_set(sig, handler, own_bit(sig) & interrupts ? 0 : SA_RESTART, true);
}

HOOK sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	if (!own_signal(sig))
		return other_set(sig, REAL(sysv_signal)(sig, handler));
	return own_signal_set(sig, handler, (int)SA_RESETHAND | SA_NODEFER, false);
}

HOOK int sigignore(int sig)
{
	if (!own_signal(sig))
		return other_set(sig, REAL(sigignore)(sig) ? SIG_ERR : SIG_DFL) == SIG_ERR ? -1 : 0;
	return own_signal_set(sig, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

/* Masks. */

static uint8_t own_blocked_after(int how, uint8_t bits)
{
	switch (how) {
	case SIG_BLOCK:
		return signals_tls.blocked | bits;
	case SIG_UNBLOCK:
		return signals_tls.blocked & ~bits;
	case SIG_SETMASK:
		return bits;
	}
	return signals_tls.blocked;
}

/*
 * In a vfork child. Its first change makes the record of its parent's thread real, from which on the kernel has its mask;
 * the parent's record does not change.
 */
static int change_mask_child(int (*fn)(int, const sigset_t *, sigset_t *), int how,
			     const sigset_t *set, sigset_t *old)
{
	pid_t pid = (pid_t)sys_call(SYS_getpid);

	if (signals_tls.vfork_child != pid) {
		signals_tls.vfork_child = pid;
		mask_change(SIG_BLOCK, mask_of_bits(signals_tls.blocked));
	}
	return fn(how, set, old);
}

/*
 * In the program's handler of one of the two signals, where a block is real and ends with the handler. What the record
 * has besides, the call may only take away.
 */
static int change_mask_in_handler(int (*fn)(int, const sigset_t *, sigset_t *), int how,
				  const sigset_t *set, sigset_t *old)
{
	uint8_t was = signals_tls.blocked, now = set ? own_blocked_after(how, bits_of(set)) : was;
	int ret = fn(how, set, old);

	if (ret)
		return ret;
	if (old)
		add_bits(old, was);
	engine_thread_ready = false;
	signals_tls.blocked = was & now;
	signals_flush_pending();
	return 0;
}

static int change_mask(int (*fn)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
		       sigset_t *old)
{
	uint8_t was = signals_tls.blocked, now = was;
	sigset_t copy;
	int ret;

	if (set) {
		copy = *set;
		now = own_blocked_after(how, bits_of(&copy));
		/*
		 * Pass SIG_UNBLOCK on unchanged: while a handler of the program runs, SIGSEGV and
		 * SIGBUS may really be blocked, and the call must unblock them.
		 */
		if (how != SIG_UNBLOCK)
			own_strip(&copy);
	}
	if ((now != was || was) && !preload_owns_tables())
		return change_mask_child(fn, how, set, old);
	if (signals_tls.depth)
		return change_mask_in_handler(fn, how, set, old);
	ret = fn(how, set ? &copy : NULL, old);
	if (ret)
		return ret;
	if (old)
		add_bits(old, was);
	if (now != was) {
		signals_tls.blocked = now;
		signals_flush_pending();
	}
	return 0;
}

HOOK int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return likely(!handlers_owned()) ? REAL(sigprocmask)(how, set, old) :
				  change_mask(REAL(sigprocmask), how, set, old);
}

HOOK int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return likely(!handlers_owned()) ? REAL(pthread_sigmask)(how, set, old) :
				  change_mask(REAL(pthread_sigmask), how, set, old);
}

static int change_one(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return change_mask(REAL(sigprocmask), how, &set, NULL);
}

HOOK int sighold(int sig)
{
	return own_signal(sig) ? change_one(SIG_BLOCK, sig) : REAL(sighold)(sig);
}

HOOK int sigrelse(int sig)
{
	return own_signal(sig) ? change_one(SIG_UNBLOCK, sig) : REAL(sigrelse)(sig);
}

/* BSD calls: the int holds the first 32 signals. */
static int change_bsd(int how, int mask)
{
	sigset_t set, old;
	int ret = 0;

	sigemptyset(&set);
	for (int sig = 1; sig <= 32; sig++)
		if ((uint32_t)mask >> (sig - 1) & 1)
			sigaddset(&set, sig);
	if (change_mask(REAL(sigprocmask), how, &set, &old))
		return -1;
	for (int sig = 1; sig <= 32; sig++)
		if (sigismember(&old, sig) == 1)
			ret |= (int)(1u << (sig - 1));
	return ret;
}

HOOK int sigblock(int mask)
{
	return likely(!handlers_owned()) ? REAL(sigblock)(mask) : change_bsd(SIG_BLOCK, mask);
}

HOOK int siggetmask(void)
{
	return likely(!handlers_owned()) ? REAL(siggetmask)() : change_bsd(SIG_BLOCK, 0);
}

HOOK int sigsetmask(int mask)
{
	return likely(!handlers_owned()) ? REAL(sigsetmask)(mask) : change_bsd(SIG_SETMASK, mask);
}

/*
 * sigset() of System V: SIG_HOLD blocks the signal; another value becomes its handler and unblocks
 * it. Returns SIG_HOLD if the signal was blocked.
 */
HOOK sighandler_t sigset(int sig, sighandler_t handler)
{
	bool was;
	sighandler_t old;
	struct sigaction act;

	if (!own_signal(sig))
		return handler == SIG_HOLD ? REAL(sigset)(sig, handler) :
					     other_set(sig, REAL(sigset)(sig, handler));
	was = signals_tls.blocked & (sig == SIGSEGV ? OWN_SEGV : OWN_BUS);
	if (handler == SIG_HOLD) {
		if (change_one(SIG_BLOCK, sig))
			return SIG_ERR;
		own_action(sig, NULL, &act);
		old = act.sa_handler;
	} else {
		old = own_signal_set(sig, handler, 0, false);
		if (old == SIG_ERR || change_one(SIG_UNBLOCK, sig))
			return SIG_ERR;
	}
	return was ? SIG_HOLD : old;
}

/* Other names of the same functions in libc. */
extern __typeof__(sigaction) __sigaction __attribute__((alias("sigaction"), copy(sigaction))) HOOK;
extern __typeof__(signal) bsd_signal __attribute__((alias("signal"), copy(signal))) HOOK;
extern __typeof__(signal) ssignal __attribute__((alias("signal"), copy(signal))) HOOK;
extern __typeof__(sysv_signal) __sysv_signal
	__attribute__((alias("sysv_signal"), copy(sysv_signal))) HOOK;
