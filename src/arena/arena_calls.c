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

void *arena_mmap(size_t len)
{
	return arena_alloc(len, PAGE, ARENA_LARGE, true);
}

void arena_munmap(uintptr_t addr, size_t len)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);

	pthread_mutex_lock(&arena_state.lock);
	arena_drop(at, end, true);
	pthread_mutex_unlock(&arena_state.lock);
}

void arena_covered(uintptr_t addr, size_t len)
{
	uint32_t end = arena_page_end(addr, len);

	pthread_mutex_lock(&arena_state.lock);
	for (uint32_t i = arena_page_of(addr); i < end; i++) {
		arena_state.page[i].flags &= (uint8_t)~PG_MAPPED;
		if (arena_state.page[i].flags & PG_USED)
			arena_state.page[i].flags |= PG_COVERED;
	}
	pthread_mutex_unlock(&arena_state.lock);
}

int arena_mprotect(uintptr_t addr, size_t len, int prot)
{
	uint32_t end = arena_page_end(addr, len);
	int rc;

	pthread_mutex_lock(&arena_state.lock);
	rc = (int)sys_call(SYS_mprotect, addr, len, prot);
	for (uint32_t i = arena_page_of(addr); !rc && i < end; i++)
		arena_state.page[i].noprot = (uint8_t)((prot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	pthread_mutex_unlock(&arena_state.lock);
	return rc;
}

static void arena_set_flag(uint32_t at, uint32_t end, uint8_t set, uint8_t clear)
{
	for (; at < end; at++)
		arena_state.page[at].flags = (uint8_t)((arena_state.page[at].flags & ~clear) | set);
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

int arena_madvise(uintptr_t addr, size_t len, int advice)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);
	int rc = 0;

	if (addr & (PAGE - 1))
		return -EINVAL;
	pthread_mutex_lock(&arena_state.lock);
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_FREE:
		rc = arena_dontneed(at, end, advice);
		break;
	case MADV_WIPEONFORK:
		arena_set_flag(at, end, PG_WIPE, 0);
		break;
	case MADV_KEEPONFORK:
		arena_set_flag(at, end, 0, PG_WIPE);
		break;
	case MADV_DONTFORK:
		arena_set_flag(at, end, PG_NOFORK, 0);
		break;
	case MADV_DOFORK:
		arena_set_flag(at, end, 0, PG_NOFORK);
		break;
	default:
		rc = (int)sys_call(SYS_madvise, addr, len, advice);
	}
	pthread_mutex_unlock(&arena_state.lock);
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
	uint32_t at = fixed ? 0 : arena_take(arena_pages(len), 1, ARENA_LARGE, true);

	if (at)
		return (long)(uintptr_t)arena_addr(at);
	return sys_call(SYS_mmap, fixed, len, PROT_RW, flags, -1, 0L);
}

/* Can the block that ends behind these pages grow by n pages? */
static bool arena_grow(uint32_t at, uint32_t end, uint32_t n)
{
	uint32_t head = arena_state.page[at].head;

	return head + arena_state.page[head].len == end && arena_take_after(head, n, true);
}

static bool arena_is_block(uint32_t at, uint32_t end)
{
	for (; at < end; at++)
		if ((arena_state.page[at].flags & (PG_USED | PG_ENDED | PG_COVERED)) != PG_USED)
			return false;
	return true;
}

static int arena_remap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **to)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, old), new_end;
	long p;

	if (addr & (PAGE - 1) || !old || !len || (fixed && !(flags & MREMAP_MAYMOVE)))
		return -EINVAL;
	if (!arena_is_block(at, end))
		return -EFAULT;
	*to = (void *)addr;
	new_end = at + arena_pages(len);
	if (!fixed && !(flags & MREMAP_DONTUNMAP)) {
		if (new_end <= end) {
			arena_drop(new_end, end, true);
			return 0;
		}
		if (arena_grow(at, end, new_end - end))
			return 0;
	}
	if (!(flags & MREMAP_MAYMOVE))
		return -ENOMEM;
	p = arena_place(len, fixed);
	if (p < 0 && p > -4096)
		return (int)p;
	*to = (void *)p;
	arena_move(addr, *to, min(old, len));
	if (flags & MREMAP_DONTUNMAP)
		arena_punch(at, end - at);
	else
		arena_drop(at, end, true);
	return 0;
}

int arena_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **at)
{
	int rc;

	pthread_mutex_lock(&arena_state.lock);
	rc = arena_remap(addr, old, len, flags, fixed, at);
	pthread_mutex_unlock(&arena_state.lock);
	return rc;
}
