/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guarded instructions (umem_arch.h) on threads that block SIGSEGV or SIGBUS
 *
 * The kernel kills a process that faults while the signal is blocked. So each thread knows whether it blocks the two, and
 * if it does, it unblocks them for the time of one guarded operation: a window. What is sent meanwhile to the thread or
 * the process is not for this thread, and is sent again when the window closes. All other signals are blocked in a
 * window: their handlers must not run with another mask than the program's.
 */
#ifndef RUSE_CORE_UMEM_MASK_H
#define RUSE_CORE_UMEM_MASK_H

#include <signal.h>
#include "base/sys.h"
#include "base/util.h"

#define UMEM_SIGNALS (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1))

enum umem_thread {
	UMEM_ASK,	/* the kernel is asked at the next operation */
	UMEM_DIRECT,	/* neither signal is blocked, or a window is open */
	UMEM_BLOCKED,	/* a signal is blocked: each operation opens a window */
};

/* The state of this thread. preload/ sets it to UMEM_ASK after each call of the program that may change the mask. */
extern __thread uint8_t umem_thread __attribute__((tls_model("initial-exec")));

/* Set when the handlers of preload/ are in place. Before, a fault kills anyway, and there are no windows. */
extern bool umem_handled;

struct umem_window {
	bool open;
	uint64_t mask;	/* in force again after the window */
};

static inline bool umem_is_direct(void)
{
	return likely(umem_thread == UMEM_DIRECT);
}

void umem_window_open(struct umem_window *w);
void umem_window_close(const struct umem_window *w);

/* Opens a window, if this thread needs one. The thread is UMEM_DIRECT until the window ends. */
static inline void umem_window_begin(struct umem_window *w)
{
	w->open = false;
	if (!umem_is_direct())
		umem_window_open(w);
}

static inline void umem_window_end(const struct umem_window *w)
{
	if (unlikely(w->open))
		umem_window_close(w);
}

/*
 * The calling thread is the engine's, and none of the program's signals is for it. It blocks both. Its first guarded
 * operation opens a window that lasts until umem_rest(); while one of the two is pending for the process, each operation
 * has a window of its own.
 */
void umem_engine_thread(void);
/* On that thread, before it sleeps. */
void umem_rest(void);

/*
 * In a handler of SIGSEGV or SIGBUS, which has ucontext_t *uc. True: a signal that kill() or the like has sent has come
 * because a window is open, and is sent again after it. Of each signal, the first one counts, as in the kernel.
 */
bool umem_refuse(int sig, const siginfo_t *si, const void *uc);

/*
 * Before the thread continues elsewhere, by siglongjmp() or the like: the mask may change, and a window is left without its
 * end.
 */
void umem_jumped(void);

/* Makes a siginfo that the kernel has given what it was before the signal was sent again. */
void umem_siginfo(siginfo_t *si);

/* Changes the mask of this thread by a raw system call, as libc does not block its own signals. Returns the old mask. */
static inline uint64_t umem_mask_change(int how, uint64_t set)
{
	uint64_t old = 0;

	sys_call(SYS_rt_sigprocmask, how, &set, &old, sizeof(set));
	return old;
}
#endif
