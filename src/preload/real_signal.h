/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The real functions that have to do with signals, or pass their mask on, for real_funcs.h. */
#ifndef RUSE_PRELOAD_REAL_SIGNAL_H
#define RUSE_PRELOAD_REAL_SIGNAL_H

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>

/* <signal.h> makes it a macro. */
#undef sigpause

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
	X(int, siggetmask, (void))                                             \
	X(int, sigpending, (sigset_t *))                                       \
	X(int, sigwait, (const sigset_t *, int *))                             \
	X(int, sigwaitinfo, (const sigset_t *, siginfo_t *))                   \
	X(int, sigtimedwait, (const sigset_t *, siginfo_t *, const struct timespec *)) \
	X(int, sigsuspend, (const sigset_t *))                                 \
	X(int, __sigpause, (int, int))                                         \
	X(int, __xpg_sigpause, (int))                                          \
	X(int, sigpause, (int))                                                \
	X(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) \
	X(int, __ppoll_chk,                                                    \
	  (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)) \
	X(int, pselect,                                                        \
	  (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
	X(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *)) \
	X(int, epoll_pwait2,                                                   \
	  (int, struct epoll_event *, int, const struct timespec *, const sigset_t *)) \
	X(int, execve, (const char *, char *const *, char *const *))           \
	X(int, execv, (const char *, char *const *))                           \
	X(int, execvp, (const char *, char *const *))                          \
	X(int, execvpe, (const char *, char *const *, char *const *))          \
	X(int, fexecve, (int, char *const *, char *const *))                   \
	X(int, execveat, (int, const char *, char *const *, char *const *, int)) \
	X(int, posix_spawn,                                                    \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const *, char *const *))                                      \
	X(int, posix_spawnp,                                                   \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const *, char *const *))                                      \
	X(int, system, (const char *))                                         \
	X(FILE *, popen, (const char *, const char *))

#endif
