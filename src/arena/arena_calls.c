/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls on the arena's addresses, with the results that private memory has. The kernel would treat the
 * mappings as shared memory of a file: MADV_DONTNEED would keep the data, MADV_WIPEONFORK would fail, and
 * mremap() would separate addresses from their pages.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "arena/arena_internal.h"
#include "base/sys.h"

/* From Linux 5.18. */
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

static void arena_set_flag(uint32_t at, uint32_t end, uint8_t set, uint8_t clear)
{
	for (; at < end; at++)
		arena_state.page[at].flags = (uint8_t)((arena_state.page[at].flags & ~clear) | set);
}

void *arena_mmap(size_t len)
{
	return arena_alloc(len, PAGE, ARENA_LARGE, true);
}

void arena_munmap(uintptr_t addr, size_t len)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);

	arena_lock();
	arena_cache_empty();
	arena_drop(at, end, true);
	arena_unlock();
}

/* Makes a row of free pages a block. */
static void arena_claim(uint32_t at, uint32_t n)
{
	uint32_t run = at;

	while (run > 1 && !(arena_state.page[run - 1].flags & PG_USED))
		run--;
	arena_carve(run, at, n, PG_USED);
}

/* Gives a row of pages that were kept for an MR back to the program. */
static void arena_revive(uint32_t at, uint32_t n)
{
	uint32_t end = at + n;

	arena_split(at);
	if (end < arena_state.npages && arena_state.page[end].flags & PG_USED)
		arena_split(end);
	arena_set_flag(at, end, 0, PG_ENDED);
}

void arena_covered(uintptr_t addr, size_t len)
{
	uint32_t at = max(arena_page_of(addr), 1u), end = arena_page_end(addr, len);

	arena_lock();
	arena_cache_empty();
	for (uint32_t n; at < end; at += n) {
		n = arena_same(at, end, PG_USED | PG_ENDED);
		if (!(arena_state.page[at].flags & PG_USED))
			arena_claim(at, n);
		else if (arena_state.page[at].flags & PG_ENDED)
			arena_revive(at, n);
		arena_set_flag(at, at + n, PG_COVERED, PG_MAPPED);
		arena_mark_odd(at, at + n);
	}
	arena_unlock();
}

int arena_mprotect(uintptr_t addr, size_t len, int prot)
{
	uint32_t end = arena_page_end(addr, len);
	int rc;

	arena_lock();
	arena_cache_empty();
	arena_mark_odd(arena_page_of(addr), end);
	rc = (int)sys_call(SYS_mprotect, addr, len, prot);
	for (uint32_t i = arena_page_of(addr); !rc && i < end; i++)
		arena_state.page[i].noprot = (uint8_t)((prot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	arena_unlock();
	return rc;
}

/* MADV_DONTNEED: the pages of the arena are punched; what the program has mapped over them gets the call. */
static int arena_dontneed(uint32_t at, uint32_t end, int advice)
{
	int rc = 0;

	for (uint32_t k; at < end && !rc; at += k) {
		k = arena_same(at, end, PG_COVERED | PG_USED);
		if (!(arena_state.page[at].flags & PG_USED))
			rc = -ENOMEM;
		else if (arena_state.page[at].flags & PG_COVERED)
			rc = (int)sys_call(SYS_madvise, arena_addr(at), arena_len(k), advice);
		else
			arena_punch(at, k);
	}
	return rc;
}

/* Advice for fork(): noted for pages of the arena; what the program has mapped over them gets the call. */
static int arena_advise_fork(uint32_t at, uint32_t end, int advice, uint8_t set, uint8_t clear)
{
	uint32_t first = at;
	int rc = 0;

	for (uint32_t n; at < end && !rc; at += n) {
		n = arena_same(at, end, PG_COVERED);
		if (arena_state.page[at].flags & PG_COVERED)
			rc = (int)sys_call(SYS_madvise, arena_addr(at), arena_len(n), advice);
		else
			arena_set_flag(at, at + n, set, clear);
	}
	arena_mark_odd(first, end);
	return rc;
}

int arena_madvise(uintptr_t addr, size_t len, int advice)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);
	int rc = 0;

	if (addr & (PAGE - 1))
		return -EINVAL;
	arena_lock();
	arena_cache_empty();
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:
		rc = arena_dontneed(at, end, advice);
		break;
	case MADV_WIPEONFORK:
		rc = arena_advise_fork(at, end, advice, PG_WIPE, 0);
		break;
	case MADV_KEEPONFORK:
		rc = arena_advise_fork(at, end, advice, 0, PG_WIPE);
		break;
	case MADV_DONTFORK:
		rc = arena_advise_fork(at, end, advice, PG_NOFORK, 0);
		break;
	case MADV_DOFORK:
		rc = arena_advise_fork(at, end, advice, 0, PG_NOFORK);
		break;
	default:
		rc = (int)sys_call(SYS_madvise, addr, len, advice);
	}
	arena_unlock();
	return rc;
}

/* Copies a range to new memory. Pages whose protection forbids reading are made readable. */
static void arena_move(uintptr_t from, void *to, size_t len)
{
	uint32_t end = arena_page_end(from, len);

	for (uint32_t i = arena_page_of(from); i < end; i++)
		if (arena_state.page[i].noprot)
			sys_call(SYS_mprotect, arena_addr(i), PAGE, PROT_RW);
	memcpy(to, (const void *)from, len);
}

/* A place of len bytes outside any block for what mremap() moves. Returns its address or -errno. */
static long arena_place(size_t len, void *fixed)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (fixed ? MAP_FIXED : 0);
	bool fits = !fixed && len <= arena_bytes;
	uint32_t at = fits ? arena_take(arena_pages(len), 1, ARENA_LARGE, true) : 0;

	if (at)
		return (long)(uintptr_t)arena_addr(at);
	return sys_call(SYS_mmap, fixed, len, PROT_RW, flags, -1, 0L);
}

/* Gives pages, all of them readable and writable, the protection of another page. */
static void arena_protect_like(uint32_t page, void *to, size_t len)
{
	uint8_t noprot = arena_state.page[page].noprot;
	uint32_t at;

	if (!noprot)
		return;
	sys_call(SYS_mprotect, to, len, (noprot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	if (!arena_has(to))
		return;
	at = arena_page_of((uintptr_t)to);
	arena_mark_odd(at, at + arena_pages(len));
	for (uint32_t i = 0; i < arena_pages(len); i++)
		arena_state.page[at + i].noprot = noprot;
}

/* Can the block that ends behind these pages grow by n pages? */
static bool arena_grow(uint32_t at, uint32_t end, uint32_t n)
{
	uint32_t head = arena_state.page[at].head;

	if (head + arena_state.page[head].len != end || !arena_take_after(head, n, true))
		return false;
	arena_protect_like(at, arena_addr(end), arena_len(n));
	return true;
}

static bool arena_overlap(uintptr_t a, size_t alen, uintptr_t b, size_t blen)
{
	return a < b + blen && b < a + alen;
}

static bool arena_is_block(uint32_t at, uint32_t end)
{
	for (; at < end; at++)
		if ((arena_state.page[at].flags & (PG_USED | PG_ENDED | PG_COVERED)) != PG_USED)
			return false;
	return true;
}

/* Moves [addr, addr + old) to a new place. */
static int arena_relocate(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **to)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, old);
	uint8_t noprot = arena_state.page[at].noprot;
	long p = arena_place(len, fixed);

	if (p < 0 && p > -4096)
		return (int)p;
	*to = (void *)p;
	arena_move(addr, *to, min(old, len));
	arena_protect_like(at, *to, len);
	if (!(flags & MREMAP_DONTUNMAP)) {
		arena_drop(at, end, true);
		return 0;
	}
	arena_punch(at, end - at);
	if (noprot)
		sys_call(SYS_mprotect, addr, old, (noprot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	return 0;
}

static int arena_remap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **to)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, old);
	uint64_t new_end = at + ((uint64_t)ALIGN_UP(len, PAGE) >> PAGE_SHIFT);

	if (addr & (PAGE - 1) || !old || !ALIGN_UP(len, PAGE) ||
	    (fixed && !(flags & MREMAP_MAYMOVE)) ||
	    (fixed && arena_overlap(addr, old, (uintptr_t)fixed, len)))
		return -EINVAL;
	if (!arena_is_block(at, end) || arena_state.orphan)
		return -EFAULT;
	*to = (void *)addr;
	if (!fixed && !(flags & MREMAP_DONTUNMAP)) {
		if (new_end <= end) {
			arena_drop((uint32_t)new_end, end, true);
			return 0;
		}
		if (new_end < arena_state.npages && arena_grow(at, end, (uint32_t)new_end - end))
			return 0;
	}
	if (!(flags & MREMAP_MAYMOVE))
		return -ENOMEM;
	return arena_relocate(addr, old, len, flags, fixed, to);
}

int arena_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **at)
{
	int rc;

	arena_lock();
	arena_cache_empty();
	rc = arena_remap(addr, old, len, flags, fixed, at);
	arena_unlock();
	return rc;
}
