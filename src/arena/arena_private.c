/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages that leave the arena: they become private memory at the same addresses, as if the program had mapped it there. An
 * MR on them stays with the old pages, which are in the memfd, as with pages that the kernel pins.
 *
 * mremap() needs this, because a page of the arena cannot move: its address is its place in the memfd. Stacks need it,
 * because libc uses the stack of a child of fork() before the child's copy of the arena is in place. Guard pages,
 * userfaultfd and process_madvise() need it, because the kernel treats the pages of a file otherwise.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/arena_wide.h"
#include "arena/calls.h"
#include "base/sys.h"

/* arena_page.advice. The kernel keeps it as flags of the mapping (mm/madvise.c, madvise_vma_behavior(), Linux 6.1). */
enum {
	AD_RANDOM = 1,
	AD_SEQUENTIAL = 2,
	AD_HUGE = 4,
	AD_NOHUGE = 8,
	AD_MERGE = 16,
	AD_NODUMP = 32,
};

/* What advice sets, and what it ends. */
static const struct arena_advice {
	int advice;
	uint8_t set, clear;
} arena_kept[] = {
	{ MADV_NORMAL, 0, AD_RANDOM | AD_SEQUENTIAL },
	{ MADV_RANDOM, AD_RANDOM, AD_SEQUENTIAL },
	{ MADV_SEQUENTIAL, AD_SEQUENTIAL, AD_RANDOM },
	{ MADV_HUGEPAGE, AD_HUGE, AD_NOHUGE },
	{ MADV_NOHUGEPAGE, AD_NOHUGE, AD_HUGE },
	{ MADV_MERGEABLE, AD_MERGE, 0 },
	{ MADV_UNMERGEABLE, 0, AD_MERGE },
	{ MADV_DONTDUMP, AD_NODUMP, 0 },
	{ MADV_DODUMP, 0, AD_NODUMP },
};

void arena_keep_advice(uint32_t at, uint32_t end, int advice, bool whole)
{
	const struct arena_advice *k = arena_kept;

	while (k < arena_kept + ARRAY_SIZE(arena_kept) && k->advice != advice)
		k++;
	if (k == arena_kept + ARRAY_SIZE(arena_kept))
		return;
	for (struct arena_page *p = &arena_state.page[at]; p < &arena_state.page[end]; p++)
		p->advice = (uint8_t)((whole ? p->advice & ~k->clear : p->advice) | k->set);
}

/* Without a key it is a call that kernels without keys have, too. */
int arena_sys_protect(uintptr_t addr, size_t len, int prot, int pkey)
{
	if (pkey == -1)
		return (int)sys_call(SYS_mprotect, addr, len, prot);
	return (int)sys_call(SYS_pkey_mprotect, addr, len, prot, pkey);
}

int arena_protect_like(const struct arena_page *page, void *p, uint32_t n)
{
	int prot = (page->noprot ^ PROT_RW) & (PROT_RW | PROT_EXEC), rc = 0;

	if (page->noprot)
		rc = arena_sys_protect((uintptr_t)p, arena_len(n), prot, -1);
	if (page->pkey && !rc) /* fails if the program has freed the key */
		arena_sys_protect((uintptr_t)p, arena_len(n), prot, page->pkey);
	for (size_t k = 0; k < ARRAY_SIZE(arena_kept); k++)
		if (page->advice & arena_kept[k].set)
			sys_call(SYS_madvise, p, arena_len(n), arena_kept[k].advice);
	if (page->flags & PG_WIPE)
		sys_call(SYS_madvise, p, arena_len(n), MADV_WIPEONFORK);
	if (page->flags & PG_NOFORK)
		sys_call(SYS_madvise, p, arena_len(n), MADV_DONTFORK);
	return rc;
}

bool arena_like(const struct arena_page *a, const struct arena_page *b)
{
	return a->noprot == b->noprot && a->pkey == b->pkey && a->advice == b->advice;
}

/* A mapping of pages that can be read. mremap() of no bytes maps shared pages a second time, without a descriptor. */
static long arena_view(uint32_t at, uint32_t n)
{
	size_t len = arena_len(n);
	long p;

	arena_fd_check();
	if (arena_state.fd >= 0)
		return sys_call(SYS_mmap, NULL, len, PROT_READ, MAP_SHARED, arena_state.fd,
				(long)arena_len(at));
	p = sys_call(SYS_mremap, arena_addr(at), 0L, len, (long)MREMAP_MAYMOVE);
	if (!arena_failed(p))
		sys_call(SYS_mprotect, p, len, PROT_READ);
	return p;
}

bool arena_next_data(uint32_t *at, uint32_t limit, uint32_t *end)
{
	long off;

	*end = limit;
	if (*at >= limit)
		return false;
	if (arena_state.confined || arena_state.fd < 0)
		return true;
	off = sys_call(SYS_lseek, arena_state.fd, (long)arena_len(*at), SEEK_DATA);
	if (off < 0)
		return false;
	*at = (uint32_t)(off >> PAGE_SHIFT);
	off = sys_call(SYS_lseek, arena_state.fd, off, SEEK_HOLE);
	if (off > 0)
		*end = min(arena_pages((uint64_t)off), limit);
	return *at < *end;
}

int arena_copy_pages(void *to, uint32_t at, uint32_t n)
{
	size_t len = arena_len(n);
	long from = arena_view(at, n);

	if (arena_failed(from))
		return -ENOMEM;
	memcpy(to, (const void *)from, len);
	sys_call(SYS_munmap, from, len);
	return 0;
}

/* A private copy of pages of the memfd, or NULL. */
static void *arena_copy_of(uint32_t at, uint32_t n)
{
	size_t len = arena_len(n);
	long to = sys_call(SYS_mmap, NULL, len, PROT_RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	int rc = 0;

	if (arena_failed(to))
		return NULL;
	for (uint32_t i = at, end; !rc && arena_next_data(&i, at + n, &end); i = end)
		rc = arena_copy_pages((uint8_t *)to + arena_len(i - at), i, end - i);
	if (!rc)
		return (void *)to;
	sys_call(SYS_munmap, to, len);
	return NULL;
}

int arena_make_private(uint32_t at, uint32_t n)
{
	size_t len = arena_len(n);
	void *copy;
	long p;

	arena_displace(at, at + n);
	copy = arena_copy_of(at, n);
	if (!copy)
		return -ENOMEM;
	p = arena_protect_like(&arena_state.page[at], copy, n);
	if (!p)
		p = sys_call(SYS_mremap, copy, len, len, (long)(MREMAP_MAYMOVE | MREMAP_FIXED),
			     arena_addr(at));
	if (arena_failed(p)) {
		sys_call(SYS_munmap, copy, len);
		return (int)p;
	}
	if (arena_state.page[at].locked)
		sys_call(SYS_mlock, arena_addr(at), len);
	for (uint32_t i = at, k; i < at + n; i += k) {
		for (k = 0; i + k < at + n && !arena_state.page[i + k].pins; k++)
			;
		if (k)
			arena_punch(i, k);
		k += !k;
	}
	for (uint32_t i = at; i < at + n; i++)
		arena_state.page[i].flags =
			(uint8_t)((arena_state.page[i].flags & ~(PG_MAPPED | PG_WIPE | PG_NOFORK)) |
				  PG_COVERED);
	arena_mark_mixed(at, at + n);
	return 0;
}

/* The length of the row of pages from `at` on that are alike. pins: also in whether an MR pins them. */
static uint32_t arena_private_row(uint32_t at, uint32_t end, bool pins)
{
	const struct arena_page *first = &arena_state.page[at], *p = first + 1;
	uint8_t mask = PG_USED | PG_ENDED | PG_COVERED | PG_MAPPED | PG_WIPE | PG_NOFORK;

	while (p < &arena_state.page[end] && !((p->flags ^ first->flags) & mask) &&
	       arena_like(p, first) && p->locked == first->locked &&
	       (!pins || !p->pins == !first->pins))
		p++;
	return (uint32_t)(p - first);
}

int arena_private_range(uint32_t at, uint32_t end, bool pinned)
{
	int rc = 0;

	for (uint32_t n; at < end && !rc; at += n) {
		uint8_t f = arena_state.page[at].flags &
			    (PG_USED | PG_ENDED | PG_COVERED | PG_MAPPED);

		n = arena_private_row(at, end, !pinned);
		if (f == (PG_USED | PG_MAPPED) && (pinned || !arena_state.page[at].pins))
			rc = arena_make_private(at, n);
	}
	return rc;
}

void arena_leave(uintptr_t addr, size_t len)
{
	uint64_t mask = arena_lock();

	arena_cache_empty();
	if (!arena_state.orphan)
		arena_private_range(arena_page_of(addr), arena_page_end(addr, len), false);
	arena_unlock(mask);
}

static bool arena_take_back(uint32_t at, uint32_t n)
{
	if (!arena_keep(at, n))
		return false;
	arena_drop(at, at + n, true);
	return true;
}

void arena_going(uint32_t at, uint32_t end, bool going)
{
	for (; at < end; at++)
		arena_state.page[at].going = going;
}

/* Another thread's mapping has got the page's address: it is no part of the block any more. A hole is of no block. */
static void arena_isolate(uint32_t at)
{
	if (!(arena_state.page[at].flags & PG_USED))
		return;
	arena_split(at);
	if (at + 1 < arena_state.npages && arena_state.page[at + 1].flags & PG_USED)
		arena_split(at + 1);
}

static void arena_uncover_row(uint32_t at, uint32_t n)
{
	arena_going(at, at + n, false);
	if (arena_take_back(at, n))
		return;
	for (uint32_t end = at + n; at < end; at++)
		if (!arena_take_back(at, 1))
			arena_isolate(at);
}

void arena_uncover(uint32_t at, uint32_t end)
{
	for (uint32_t n; at < end; at += n) {
		for (n = 0; at + n < end && arena_state.page[at + n].going; n++)
			;
		if (n)
			arena_uncover_row(at, n);
		n += !n;
	}
}

void arena_detached(uintptr_t addr)
{
	uint32_t at = arena_page_of(addr);
	uint64_t mask = arena_lock();

	arena_cache_empty();
	while (at < arena_state.npages && arena_state.page[at].flags & PG_COVERED &&
	       arena_take_back(at, 1))
		at++;
	arena_unlock(mask);
}

/*
 * The kernel moves the mapping, which is private now, or makes it longer. The lock is not held meanwhile, as the call may
 * wait for the program (userfaultfd).
 */
static long arena_kernel_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed,
				uint64_t *mask)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, old);
	bool moves;
	long p;

	arena_going(at, end, true);
	arena_unlock(*mask);
	p = sys_call(SYS_mremap, addr, old, len, (long)flags, fixed);
	*mask = arena_lock();
	moves = !arena_failed(p) && (uintptr_t)p != addr && !(flags & MREMAP_DONTUNMAP);
	if (moves)
		arena_uncover(at, end);
	else
		arena_going(at, end, false);
	return p;
}

/* Checks of the kernel that need no memory, so that a call that fails changes nothing. old, len: multiples of a page. */
static int arena_mremap_check(uintptr_t addr, size_t old, size_t len, int flags, void *fixed)
{
	const struct arena_page *page = &arena_state.page[arena_page_of(addr)];
	uintptr_t to = (uintptr_t)fixed;

	if (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) || addr & (PAGE - 1) ||
	    !len)
		return -EINVAL;
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE))
		return -EINVAL;
	if (flags & MREMAP_DONTUNMAP && old != len)
		return -EINVAL;
	if (flags & MREMAP_FIXED && (to & (PAGE - 1) || (addr < to + len && to < addr + old)))
		return -EINVAL;
	if (arena_is_hole(arena_page_of(addr)) || arena_state.orphan)
		return -EFAULT;
	return !old && !(page->flags & PG_COVERED) ? -EINVAL : 0; /* only shared memory can be mapped twice */
}

/* The kernel refuses longer mappings. */
#define MREMAP_MAX ((size_t)1 << 47)

static long arena_mremap_locked(uintptr_t addr, size_t old, size_t len, int flags, void *fixed,
				uint64_t *mask)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, old);
	int rc = arena_mremap_check(addr, old, len, flags, fixed);

	if (rc)
		return rc;
	if (old && len <= old && !(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))) {
		rc = arena_unmap_rows(arena_page_end(addr, len), end, mask);
		return rc ? rc : (long)addr;
	}
	rc = len < MREMAP_MAX ? arena_private_range(at, end, true) : 0;
	return rc ? rc : arena_kernel_mremap(addr, old, len, flags, fixed, mask);
}

int arena_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **to)
{
	uint64_t mask = arena_lock();
	long p;

	arena_cache_empty();
	p = arena_mremap_locked(addr, ALIGN_UP(old, PAGE), ALIGN_UP(len, PAGE), flags, fixed,
				&mask);
	arena_unlock(mask);
	if (arena_failed(p))
		return (int)p;
	*to = (void *)p;
	return 0;
}
