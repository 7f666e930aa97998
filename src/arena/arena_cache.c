/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks that were freed last. A program that allocates and frees the same sizes in turns gets them back as they are:
 * no page of them is looked at.
 *
 * A cached block keeps PG_USED, so no neighbour joins it. It counts as free: not in arena.used and arena.large, but in
 * arena.dirty. A block whose pages differ from each other (arena_page.mixed) is never cached. Calls that may change
 * pages of any block empty the cache first.
 */
#include <string.h>
#include "arena/arena_cache.h"
#include "arena/arena_internal.h"

bool arena_cache_has(uint32_t at)
{
	for (uint32_t i = 0; i < arena_state.ncached; i++)
		if (arena_state.cached[i] == at)
			return true;
	return false;
}

/* Takes entry i out of the cache; its block is a block of the program again. */
static uint32_t arena_cache_del(uint32_t i)
{
	uint32_t at = arena_state.cached[i], n = arena_state.page[at].len;

	arena_state.ncached--;
	memmove(&arena_state.cached[i], &arena_state.cached[i + 1],
		(arena_state.ncached - i) * sizeof(arena_state.cached[0]));
	arena_state.dirty -= n;
	arena_state.used += n;
	if (arena_state.page[at].flags & PG_LARGE)
		arena_state.large += n;
	return at;
}

enum arena_cached arena_cache_put(uint32_t at)
{
	uint32_t n = arena_state.page[at].len;

	if (arena_cache_has(at))
		return ARENA_CACHE_TWICE;
	if (arena_state.page[at].mixed || arena_state.orphan || arena_state.dirty + n > ARENA_KEEP)
		return ARENA_CACHE_NOT;
	if (arena_state.ncached == ARENA_CACHED)
		arena_release(arena_cache_del(0), false);
	arena_state.cached[arena_state.ncached++] = at;
	arena_state.dirty += n;
	arena_state.used -= n;
	if (arena_state.page[at].flags & PG_LARGE)
		arena_state.large -= n;
	return ARENA_CACHE_DONE;
}

uint32_t arena_cache_get(uint32_t n, uint32_t align, uint8_t flags)
{
	uint32_t base = (uint32_t)(arena_base >> PAGE_SHIFT);

	for (uint32_t i = arena_state.ncached; i--;) {
		uint32_t at = arena_state.cached[i];

		if (arena_state.page[at].len == n && !((base + at) & (align - 1)) &&
		    (arena_state.page[at].flags & PG_LARGE) == flags)
			return arena_cache_del(i);
	}
	return 0;
}

bool arena_cache_empty(void)
{
	bool any = arena_state.ncached;

	while (arena_state.ncached)
		arena_release(arena_cache_del(arena_state.ncached - 1), false);
	return any;
}
