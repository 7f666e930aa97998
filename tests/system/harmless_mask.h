/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the cases of harmless.c with blocked signals. */
#ifndef HARMLESS_MASK_H
#define HARMLESS_MASK_H

#include <signal.h>
#include <string.h>
#include "harmless.h"
#include "verbs.h"

/* 0 is no signal. */
static inline sigset_t set_of(int a, int b)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, a);
	sigaddset(&set, b);
	return set;
}

static inline void change(int how, int a, int b)
{
	sigset_t set = set_of(a, b);

	if (sigprocmask(how, &set, NULL))
		die("sigprocmask: %m");
}

static inline const char *names_of(const sigset_t *set, char *buf)
{
	static const struct {
		int sig;
		const char *name;
	} sigs[] = { { SIGSEGV, " SEGV" }, { SIGBUS, " BUS" }, { SIGUSR1, " USR1" }, { SIGUSR2, " USR2" } };

	strcpy(buf, "");
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++)
		if (sigismember(set, sigs[i].sig) == 1)
			strcat(buf, sigs[i].name);
	return buf;
}

/* Tells what of the four signals is blocked, and what is pending. */
static inline void tell(const char *when)
{
	sigset_t blocked, pending;
	char a[64], b[64];

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	sigpending(&pending);
	say("%s: blocked%s, pending%s", when, names_of(&blocked, a), names_of(&pending, b));
}

#endif
