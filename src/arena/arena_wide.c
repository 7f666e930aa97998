/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wide form of the arena, which RUSE_MEMORY asks for. Large blocks of malloc() and mmap() come from the arena too, so
 * that more of what a program registers is shared. The small form runs none of this.
 *
 * Blocks that were freed last are kept. A program that allocates and frees the same sizes in turns gets them back as they are:
 * no page of them is looked at.
 *
 * A cached block keeps PG_USED, so no neighbour joins it. It counts as free: not in arena.used and arena.large, but in
 * arena.dirty. A block whose pages differ from each other (arena_page.mixed) is never cached. Calls that may change
 * pages of any block empty the cache first.
 */
#include <string.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/arena_wide.h"
#include "arena/calls.h"

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

/* Pages that a block had before are freed, not cleared: a program that maps memory finds no page resident. */
void *arena_mmap(size_t len)
{
	uint32_t n = arena_pages(min(len, (size_t)arena_bytes)), at = 0;
	uint64_t mask;

	if (!arena_wide || !arena_state.wanted || arena_state.fd < 0)
		return NULL;
	mask = arena_lock();
	if (arena_state.forks)
		at = 0;
	else if (len <= arena_bytes)
		at = arena_take_new(n, 1, ARENA_LARGE);
	else
		arena_state.full = true;
	for (uint32_t i = at, k; at && i < at + n; i += k) {
		k = arena_same(i, at + n, PG_DIRTY);
		if (arena_state.page[i].flags & PG_DIRTY && !arena_punch(i, k))
			memset(arena_addr(i), 0, arena_len(k));
	}
	arena_unlock(mask);
	return at ? arena_addr(at) : NULL;
}

/* Adds the n free pages behind the block to it. */
static bool arena_take_after(uint32_t head, uint32_t n)
{
	uint32_t at = head + arena_state.page[head].len;
	uint8_t large = arena_state.page[head].flags & PG_LARGE;

	if (at >= arena_state.npages || arena_state.page[at].flags & PG_USED ||
	    arena_state.orphan || arena_state.forks)
		return false;
	if (arena_state.page[at].len < n ||
	    (large && arena_state.large + n > arena_state.npages / 2))
		return false;
	arena_carve(at, at, n, PG_USED | large);
	if (arena_map_rest(at, n)) {
		arena_release(at, true);
		return false;
	}
	for (uint32_t i = at; i < at + n; i++)
		arena_state.page[i].head = head;
	arena_state.page[head].len += n;
	return true;
}

bool arena_extend(void *p, size_t len)
{
	uint32_t n = arena_pages(min(len, (size_t)arena_bytes)), at = arena_page_of((uintptr_t)p);
	uint64_t mask;
	bool done;

	if (!arena_wide || len > arena_bytes)
		return false;
	mask = arena_lock();
	if (n > arena_state.page[at].len)
		arena_cache_empty(); /* the next block may be one of them */
	done = n <= arena_state.page[at].len ||
	       arena_take_after(at, n - arena_state.page[at].len);
	arena_unlock(mask);
	return done;
}
