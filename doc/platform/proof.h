/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the proofs have in common. */
#ifndef RUSE_PLATFORM_PROOF_H
#define RUSE_PLATFORM_PROOF_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int contradictions;

/* Says whether the machine behaves as ruse expects. */
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

/* What the proof itself needs and cannot go on without. */
static inline void need(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(2);
	}
}

#endif
