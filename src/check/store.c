/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * With --check=locate: which store has changed the buffer of a request?
 *
 * A change is found when it is over. So the bytes at the same offset of the next request from the same post are watched by the
 * host, until that request is polled. One request is watched at a time.
 */
#include "check/check_internal.h"

#define WANTED 32u
#define TRIES 64u	/* a store that comes now and then: to watch costs more than a message */

static struct check_wanted {
	uint32_t site, tries;
	uint64_t at;		/* offset in the message */
} wanted[WANTED];
static uint32_t nwanted;

static const struct check_block *watched;
static struct check_wanted *watched_for;

void check_store_begin(void)
{
	nwanted = 0;
	watched = NULL;
}

void check_store_wanted(uint32_t site, uint64_t at)
{
	if (!check_host->watch || !site)
		return;
	for (uint32_t i = 0; i < nwanted; i++)
		if (wanted[i].site == site)
			return;
	if (nwanted < WANTED)
		wanted[nwanted++] = (struct check_wanted){ .site = site, .at = at };
}

static void *check_store_address(const struct check_block *b, uint64_t at)
{
	for (uint32_t i = 0; i < b->nparts; at -= b->part[i++].len)
		if (at < b->part[i].len)
			return b->part[i].addr + at;
	return NULL;
}

void check_store_posted(uint32_t site, const struct check_block *b)
{
	struct check_wanted *w = wanted;

	if (likely(!nwanted) || watched)
		return;
	while (w != wanted + nwanted && w->site != site)
		w++;
	if (w == wanted + nwanted || w->tries == TRIES || w->at >= b->len)
		return;
	w->tries++;
	if (!check_host->watch(check_store_address(b, w->at))) {
		w->tries = TRIES;
		return;
	}
	watched = b;
	watched_for = w;
}

uint32_t check_store_site(const struct check_block *b)
{
	uint32_t site = watched == b ? check_host->stored() : 0;

	if (site)
		watched_for->tries = TRIES;
	return site;
}

void check_store_over(const struct check_block *b)
{
	if (likely(watched != b))
		return;
	check_host->watch(NULL);
	watched = NULL;
}
