/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logs signal and backtrace when rused crashes, as it has no terminal. Allocates nothing, since the
 * heap may be damaged. Uses libgcc's unwinder directly, as backtrace() loads it on first use.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "base/log.h"
#include "daemon/life/crash.h"

#define FRAMES_MAX 32
#define STACK_SIZE 65536	/* for the unwinder and a signal frame with AVX-512 */

static int log_dir = -1;
static const char *log_name, *kept_name;

struct walk {
	bool inside;	/* the walk has passed the frames of the signal handler */
	int frames;
};

static _Unwind_Reason_Code say_frame(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	const char *file, *slash;
	int before = 0;
	uintptr_t ip = _Unwind_GetIPInfo(c, &before);
	Dl_info info;

	w->inside |= before;
	if (!w->inside)
		return _URC_NO_REASON;
	if (!ip || w->frames++ == FRAMES_MAX)
		return _URC_NORMAL_STOP;
	/* Look up the call and not the return address behind it, which may belong to the next function. */
	ip -= !before;
	if (!dladdr((void *)ip, &info) || !info.dli_fname) {
		log_err("  0x%lx", (unsigned long)ip);
		return _URC_NO_REASON;
	}
	slash = strrchr(info.dli_fname, '/');
	file = slash ? slash + 1 : info.dli_fname;
	log_err("  %s+0x%lx", file, (unsigned long)(ip - (uintptr_t)info.dli_fbase));
	return _URC_NO_REASON;
}

/* SA_RESETHAND: a second fault in here ends the process. */
static void crash_handler(int sig, siginfo_t *si, void *context)
{
	struct walk w = { 0 };

	(void)context;
	if (si->si_code > 0 && sig != SIGABRT)
		log_err("crashed: SIG%s, address %p, at", sigabbrev_np(sig), si->si_addr);
	else
		log_err("crashed: SIG%s, at", sigabbrev_np(sig));
	_Unwind_Backtrace(say_frame, &w);
	log_err("please report this crash; `addr2line -ipfe FILE OFFSET` shows the source lines");
	if (log_dir >= 0)
		(void)renameat(log_dir, log_name, log_dir, kept_name);
	raise(sig);
}

void crash_watch(int dir, const char *log, const char *keep)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	static uint8_t stack[STACK_SIZE];
	const stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_sigaction = crash_handler,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND };

	log_dir = dir;
	log_name = log;
	kept_name = keep;
	/* A stack overflow needs an alternate stack. */
	if (sigaltstack(&ss, NULL))
		sa.sa_flags &= ~SA_ONSTACK;
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
}
