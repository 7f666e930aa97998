/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mremap() of the arena's addresses. A page of the arena cannot move to another address, as its address is its place in
 * the memfd. So its content is copied to other memory, which is what the program sees of a move: an MR on it stays with the
 * old pages. What the program has mapped over the arena is moved by the kernel.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "arena/arena_cache.h"
#include "arena/arena_internal.h"
#include "base/sys.h"

/* What mremap() was asked for. old and len are multiples of a page; fixed: the address with MREMAP_FIXED. */
struct remap {
	uintptr_t addr;
	size_t old, len;
	int flags;
	void *fixed;
	uint32_t at, end; /* pages of [addr, addr + old) */
};

/* A place of len bytes outside any block for what mremap() moves. Returns its address or -errno. */
static long arena_place(const struct remap *r)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (r->fixed ? MAP_FIXED : 0);
	bool fits = !r->fixed && r->len <= arena_bytes;
	uint32_t at = fits ? arena_take(arena_pages(r->len), 1, ARENA_LARGE, true) : 0;

	if (at)
		return (long)(uintptr_t)arena_addr(at);
	return sys_call(SYS_mmap, r->fixed, r->len, PROT_RW, flags, -1, 0L);
}

/* Gives pages, all of them readable and writable, the protection and the advice for fork() of another page. */
static void arena_like(uint32_t page, void *to, size_t len)
{
	uint8_t noprot = arena_state.page[page].noprot;
	uint8_t advice = arena_state.page[page].flags & (PG_WIPE | PG_NOFORK);

	if (noprot)
		sys_call(SYS_mprotect, to, len, (noprot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	if (!arena_has(to)) {
		if (advice & PG_WIPE)
			sys_call(SYS_madvise, to, len, MADV_WIPEONFORK);
		if (advice & PG_NOFORK)
			sys_call(SYS_madvise, to, len, MADV_DONTFORK);
		return;
	}
	if (noprot || advice)
		arena_mark_mixed(arena_page_of((uintptr_t)to), arena_page_end((uintptr_t)to, len));
	for (uint32_t i = arena_page_of((uintptr_t)to), n = arena_pages(len); n; i++, n--) {
		arena_state.page[i].noprot = noprot & 7;
		arena_state.page[i].flags |= advice;
	}
}

/* Can the block that ends behind these pages grow by n pages? */
static bool arena_grow(uint32_t at, uint32_t end, uint32_t n)
{
	uint32_t head = arena_state.page[at].head;

	if (head + arena_state.page[head].len != end || !arena_take_after(head, n, true))
		return false;
	arena_like(at, arena_addr(end), arena_len(n));
	return true;
}

static bool arena_overlap(uintptr_t a, size_t alen, uintptr_t b, size_t blen)
{
	return a < b + blen && b < a + alen;
}

/* Would these pages be one mapping of the kernel's? It moves only such ones. What mlock() divides is moved here. */
static bool arena_is_one(uint32_t at, uint32_t end)
{
	const struct arena_page *first = &arena_state.page[at], *p;
	uint8_t mask = PG_USED | PG_ENDED | PG_COVERED | PG_WIPE | PG_NOFORK;

	for (p = first; p < &arena_state.page[end]; p++)
		if ((p->flags ^ first->flags) & mask || p->noprot != first->noprot)
			return false;
	return true;
}

/* Copies the pages to a new place. */
static int arena_move(const struct remap *r, void **to)
{
	uint8_t noprot = arena_state.page[r->at].noprot;
	long p = arena_place(r);

	if (p < 0 && p > -4096)
		return (int)p;
	*to = (void *)p;
	if (noprot)
		sys_call(SYS_mprotect, r->addr, r->old, PROT_RW);
	memcpy(*to, (const void *)r->addr, min(r->old, r->len));
	arena_like(r->at, *to, r->len);
	if (!(r->flags & MREMAP_DONTUNMAP)) {
		arena_drop(r->at, r->end, true);
		return 0;
	}
	arena_punch(r->at, r->end - r->at);
	if (noprot)
		sys_call(SYS_mprotect, r->addr, r->old, (noprot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
	return 0;
}

/*
 * Takes the addresses of a page back, whose mapping has moved away. If another thread's mapping has got them in the
 * meantime, they stay covered.
 */
static void arena_uncover(uint32_t at)
{
	long p = sys_call(SYS_mmap, arena_addr(at), PAGE, PROT_NONE,
			  MAP_RESERVE | MAP_FIXED_NOREPLACE, -1, 0L);

	if (p >= 0 || p < -4095)
		arena_drop(at, at + 1, true);
}

/* The kernel moves what the program has mapped over these pages. */
static int arena_move_covered(const struct remap *r, void **to)
{
	long p = sys_call(SYS_mremap, r->addr, r->old, r->len, r->flags, r->fixed);

	if (p < 0 && p > -4096)
		return (int)p;
	*to = (void *)p;
	for (uint32_t i = r->at; i < r->end && !(r->flags & MREMAP_DONTUNMAP); i++)
		arena_uncover(i);
	return 0;
}

/* The checks of the kernel that need no memory. */
static int arena_remap_check(const struct remap *r)
{
	int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	if (r->flags & ~known || r->addr & (PAGE - 1) || !r->len)
		return -EINVAL;
	if (r->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(r->flags & MREMAP_MAYMOVE))
		return -EINVAL;
	if (r->flags & MREMAP_DONTUNMAP && r->old != r->len)
		return -EINVAL;
	if (r->flags & MREMAP_FIXED &&
	    ((uintptr_t)r->fixed & (PAGE - 1) ||
	     arena_overlap(r->addr, r->old, (uintptr_t)r->fixed, r->len)))
		return -EINVAL;
	return arena_is_hole(r->at) || arena_state.orphan ? -EFAULT : 0;
}

static int arena_remap(struct remap *r, void **to)
{
	bool moves = r->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP), covered;
	int rc = arena_remap_check(r);
	uint32_t keep = r->at + (uint32_t)min(r->len >> PAGE_SHIFT, r->end - r->at);

	if (rc)
		return rc;
	covered = arena_state.page[r->at].flags & PG_COVERED;
	if (!r->old && !covered)
		return -EINVAL;
	if ((moves || r->len > r->old) && !arena_is_one(r->at, keep))
		return -EFAULT;
	*to = (void *)r->addr;
	if (r->old && r->len <= r->old) {
		arena_drop(keep, r->end, true);
		if (!moves)
			return 0;
		r->old = r->len;
		r->end = keep;
	}
	if (covered)
		return arena_move_covered(r, to);
	if (!moves && r->len >> PAGE_SHIFT < arena_state.npages &&
	    arena_grow(r->at, r->end, arena_pages(r->len - r->old)))
		return 0;
	return r->flags & MREMAP_MAYMOVE ? arena_move(r, to) : -ENOMEM;
}

int arena_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **at)
{
	struct remap r = {
		.addr = addr,
		.old = ALIGN_UP(old, PAGE),
		.len = ALIGN_UP(len, PAGE),
		.flags = flags,
		.fixed = fixed,
	};
	int rc;

	r.at = arena_page_of(addr);
	r.end = r.at + arena_pages(r.old);
	arena_lock();
	arena_cache_empty();
	rc = arena_remap(&r, at);
	arena_unlock();
	return rc;
}
