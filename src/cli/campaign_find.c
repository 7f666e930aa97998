/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which decisions of a failing run are enough to make it fail: each alone is tried FIND_TRIES times, then each pair. Those that
 * are enough are then repeated, and so is the run without them.
 */
#include <string.h>

#include "cli/campaign_find.h"

#define FIND_TRIES 3u		/* a decision that makes one run in two fail is overlooked once in eight times */
#define FIND_PAIRED 8u		/* of so many decisions pairs are tried: 28 at most */

struct finder {
	struct find *f;
	unsigned int n, repeats;
	find_repeat *repeat;
	void *arg;
};

static uint32_t find_all(unsigned int n)
{
	return n < 32 ? (1u << n) - 1 : UINT32_MAX;
}

/* Is the set enough? 1, 0 or -errno. */
static int find_fails(const struct finder *s, uint32_t set)
{
	int rc = s->repeat(s->arg, set, FIND_TRIES, true);

	return rc > 0 ? 1 : rc;
}

/* Repeats the run with a set; *fails: how often it has failed. 0 or -errno. */
static int find_count(const struct finder *s, uint32_t set, unsigned int *fails)
{
	int rc = s->repeat(s->arg, set, s->repeats, false);

	*fails = rc > 0 ? (unsigned int)rc : 0;
	return rc < 0 ? rc : 0;
}

/* Sets those that are enough alone. How many, or -errno. */
static int find_alone(const struct finder *s)
{
	int rc, found = 0;

	for (unsigned int i = 0; i < s->n; i++) {
		rc = find_fails(s, 1u << i);
		if (rc < 0)
			return rc;
		s->f->enough[i] = rc;
		found += rc;
	}
	return found;
}

/* Sets the first pair that is enough. 1, 0: there is none, or -errno. */
static int find_pair(const struct finder *s)
{
	int rc;

	for (unsigned int i = 0; s->n <= FIND_PAIRED && i < s->n; i++)
		for (unsigned int k = i + 1; k < s->n; k++) {
			rc = find_fails(s, 1u << i | 1u << k);
			if (rc)
				s->f->enough[i] = s->f->enough[k] = rc > 0;
			if (rc)
				return rc;
		}
	return 0;
}

/* Counts what the verdict says. 0 or -errno. */
static int find_confirm(const struct finder *s)
{
	uint32_t rest = find_all(s->n), set = 0;
	struct find *f = s->f;
	int rc = 0;

	for (unsigned int i = 0; !rc && i < s->n; i++) {
		if (!f->enough[i])
			continue;
		set |= 1u << i;
		if (f->verdict == FIND_ALONE)
			rc = find_count(s, 1u << i, &f->fails[i]);
	}
	if (!rc && f->verdict == FIND_PAIR)
		rc = find_count(s, set, &f->together);
	return rc ? rc : find_count(s, rest & ~set, &f->without);
}

int campaign_find(struct find *f, unsigned int n, unsigned int repeats, find_repeat *repeat,
		  void *arg)
{
	const struct finder s = { f, n, repeats, repeat, arg };
	int rc;

	memset(f, 0, sizeof(*f));
	f->of = repeats;
	if (!n)
		return find_count(&s, 0, &f->together);
	f->verdict = FIND_ALONE;
	rc = find_alone(&s);
	if (!rc && n > 1) {
		f->verdict = FIND_PAIR;
		rc = find_pair(&s);
	}
	if (rc)
		return rc < 0 ? rc : find_confirm(&s);
	rc = find_count(&s, find_all(n), &f->together);
	f->verdict = f->together ? FIND_TOGETHER : FIND_NEVER;
	return rc ? rc : find_count(&s, 0, &f->without);
}
