/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The real functions that have to do with signals, or continue with another mask, for real_funcs.h. */
#ifndef RUSE_PRELOAD_REAL_SIGNAL_H
#define RUSE_PRELOAD_REAL_SIGNAL_H

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

/* X(result, name, arguments) */
#define REAL_SIGNAL_FUNCS(X)                                                   \
	X(int, sigaction, (int, const struct sigaction *, struct sigaction *)) \
	X(sighandler_t, signal, (int, sighandler_t))                           \
	X(sighandler_t, sysv_signal, (int, sighandler_t))                      \
	X(sighandler_t, sigset, (int, sighandler_t))                           \
	X(int, sigignore, (int))                                               \
	X(int, siginterrupt, (int, int))                                       \
	X(int, sighold, (int))                                                 \
	X(int, sigrelse, (int))                                                \
	X(int, sigprocmask, (int, const sigset_t *, sigset_t *))               \
	X(int, pthread_sigmask, (int, const sigset_t *, sigset_t *))           \
	X(int, sigblock, (int))                                                \
	X(int, sigsetmask, (int))                                              \
	X(int, sigwaitinfo, (const sigset_t *, siginfo_t *))                   \
	X(int, sigtimedwait, (const sigset_t *, siginfo_t *, const struct timespec *)) \
	X(void, longjmp, (struct __jmp_buf_tag *, int))                         \
	X(void, __longjmp_chk, (struct __jmp_buf_tag *, int))                   \
	X(int, setcontext, (const ucontext_t *))                               \
	X(int, swapcontext, (ucontext_t *, const ucontext_t *))

#endif
