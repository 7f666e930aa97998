/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions of SIGSEGV and SIGBUS (harmless.c): each function that sets one, and what sigaction() tells then. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

/* Programs still use the functions of System V and BSD. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void tell_action(const char *when, int sig)
{
	struct sigaction sa;
	uint64_t mask;

	if (sigaction(sig, NULL, &sa))
		die("sigaction: %m");
	memcpy(&mask, &sa.sa_mask, sizeof(mask));
	say("%s: %s, flags %#x, restorer %d, mask %#llx", when,
	    sa.sa_handler == SIG_DFL ? "default" : sa.sa_handler == SIG_IGN ? "ignored" : "handler",
	    (unsigned int)sa.sa_flags, sa.sa_restorer != NULL, (unsigned long long)mask);
}

static void on_nothing(int sig)
{
	(void)sig;
}

static void actions_of(int sig)
{
	/* Two flags that the kernel does not know. */
	struct sigaction sa = { .sa_handler = on_nothing,
				.sa_flags = (int)SA_RESETHAND | 0x20000000 | 0x400 };

	tell_action("at first", sig);
	signal(sig, on_nothing);
	tell_action("signal", sig);
	siginterrupt(sig, 1);
	tell_action("siginterrupt", sig);
	signal(sig, on_nothing);
	tell_action("signal, interrupts", sig);
	siginterrupt(sig, 0);
	tell_action("siginterrupt", sig);
	signal(sig, on_nothing);
	tell_action("signal, restarts", sig);
	sysv_signal(sig, on_nothing);
	tell_action("sysv_signal", sig);
	sigset(sig, on_nothing);
	tell_action("sigset", sig);
	sigignore(sig);
	tell_action("sigignore", sig);
	sigfillset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
	tell_action("sigaction", sig);
	raise(sig);
	tell_action("raised", sig);
	signal(sig, SIG_DFL);
	tell_action("default", sig);
}

static void actions(void)
{
	/* The linker warns of a call. */
	int (*get)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "siggetmask");
	sigset_t set;

	actions_of(SIGSEGV);
	actions_of(SIGBUS);
	actions_of(SIGUSR1);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_SETMASK, &set, NULL);
	say("siggetmask: %x", (unsigned int)get());
}

static uint8_t *page;
static int faults, undo = SIG_BLOCK;

static void tell_blocked(const char *when)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	say("%s: SEGV %d, BUS %d", when, sigismember(&set, SIGSEGV), sigismember(&set, SIGBUS));
}

/* As a garbage collector: it lets nothing disturb its work, and puts the mask back. */
static void on_fault(int sig)
{
	sigset_t set, old;

	(void)sig;
	sigfillset(&set);
	if (undo == SIG_UNBLOCK)
		sigemptyset(&set);
	tell_blocked("in the handler");
	pthread_sigmask(undo == SIG_BLOCK ? SIG_BLOCK : SIG_SETMASK, &set, &old);
	if (mprotect(page, PG, RW))
		die("mprotect: %m");
	faults++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	tell_blocked("at its end");
}

static void handler_masks(void)
{
	struct sigaction sa = { .sa_handler = on_fault };
	static const int ways[] = { SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK };

	page = mmap(NULL, PG, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int full = 0; full < 2; full++) {
		if (full)
			sigfillset(&sa.sa_mask);
		sigaction(SIGSEGV, &sa, NULL);
		for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(*ways); i++) {
			undo = ways[i / 2];
			if (mprotect(page, PG, PROT_READ))
				die("mprotect: %m");
			*(volatile uint8_t *)page = 1;
			tell_blocked("afterwards");
		}
		kill(getpid(), SIGSEGV);
	}
	say("%d faults", faults);
}

const struct hcase sigaction_cases[] = {
	{ "sigaction-masks", handler_masks },
	{ "sigaction-told", actions },
	{ 0 },
};
