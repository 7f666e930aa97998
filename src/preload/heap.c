/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `ruse run --check`: which registered memory the program frees (check/freed.h).
 *
 * The next definitions of the allocation functions (real_alloc) are replaced by those of this file when the process begins to
 * check, so that other programs pay nothing. Blocks of the arena, and mappings, are told by calls_alloc.c and calls_mem.c.
 */
#include <execinfo.h>
#include "preload/heap.h"
#include "preload/real_alloc.h"

static struct real_alloc heap_next;

noinline __cold uint64_t heap_giving(const void *p, size_t len, enum freed_how how)
{
	void *frame[FREED_FRAMES];
	int e = errno, n;

	if (!check_freed_wanted(p, len))
		return 0;
	n = backtrace(frame, FREED_FRAMES);
	errno = e;
	return check_freed_begin(p, len, how, frame, (uint32_t)max(n, 0));
}

static size_t heap_usable(void *p)
{
	return p ? heap_next.malloc_usable_size(p) : 0;
}

/* The block is in use. */
static void *heap_got(void *p)
{
	if (unlikely(READ_ONCE(check_freed_live)) && p)
		check_freed_taken(p, heap_usable(p), false);
	return p;
}

static void *heap_malloc(size_t len)
{
	return heap_got(heap_next.malloc(len));
}

static void *heap_calloc(size_t n, size_t size)
{
	return heap_got(heap_next.calloc(n, size));
}

static void heap_free(void *p)
{
	heap_freeing(p, heap_usable(p));
	heap_next.free(p);
}

/* A block that stays at its place was not freed. */
static void *heap_realloc(void *p, size_t len)
{
	size_t old = heap_usable(p);
	uint64_t call = 0;
	void *new;

	if (check_freed_near(p, old))
		call = heap_giving(p, old, FREED_HEAP);
	new = heap_next.realloc(p, len);
	if (unlikely(call))
		check_freed_end(call, new ? new != p : !len);
	return heap_got(new);
}

static void *heap_memalign(size_t align, size_t len)
{
	return heap_got(heap_next.memalign(align, len));
}

static void *heap_aligned_alloc(size_t align, size_t len)
{
	return heap_got(heap_next.aligned_alloc(align, len));
}

static int heap_posix_memalign(void **out, size_t align, size_t len)
{
	int rc = heap_next.posix_memalign(out, align, len);

	if (!rc)
		heap_got(*out);
	return rc;
}

static void *heap_valloc(size_t len)
{
	return heap_got(heap_next.valloc(len));
}

static void *heap_pvalloc(size_t len)
{
	return heap_got(heap_next.pvalloc(len));
}

void heap_watch(void)
{
	static const struct real_alloc watched = {
		.malloc = heap_malloc,
		.calloc = heap_calloc,
		.realloc = heap_realloc,
		.free = heap_free,
		.memalign = heap_memalign,
		.aligned_alloc = heap_aligned_alloc,
		.posix_memalign = heap_posix_memalign,
		.valloc = heap_valloc,
		.pvalloc = heap_pvalloc,
	};

	/* Without malloc_usable_size() the length of a block is not known. A forked child has the functions of its parent. */
	if (!real_alloc.malloc_usable_size || real_alloc.free == heap_free)
		return;
	heap_next = real_alloc;
	/* One after the other, as other threads use them. */
#define X(ret, name, args)                                                     \
	if (watched.name && heap_next.name)                                    \
		smp_store_release(&real_alloc.name, watched.name);
	REAL_ALLOC_FUNCS(X)
#undef X
}
