/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which decisions of a failing run are enough to make it fail. */
#ifndef RUSE_CLI_CAMPAIGN_FIND_H
#define RUSE_CLI_CAMPAIGN_FIND_H

#include <stdbool.h>
#include <stdint.h>

#define CAMPAIGN_POINTS 32	/* decisions of a run that are looked at */

enum find_verdict {
	FIND_NONE,		/* there were none */
	FIND_ALONE,		/* one is enough */
	FIND_PAIR,		/* two are */
	FIND_TOGETHER,		/* all of them, and no one or two alone */
	FIND_NEVER,		/* not even all of them, again */
};

struct find {
	enum find_verdict verdict;
	bool enough[CAMPAIGN_POINTS];	/* FIND_ALONE: each of these. FIND_PAIR: these two */
	unsigned int fails[CAMPAIGN_POINTS];	/* FIND_ALONE: how often with this one alone */
	unsigned int together;	/* others: how often with what is in the verdict */
	unsigned int without;	/* how often without those that are enough */
	unsigned int of;	/* repetitions */
};

/*
 * Repeats a run with the points of set (a mask) alone up to n times; returns how many have failed, -errno. first: the first
 * failure is enough to know.
 */
typedef int find_repeat(void *arg, uint32_t set, unsigned int n, bool first);
/* Looks for the decisions, of n, that are enough. 0 or -errno of repeat(). */
int campaign_find(struct find *f, unsigned int n, unsigned int repeats, find_repeat *repeat,
		  void *arg);

#endif
