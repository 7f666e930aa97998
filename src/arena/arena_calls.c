/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls on the arena's addresses, with the results that private memory has. The kernel would treat the
 * mappings as shared memory of a file: MADV_DONTNEED would keep the data, MADV_WIPEONFORK would fail, and
 * mremap() would separate addresses from their pages.
 */
#include <errno.h>
#include <sys/mman.h>
#include "arena/arena_internal.h"
#include "arena/arena_runs.h"
#include "arena/arena_wide.h"
#include "arena/calls.h"
#include "base/sys.h"

static void arena_set_flag(uint32_t at, uint32_t end, uint8_t set, uint8_t clear)
{
	for (; at < end; at++)
		arena_state.page[at].flags = (uint8_t)((arena_state.page[at].flags & ~clear) | set);
}

/* What the program has mapped at these pages itself. 0 or -errno. */
static int arena_unmap_covered(uint32_t at, uint32_t n, uint64_t *mask)
{
	int rc;

	arena_going(at, at + n, true);
	arena_unlock(*mask);
	rc = (int)sys_call(SYS_munmap, arena_addr(at), arena_len(n));
	*mask = arena_lock();
	if (!rc)
		arena_uncover(at, at + n);
	else
		arena_going(at, at + n, false);
	return rc;
}

/* The length of the row of pages from `at` on that are unmapped alike. */
static uint32_t arena_unmap_row(uint32_t at, uint32_t end)
{
	return arena_same(at, end, PG_USED | PG_ENDED | PG_COVERED);
}

/* No page is looked at again once it is free: while the lock is not held, it may become another thread's. */
void arena_drop_rows(uint32_t at, uint32_t end, bool unmap, uint64_t *mask)
{
	for (uint32_t n; at < end; at += n) {
		n = arena_unmap_row(at, end);
		if (!arena_is_hole(at) && arena_state.page[at].flags & PG_COVERED)
			arena_unmap_covered(at, n, mask);
		else if (!arena_is_hole(at))
			arena_drop(at, at + n, unmap);
	}
}

/* The first step of munmap(), which fails if a mapping cannot be divided. */
static bool arena_take_access(uint32_t at, uint32_t n)
{
	if (arena_state.confined) /* older kernels free no pages behind a protected mapping by madvise() */
		return true;
	arena_displace(at, at + n);
	return !sys_call(SYS_mprotect, arena_addr(at), arena_len(n), PROT_NONE);
}

int arena_unmap_rows(uint32_t at, uint32_t end, uint64_t *mask)
{
	int rc = 0;

	for (uint32_t n; at < end && !rc; at += n) {
		n = arena_unmap_row(at, end);
		if (arena_is_hole(at))
			continue;
		if (arena_state.page[at].flags & PG_COVERED)
			rc = arena_unmap_covered(at, n, mask);
		else if (arena_take_access(at, n))
			arena_drop(at, at + n, true);
		else
			rc = -ENOMEM;
	}
	return rc;
}

int arena_munmap(uintptr_t addr, size_t len)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);
	uint64_t mask = arena_lock();
	int rc;

	arena_cache_empty();
	rc = arena_unmap_rows(at, end, &mask);
	arena_unlock(mask);
	return rc;
}

/* Makes a row of free pages a block. */
static void arena_claim_row(uint32_t at, uint32_t n)
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
	arena_state.ended -= n;
}

/* Marks pages as mapped by the program. */
void arena_cover(uint32_t at, uint32_t end)
{
	for (uint32_t n; at < end; at += n) {
		n = arena_same(at, end, PG_USED | PG_ENDED);
		if (!(arena_state.page[at].flags & PG_USED))
			arena_claim_row(at, n);
		else if (arena_state.page[at].flags & PG_ENDED)
			arena_revive(at, n);
		arena_displace(at, at + n);
		arena_set_flag(at, at + n, PG_COVERED, PG_MAPPED);
		arena_mark_mixed(at, at + n);
	}
}

void arena_covered(uintptr_t addr, size_t len)
{
	uint64_t mask = arena_lock();

	arena_cache_empty();
	arena_cover(max(arena_page_of(addr), 1u), arena_page_end(addr, len));
	arena_unlock(mask);
}

bool arena_claim(uintptr_t addr, size_t len)
{
	uint32_t at = arena_page_of(addr), end;
	bool holes = true;
	uint64_t mask;

	if (!arena_has((void *)addr) || !at || addr & (PAGE - 1))
		return false;
	if (!len || len > arena_base + arena_bytes - addr)
		return false;
	end = arena_page_end(addr, len);
	mask = arena_lock();
	arena_cache_empty();
	for (uint32_t i = at; i < end && holes; i++)
		holes = arena_is_hole(i);
	if (holes && !arena_state.orphan)
		arena_cover(at, end);
	arena_unlock(mask);
	return holes && !arena_state.orphan;
}

size_t arena_whole(uintptr_t addr, size_t len)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len), i = at;
	uint64_t mask = arena_lock();

	arena_cache_empty();
	while (i < end && !arena_is_hole(i))
		i++;
	arena_unlock(mask);
	return i == end ? len : i == at ? 0 :
					  (uintptr_t)arena_addr(i) - addr;
}

static void arena_set_odd(uint32_t at, uint32_t end)
{
	arena_mark_mixed(at, end);
	for (; at < end; at++)
		arena_state.page[at].odd = 1;
}

void arena_locked(uintptr_t addr, size_t len, bool locked)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);
	uint64_t mask = arena_lock();

	arena_cache_empty();
	arena_set_odd(at, end);
	for (; at < end; at++)
		arena_state.page[at].locked = locked;
	arena_unlock(mask);
}

void arena_unlocked(void)
{
	uint64_t mask = arena_lock();

	for (uint32_t i = 1; i < arena_state.top; i++)
		arena_state.page[i].locked = 0;
	arena_unlock(mask);
}

int arena_pkey_mprotect(uintptr_t addr, size_t len, int prot, int pkey)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len), whole = at;
	uint64_t mask = arena_lock();
	int rc = 0;

	arena_cache_empty();
	while (whole < end && !arena_is_hole(whole))
		whole++;
	arena_mark_mixed(at, whole);
	/* A debugger sets breakpoints in code by writing to a private copy of a page: it cannot write to a shared one. */
	if (prot & PROT_EXEC && !arena_state.orphan)
		arena_private_range(at, whole, false);
	if ((prot & PROT_RW) != PROT_RW)
		arena_displace(at, whole);
	/* As the kernel: up to the first hole. Without a page the call only checks its arguments. */
	rc = arena_sys_protect(addr, whole > at ? arena_len(whole - at) : 0, prot, pkey);
	for (uint32_t i = at; !rc && i < whole; i++)
		arena_state.page[i].noprot = (uint8_t)((prot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	if (pkey >= 0 && !rc) {
		arena_set_odd(at, whole);
		for (uint32_t i = at; i < whole; i++)
			arena_state.page[i].pkey = (uint8_t)pkey;
	}
	arena_unlock(mask);
	return rc || whole == end ? rc : -ENOMEM;
}

int arena_mprotect(uintptr_t addr, size_t len, int prot)
{
	return arena_pkey_mprotect(addr, len, prot, -1);
}

/* The length of the row of pages from `at` on that an MR pins, or that none does. */
static uint32_t arena_pins_row(uint32_t at, uint32_t end)
{
	uint32_t i = at + 1;

	while (i < end && !arena_state.page[i].pins == !arena_state.page[at].pins)
		i++;
	return i - at;
}

/*
 * MADV_DONTNEED and MADV_FREE of the arena's pages. The kernel's call on them refuses locked ones, and drops what this
 * process has mapped of them; their data is in the file. MADV_FREE frees no page that an MR pins. After MADV_DONTNEED the MR
 * refers to the new pages, as one on private memory does.
 */
static int arena_dontneed(uint32_t at, uint32_t n, int advice)
{
	int rc = (int)sys_call(SYS_madvise, arena_addr(at), arena_len(n),
			       advice == MADV_FREE ? MADV_DONTNEED : advice);
	uint32_t end = at + n;

	for (; !rc && at < end; at += n) {
		n = arena_pins_row(at, end);
		if (advice != MADV_FREE || !arena_state.page[at].pins)
			arena_punch(at, n);
	}
	return rc;
}

static bool arena_is_locked(uint32_t at, uint32_t n)
{
	for (uint32_t i = at; i < at + n; i++)
		if (arena_state.page[i].locked)
			return true;
	return false;
}

/* Advice for the arena's pages, of which the program has each. */
static int arena_advise(uint32_t at, uint32_t n, int advice)
{
	int rc;

	arena_mark_mixed(at, at + n);
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE:
		return arena_dontneed(at, n, advice);
	case MADV_REMOVE: /* for shared memory only */
		return -EINVAL;
	case MADV_WIPEONFORK:
		arena_set_flag(at, at + n, PG_WIPE, 0);
		return 0;
	case MADV_KEEPONFORK:
		arena_set_flag(at, at + n, 0, PG_WIPE);
		return 0;
	case MADV_DONTFORK:
		arena_set_flag(at, at + n, PG_NOFORK, 0);
		return 0;
	case MADV_DOFORK:
		arena_set_flag(at, at + n, 0, PG_NOFORK);
		return 0;
	case MADV_GUARD_INSTALL: /* a child of fork() has the guards, and the data behind them is gone */
		rc = arena_is_locked(at, n) ? -EINVAL : arena_private_range(at, at + n, true);
		if (rc)
			return rc;
		break;
	}
	rc = (int)sys_call(SYS_madvise, arena_addr(at), arena_len(n), advice);
	/* Also after a failure: a part may have it. */
	if (advice != MADV_WILLNEED && advice != MADV_COLD && advice != MADV_PAGEOUT)
		arena_set_odd(at, at + n);
	arena_keep_advice(at, at + n, advice, !rc);
	return rc;
}

/* The length of the row of pages from `at` on that get advice alike: locked ones may refuse it. */
static uint32_t arena_advice_row(uint32_t at, uint32_t end)
{
	uint32_t n = arena_same(at, end, PG_USED | PG_ENDED | PG_COVERED), i = 1;

	while (i < n && arena_state.page[at + i].locked == arena_state.page[at].locked)
		i++;
	return i;
}

/*
 * Advice for what the program has mapped itself: the call may wait for the program (userfaultfd). The kernel finds a hole
 * (*hole) where the program has unmapped a page by a system call, or where a parent has given MADV_DONTFORK.
 */
static int arena_advise_covered(uint32_t at, uint32_t n, int advice, bool *hole, uint64_t *mask)
{
	int rc;

	arena_unlock(*mask);
	rc = (int)sys_call(SYS_madvise, arena_addr(at), arena_len(n), advice);
	*mask = arena_lock();
	*hole |= rc == -ENOMEM;
	return rc == -ENOMEM ? 0 : rc;
}

/* As the kernel: a hole makes the result -ENOMEM, but does not end the call. */
int arena_madvise(uintptr_t addr, size_t len, int advice)
{
	uint32_t at = arena_page_of(addr), end = arena_page_end(addr, len);
	bool hole = false;
	uint64_t mask;
	int rc = 0;

	if (addr & (PAGE - 1))
		return -EINVAL;
	mask = arena_lock();
	arena_cache_empty();
	for (uint32_t n; at < end && !rc; at += n) {
		n = arena_advice_row(at, end);
		if (arena_is_hole(at))
			hole = true;
		else if (arena_state.page[at].flags & PG_COVERED)
			rc = arena_advise_covered(at, n, advice, &hole, &mask);
		else
			rc = arena_advise(at, n, advice);
	}
	arena_unlock(mask);
	if (hole && !rc)
		rc = (int)sys_call(SYS_madvise, addr, 0L, advice); /* is there such advice? */
	return hole && !rc ? -ENOMEM : rc;
}
