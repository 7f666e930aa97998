/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs of pages.
 *
 * The pages are divided into runs, each a block or free. Free runs are in lists by their size; a freed block is
 * joined with its free neighbours.
 *
 * A page is mapped when a block first needs it, and stays mapped when the block is freed. Its memory is kept too, up
 * to ARENA_KEEP pages for the whole arena, as malloc() of libc keeps it: a program that allocates and frees in turns
 * makes no system call.
 */
#include <fcntl.h>
#include <string.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/arena_wide.h"
#include "arena/calls.h"
#include "base/sys.h"

/* Runs of one list that are looked at for a block. */
#define ARENA_LOOKS 16

void *arena_reserve(void *at, uint64_t size)
{
	int flags = MAP_RESERVE | (at ? MAP_FIXED : 0);
	long p = sys_call(SYS_mmap, at, size, PROT_NONE, flags, -1, 0L);

	if (arena_failed(p))
		return NULL;
	arena_unlock_pages((void *)p, size);
	return (void *)p;
}

/* After mlockall(MCL_FUTURE) a new mapping counts as locked, and its pages are made. */
void arena_unlock_pages(const void *p, size_t len)
{
	if (!arena_state.confined)
		sys_call(SYS_munlock, p, len);
}

void *arena_map_own(size_t guard, size_t len)
{
	char *p = arena_reserve(NULL, guard + len);

	if (p && sys_call(SYS_mprotect, p + guard, len, PROT_RW)) {
		sys_call(SYS_munmap, p, guard + len);
		p = NULL;
	}
	return p;
}

static void arena_bin_add(uint32_t at)
{
	struct arena_page *p = &arena_state.page[at];
	uint32_t *first = &arena_state.bin[ilog2(p->len)];

	p->prev = 0;
	p->next = *first;
	if (*first)
		arena_state.page[*first].prev = at;
	*first = at;
}

static void arena_bin_del(uint32_t at)
{
	struct arena_page *p = &arena_state.page[at];

	if (p->prev)
		arena_state.page[p->prev].next = p->next;
	else
		arena_state.bin[ilog2(p->len)] = p->next;
	if (p->next)
		arena_state.page[p->next].prev = p->prev;
}

void arena_run_free(uint32_t at, uint32_t n)
{
	arena_state.page[at].len = n;
	arena_state.page[at].head = arena_state.page[at + n - 1].head = at;
	arena_bin_add(at);
}

uint32_t arena_same(uint32_t at, uint32_t end, uint8_t mask)
{
	uint32_t i = at + 1;

	while (i < end && !((arena_state.page[i].flags ^ arena_state.page[at].flags) & mask))
		i++;
	return i - at;
}

void arena_count_holes(_Atomic uint32_t *word)
{
	uint64_t mask = arena_lock();

	arena_state.holes = word;
	arena_unlock(mask);
}

void arena_uncount_holes(const _Atomic uint32_t *word)
{
	uint64_t mask = arena_lock();

	if (arena_state.holes == word)
		arena_state.holes = NULL;
	arena_unlock(mask);
}

/* madvise() first: a seccomp filter with the system calls of malloc() permits it. It fails on pages without a mapping. */
static bool arena_remove(uint32_t at, uint32_t n)
{
	if (!sys_call(SYS_madvise, arena_addr(at), arena_len(n), (long)MADV_REMOVE))
		return true;
	arena_fd_check();
	return !arena_state.confined && arena_state.fd >= 0 &&
	       !sys_call(SYS_fallocate, arena_state.fd,
			 (long)(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE),
			 (long)at << PAGE_SHIFT, (long)n << PAGE_SHIFT);
}

bool arena_punch(uint32_t at, uint32_t n)
{
	bool done;

	if (!arena_has_file())
		return true;
	done = arena_remove(at, n);
	/* Also after a failure: a part may be gone. */
	if (arena_state.holes)
		++*arena_state.holes;
	return done;
}

int arena_map_pages(uint32_t at, uint32_t n)
{
	size_t len = arena_len(n);
	long rc;

	arena_fd_check();
	if (arena_state.fd < 0)
		return -EBADF;
	rc = sys_call(SYS_mmap, arena_addr(at), len, PROT_RW, MAP_SHARED | MAP_FIXED,
		      arena_state.fd, (long)at << PAGE_SHIFT);
	if (rc < 0 && rc > -4096)
		return (int)rc;
	rc = sys_call(SYS_madvise, arena_addr(at), len, MADV_DONTFORK);
	if (rc < 0) {
		arena_reserve(arena_addr(at), len);
		return (int)rc;
	}
	for (uint32_t i = at; i < at + n; i++) {
		arena_state.page[i].flags |= PG_MAPPED;
		arena_state.page[i].noprot = arena_state.page[i].odd = 0;
		arena_state.page[i].advice = arena_state.page[i].pkey = 0;
		arena_state.page[i].locked = 0;
	}
	return 0;
}

void arena_unmap_pages(uint32_t at, uint32_t n)
{
	if (!arena_reserve(arena_addr(at), arena_len(n)))
		sys_call(SYS_mprotect, arena_addr(at), arena_len(n), PROT_NONE);
	for (uint32_t i = at; i < at + n; i++)
		arena_state.page[i].flags &= (uint8_t) ~(PG_MAPPED | PG_COVERED);
}

int arena_map_rest(uint32_t at, uint32_t n)
{
	uint32_t end = at + n, k;
	int err;

	for (; at < end; at += k) {
		k = arena_same(at, end, PG_MAPPED);
		if (arena_state.page[at].flags & PG_MAPPED)
			continue;
		err = arena_map_pages(at, k);
		if (err)
			return err;
	}
	return 0;
}

/* A free run with room for n pages from a multiple of align pages; *at: where. 0: none. */
static uint32_t arena_find(uint32_t n, uint32_t align, uint32_t *at)
{
	uint32_t base = (uint32_t)(arena_base >> PAGE_SHIFT) & (align - 1);

	for (uint32_t b = ilog2(n); b < ARENA_BINS; b++) {
		uint32_t r = arena_state.bin[b];
		int looks = ARENA_LOOKS;

		for (; r && looks; r = arena_state.page[r].next, looks--) {
			*at = ALIGN_UP(r + base, align) - base;
			if (*at - r + n <= arena_state.page[r].len)
				return r;
		}
	}
	return 0;
}

void arena_carve(uint32_t run, uint32_t at, uint32_t n, uint8_t flags)
{
	uint32_t end = run + arena_state.page[run].len;

	arena_bin_del(run);
	if (at > run)
		arena_run_free(run, at - run);
	if (at + n < end)
		arena_run_free(at + n, end - at - n);
	arena_state.page[at].len = n;
	arena_state.page[at].mixed = false;
	arena_state.page[at].apart = 0;
	for (uint32_t i = at; i < at + n; i++) {
		struct arena_page *p = &arena_state.page[i];

		arena_state.dirty -= !!(p->flags & PG_DIRTY);
		p->head = at;
		p->flags |= flags;
	}
	arena_state.top = max(arena_state.top, at + n);
	arena_state.used += n;
	if (flags & PG_LARGE)
		arena_state.large += n;
}

/* Makes [at, at + n) free and joins it with its neighbours. Returns the first page of the run. */
static uint32_t arena_join(uint32_t at, uint32_t n)
{
	uint32_t end = at + n;

	if (at > 1 && !(arena_state.page[at - 1].flags & PG_USED)) {
		at = arena_state.page[at - 1].head;
		arena_bin_del(at);
	}
	if (end < arena_state.npages && !(arena_state.page[end].flags & PG_USED)) {
		arena_bin_del(end);
		end += arena_state.page[end].len;
	}
	arena_run_free(at, end - at);
	return at;
}

uint32_t arena_release(uint32_t at, bool unmap)
{
	uint32_t n = arena_state.page[at].len;
	bool dirty;

	for (uint32_t i = at; i < at + n && !unmap; i++)
		unmap = arena_state.page[i].odd || arena_state.page[i].flags & PG_COVERED;
	dirty = (!unmap && arena_state.dirty + n <= ARENA_KEEP) || !arena_punch(at, n);
	if (unmap)
		arena_unmap_pages(at, n);
	for (uint32_t i = at; i < at + n; i++) {
		struct arena_page *p = &arena_state.page[i];

		if (p->flags & PG_LARGE)
			arena_state.large--;
		if (p->flags & PG_ENDED)
			arena_state.ended--;
		if (p->noprot) /* it is mapped anew when it is needed */
			p->flags &= (uint8_t)~PG_MAPPED;
		p->noprot = p->odd = p->locked = p->going = 0;
		p->advice = p->pkey = 0;
		p->flags = (p->flags & PG_MAPPED) | (dirty ? PG_DIRTY : 0);
	}
	arena_state.used -= n;
	if (dirty)
		arena_state.dirty += n;
	return arena_join(at, n);
}

void arena_split(uint32_t at)
{
	uint32_t head = arena_state.page[at].head, end = head + arena_state.page[head].len;

	if (head == at)
		return;
	arena_state.page[head].len = at - head;
	arena_state.page[at].len = end - at;
	arena_state.page[at].mixed = arena_state.page[head].mixed;
	arena_state.page[at].apart = arena_state.page[head].apart;
	for (uint32_t i = at; i < end; i++)
		arena_state.page[i].head = at;
}

void arena_mark_mixed(uint32_t at, uint32_t end)
{
	for (; at < end; at++)
		if (arena_state.page[at].flags & PG_USED)
			arena_state.page[arena_state.page[at].head].mixed = true;
}

bool arena_block_pinned(uint32_t head)
{
	for (uint32_t i = head; i < head + arena_state.page[head].len; i++)
		if (arena_state.page[i].pins)
			return true;
	return false;
}

void arena_drop(uint32_t at, uint32_t end, bool unmap)
{
	while (at < end) {
		uint32_t n;

		if (!(arena_state.page[at].flags & PG_USED)) {
			at++; /* only a program that unmaps what it does not have gets here */
			continue;
		}
		arena_split(at);
		if (at + arena_state.page[at].len > end)
			arena_split(end);
		n = arena_state.page[at].len;
		if (!arena_block_pinned(at)) {
			arena_release(at, unmap);
		} else {
			if (unmap) {
				arena_displace(at, at + n);
				arena_unmap_pages(at, n);
			}
			for (uint32_t i = at; i < at + n; i++) {
				arena_state.ended += !(arena_state.page[i].flags & PG_ENDED);
				arena_state.page[i].flags |= PG_ENDED;
			}
		}
		at += n;
	}
}

void arena_sweep(void)
{
	for (uint32_t at = 1; arena_state.ended && at < arena_state.top;
	     at += arena_state.page[at].len)
		if (arena_state.page[at].flags & PG_ENDED && !arena_block_pinned(at))
			at = arena_release(at, !(arena_state.page[at].flags & PG_MAPPED));
}

bool arena_may_have(uint32_t n, enum arena_use use)
{
	return n < arena_state.npages && arena_state.fd >= 0 &&
	       (use != ARENA_LARGE || arena_state.large + n <= arena_state.npages / 2);
}

uint32_t arena_take_new(uint32_t n, uint32_t align, enum arena_use use)
{
	uint32_t run = 0, at;

	if (arena_may_have(n, use)) {
		run = arena_find(n, align, &at);
		if (!run && arena_cache_empty())
			run = arena_find(n, align, &at);
	}
	if (!run) {
		arena_state.full = true;
		return 0;
	}
	arena_carve(run, at, n, PG_USED | (use == ARENA_LARGE ? PG_LARGE : 0));
	arena_state.page[at].apart = arena_state.unmap && n >= arena_state.unmap;
	if (!arena_map_rest(at, n))
		return at;
	arena_release(at, true);
	return 0;
}

uint32_t arena_take(uint32_t n, uint32_t align, enum arena_use use, bool *kept)
{
	uint32_t at = 0;

	if (arena_may_have(n, use))
		at = arena_cache_get(n, align, use == ARENA_LARGE ? PG_LARGE : 0);
	*kept = at;
	return at ? at : arena_take_new(n, align, use);
}
