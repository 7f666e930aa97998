/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Actions of SIGSEGV and SIGBUS (harmless.c): each function that sets one, and what sigaction() tells then. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
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

const struct hcase sigaction_cases[] = {
	{ "sigaction-told", actions },
	{ 0 },
};
