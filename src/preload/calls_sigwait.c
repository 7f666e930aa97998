/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libc's functions that wait for signals or with a mask of signals. Until a device is open they call the real functions;
 * afterwards SIGSEGV and SIGBUS, which the program blocks by record only, are made pending for the call (signals_pending.c).
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "core/umem.h"
#include "preload/preload.h"
#include "preload/signals_internal.h"

HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask,
		     size_t size);
HOOK int __sigsuspend(const sigset_t *set);
HOOK int __sigpause(int sig_or_mask, int is_sig);
HOOK int __xpg_sigpause(int sig);
/* <signal.h> gives the function of this name to __xpg_sigpause(). */
HOOK int sigpause_bsd(int mask) __asm__("sigpause");
#if !__GLIBC_PREREQ(2, 35)
HOOK int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
#endif

/* Signals that are taken or told. */

HOOK int sigpending(sigset_t *set)
{
	int ret = REAL(sigpending)(set);
	uint8_t bits;

	if (likely(!handlers_owned()) || ret || !preload_owns_tables())
		return ret;
	bits = signals_pending_bits() & signals_tls.blocked;
	if (bits & OWN_SEGV)
		sigaddset(set, SIGSEGV);
	if (bits & OWN_BUS)
		sigaddset(set, SIGBUS);
	return ret;
}

/* What the thread has inherited becomes a record, as when it uses the engine. */
static void wait_settle(void)
{
	struct thread_guard g = { 0 };

	if (unlikely(!engine_thread_ready && !signals_tls.depth) && preload_owns_tables())
		signals_enter_slow(&g);
}

static bool wait_needs_window(void)
{
	if (likely(!handlers_owned()))
		return false;
	wait_settle();
	return signals_tls.blocked;
}

/* sigtimedwait(). If another thread has taken the signal for which this one was nudged, the whole time begins again. */
static int wait_in_window(const sigset_t *set, siginfo_t *si, const struct timespec *ts)
{
	struct signals_window w;
	siginfo_t none;
	uint64_t word = 0;
	int ret;

	if (!si)
		si = &none;
	/* If it cannot be read, the kernel answers EFAULT. */
	umem_copy(&word, set, sizeof(word));
	signals_window_begin_slow(&w, bits_of_mask(word));
	do
		ret = REAL(sigtimedwait)(set, si, ts);
	while (ret > 0 && signals_is_nudge(si) && !signals_take_shared(ret, si));
	signals_window_end(&w);
	return ret;
}

HOOK int sigtimedwait(const sigset_t *set, siginfo_t *si, const struct timespec *ts)
{
	return wait_needs_window() ? wait_in_window(set, si, ts) : REAL(sigtimedwait)(set, si, ts);
}

HOOK int sigwaitinfo(const sigset_t *set, siginfo_t *si)
{
	return wait_needs_window() ? wait_in_window(set, si, NULL) : REAL(sigwaitinfo)(set, si);
}

HOOK int sigwait(const sigset_t *set, int *sig)
{
	int e = errno, ret;

	if (!wait_needs_window())
		return REAL(sigwait)(set, sig);
	do
		ret = wait_in_window(set, NULL, NULL);
	while (ret < 0 && errno == EINTR);
	if (ret < 0) {
		ret = errno;
	} else {
		*sig = ret;
		ret = 0;
	}
	errno = e;
	return ret;
}

/* Waits with a mask. */

struct masked_wait {
	struct signals_wait wait;
	const sigset_t *mask;	/* for the real function */
	sigset_t copy;
};

/*
 * The mask of the wait also applies to handlers that run during it, so SIGSEGV and SIGBUS are removed from it. The kernel
 * reads only its own 8 bytes; if they cannot be read, it answers EFAULT.
 */
static void masked_begin_slow(struct masked_wait *m, const sigset_t *mask, bool restarts)
{
	uint64_t word;

	wait_settle();
	if (umem_copy(&word, mask, sizeof(word)))
		return;
	if ((word & OWN_MASK || signals_tls.blocked) && !preload_owns_tables())
		return;
	signals_wait_begin(&m->wait, bits_of_mask(word), restarts);
	word &= ~OWN_MASK;
	sigemptyset(&m->copy);
	memcpy(&m->copy, &word, sizeof(word));
	m->mask = &m->copy;
}

/* restarts: a signal that is ignored does not end the call. */
static void masked_begin(struct masked_wait *m, const sigset_t *mask, bool restarts)
{
	m->mask = mask;
	m->wait.active = false;
	if (unlikely(mask && handlers_owned()))
		masked_begin_slow(m, mask, restarts);
}

HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask)
{
	struct masked_wait m;
	int ret;

	masked_begin(&m, mask, true);
	ret = REAL(ppoll)(fds, n, ts, m.mask);
	signals_wait_end(&m.wait);
	return ret;
}

HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask,
		     size_t size)
{
	struct masked_wait m;
	int ret;

	masked_begin(&m, mask, true);
	ret = REAL(__ppoll_chk)(fds, n, ts, m.mask, size);
	signals_wait_end(&m.wait);
	return ret;
}

HOOK int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *ts,
		 const sigset_t *mask)
{
	struct masked_wait m;
	int ret;

	masked_begin(&m, mask, true);
	ret = REAL(pselect)(n, in, out, except, ts, m.mask);
	signals_wait_end(&m.wait);
	return ret;
}

HOOK int epoll_pwait(int ep, struct epoll_event *events, int max, int ms, const sigset_t *mask)
{
	struct masked_wait m;
	int ret;

	masked_begin(&m, mask, false);
	ret = REAL(epoll_pwait)(ep, events, max, ms, m.mask);
	signals_wait_end(&m.wait);
	return ret;
}

HOOK int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *ts,
		      const sigset_t *mask)
{
	struct masked_wait m;
	int ret;

	masked_begin(&m, mask, false);
	ret = REAL(epoll_pwait2)(ep, events, max, ts, m.mask);
	signals_wait_end(&m.wait);
	return ret;
}

HOOK int sigsuspend(const sigset_t *set)
{
	struct masked_wait m;
	int ret;

	masked_begin(&m, set, true);
	ret = REAL(sigsuspend)(m.mask);
	signals_wait_end(&m.wait);
	return ret;
}

/* sigpause() of System V: sigsuspend() with the thread's mask, without sig. */
static int pause_without(int sig)
{
	sigset_t set;

	if (sigprocmask(SIG_BLOCK, NULL, &set) || sigdelset(&set, sig))
		return -1;
	return sigsuspend(&set);
}

/* Of BSD: the int holds the first 32 signals. */
static int pause_bsd(int mask)
{
	uint64_t word = (uint32_t)mask;
	sigset_t set;

	sigemptyset(&set);
	memcpy(&set, &word, sizeof(word));
	return sigsuspend(&set);
}

HOOK int __sigpause(int sig_or_mask, int is_sig)
{
	if (likely(!handlers_owned()))
		return REAL(__sigpause)(sig_or_mask, is_sig);
	return is_sig ? pause_without(sig_or_mask) : pause_bsd(sig_or_mask);
}

HOOK int __xpg_sigpause(int sig)
{
	return likely(!handlers_owned()) ? REAL(__xpg_sigpause)(sig) : pause_without(sig);
}

HOOK int sigpause_bsd(int mask)
{
	return likely(!handlers_owned()) ? REAL(sigpause)(mask) : pause_bsd(mask);
}

extern __typeof__(sigsuspend) __sigsuspend
	__attribute__((alias("sigsuspend"), copy(sigsuspend))) HOOK;
