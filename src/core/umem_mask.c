/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Windows of guarded operations. */
#include <string.h>
#include <ucontext.h>
#include "core/umem_mask.h"
#include "shared/barrier.h"

__thread uint8_t umem_thread __attribute__((tls_model("initial-exec")));
bool umem_handled;

/* Index 0 SIGSEGV, 1 SIGBUS. */
static __thread struct {
	bool open;
	bool came[2];
	siginfo_t info[2];
} window __attribute__((tls_model("initial-exec")));

/* The engine's thread. */
static __thread struct {
	bool is;
	bool met;	/* It has met a signal that is not for it. */
	uint64_t mask;	/* outside windows */
} engine __attribute__((tls_model("initial-exec")));

/* Its address is the value of what looks like sigqueue(). */
static char sent_again;

void umem_siginfo(siginfo_t *si)
{
	if (si->si_code == SI_QUEUE && si->si_value.sival_ptr == &sent_again) {
		si->si_code = SI_USER;
		si->si_value.sival_ptr = NULL;
	}
}

/* Sends it to this thread (what tgkill() has sent), else to the process. Only the main thread may send the latter as kill(). */
static void send_again(int sig, const siginfo_t *si)
{
	long pid = sys_call(SYS_getpid), tid = sys_call(SYS_gettid), ret;
	bool thread = si->si_code == SI_TKILL;
	siginfo_t copy = *si;

	if (si->si_code == SI_USER) {
		copy.si_code = SI_QUEUE;
		copy.si_value.sival_ptr = &sent_again;
	}
	ret = thread ? sys_call(SYS_rt_tgsigqueueinfo, pid, tid, sig, &copy) :
		       sys_call(SYS_rt_sigqueueinfo, pid, sig, &copy);
	/* A seccomp filter may know only the older calls. */
	if (ret && thread)
		sys_call(SYS_tgkill, pid, tid, sig);
	else if (ret)
		sys_call(SYS_kill, pid, sig);
}

/* What a window does not block. */
#define NOT_IN_MASK (1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | UMEM_SIGNALS)

/* Did the signal interrupt a window? A handler of the program runs before or after it, and has another mask. */
static bool in_window(const ucontext_t *uc)
{
	uint64_t mask;

	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	return window.open && (engine.is || (mask | NOT_IN_MASK) == ~0ull);
}

bool umem_refuse(int sig, const siginfo_t *si, const void *uc)
{
	int i = sig == SIGBUS;

	if (si->si_code > 0 || !in_window(uc))
		return false;
	/* Sent to the engine's thread: the program has no such thread. */
	if (engine.is && si->si_code == SI_TKILL)
		return true;
	engine.met = true;
	if (!window.came[i]) {
		window.came[i] = true;
		window.info[i] = *si;
	}
	return true;
}

static void window_begin(struct umem_window *w)
{
	/* Before the mask changes: a signal that is pending comes at once. */
	window.open = true;
	w->mask = engine.is ? umem_mask_change(SIG_UNBLOCK, UMEM_SIGNALS) :
			      umem_mask_change(SIG_SETMASK, ~UMEM_SIGNALS);
	umem_thread = UMEM_DIRECT;
}

static void window_leave(void)
{
	static const int sigs[] = { SIGSEGV, SIGBUS };

	window.open = false;
	for (int i = 0; i < 2; i++) {
		if (!window.came[i])
			continue;
		window.came[i] = false;
		send_again(sigs[i], &window.info[i]);
	}
}

static void window_end(uint64_t mask)
{
	/* Before the mask changes: a handler of another signal may come at once. */
	umem_thread = UMEM_BLOCKED;
	umem_mask_change(SIG_SETMASK, mask);
	window_leave();
}

void umem_jumped(void)
{
	umem_thread = UMEM_ASK;
	if (unlikely(window.open))
		window_leave();
}

void umem_engine_thread(void)
{
	engine.is = true;
	engine.mask = umem_mask_change(SIG_BLOCK, UMEM_SIGNALS) | UMEM_SIGNALS;
	umem_thread = UMEM_BLOCKED;
}

/* What it has met and sent again may still be pending for the process, and would come again at once. */
static bool engine_meets(void)
{
	uint64_t pending = 0;

	if (engine.met) {
		sys_call(SYS_rt_sigpending, &pending, sizeof(pending));
		engine.met = pending & UMEM_SIGNALS;
	}
	return engine.met;
}

void umem_rest(void)
{
	if (umem_thread == UMEM_DIRECT)
		window_end(engine.mask);
}

__cold void umem_window_open(struct umem_window *w)
{
	if (!smp_load_acquire(&umem_handled))
		return;
	if (umem_thread == UMEM_ASK)
		umem_thread = umem_mask_change(SIG_BLOCK, 0) & UMEM_SIGNALS ? UMEM_BLOCKED :
									       UMEM_DIRECT;
	if (umem_thread == UMEM_DIRECT)
		return;
	w->open = !engine.is || engine_meets();
	window_begin(w);
}

__cold void umem_window_close(const struct umem_window *w)
{
	window_end(w->mask);
}
