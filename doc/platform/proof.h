/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that all these programs use. */
#ifndef RUSE_PLATFORM_PROOF_H
#define RUSE_PLATFORM_PROOF_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int contradictions;

/* Prints the fact and whether it holds on this machine; counts the facts that do not. */
static inline void fact(bool holds, const char *what)
{
	printf("%s  %s\n", holds ? "yes" : "NO ", what);
	contradictions += !holds;
}

static inline int verdict(void)
{
	return contradictions ? 1 : 0;
}

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Exits with status 2 unless ok: the program cannot continue without what failed. */
static inline void need(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(2);
	}
}

#endif
