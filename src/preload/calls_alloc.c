/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The allocation functions of libc. Blocks that a program is likely to register come from the arena
 * (arena/arena.h), where peers can map them: page-aligned ones of any size, and malloc(), calloc() and realloc() from
 * LARGE bytes on. All others come from the next definition, which need not be libc's.
 *
 * Programs that do not use RDMA have no arena: arena_alloc() and arena_has() then fail at once.
 *
 * dlsym(), which finds the next definitions, may allocate itself. What it allocates meanwhile comes from a small static
 * buffer and is never freed.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "arena/arena.h"
#include "base/sys.h"
#include "preload/preload.h"
#include "preload/real_alloc.h"

/* From this size on libc's malloc() maps memory for a block of its own (M_MMAP_THRESHOLD). */
#define LARGE (128u << 10)

static struct early {
	_Alignas(16) char buf[16384];
	size_t used;
} early;

static bool early_has(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early.buf < sizeof(early.buf);
}

/* Zeroed. NULL: no room. Called by the thread that resolves, in a program with one thread. */
static void *early_alloc(size_t align, size_t len)
{
	size_t at = ALIGN_UP(early.used, max(align, (size_t)16));

	if (len > sizeof(early.buf) || at > sizeof(early.buf) - len)
		return NULL;
	early.used = at + len;
	return early.buf + at;
}

static noinline __cold bool alloc_resolve(void)
{
	static bool busy;

	if (busy)
		return false;
	busy = true;
	real_resolve_alloc();
	busy = false;
	return true;
}

/* The next definition of an allocation function; NULL while it is being looked up. */
#define NEXT(name) (likely(real_alloc.name) || alloc_resolve() ? real_alloc.name : NULL)

/* The block if it comes from the arena, else NULL. errno is unchanged. */
static noinline void *alloc_large(size_t len, size_t align, enum arena_use use, bool zero)
{
	int e = errno;
	void *p = arena_alloc(len, align, use, zero);

	errno = e;
	return p;
}

HOOK void *malloc(size_t len)
{
	void *p = unlikely(len >= LARGE) ? alloc_large(len, 1, ARENA_LARGE, false) : NULL;

	if (unlikely(p))
		return p;
	return NEXT(malloc) ? real_alloc.malloc(len) : early_alloc(1, len);
}

HOOK void *calloc(size_t n, size_t size)
{
	size_t len;
	void *p = NULL;

	if (!__builtin_mul_overflow(n, size, &len) && unlikely(len >= LARGE))
		p = alloc_large(len, 1, ARENA_LARGE, true);
	if (unlikely(p))
		return p;
	return NEXT(calloc) ? real_alloc.calloc(n, size) : early_alloc(1, n * size);
}

static noinline __cold void alloc_free_arena(void *p)
{
	static const char text[] = "free(): invalid pointer\n";
	int e = errno;

	if (!arena_free(p)) {
		sys_write(STDERR_FILENO, text, sizeof(text) - 1);
		abort();
	}
	errno = e;
}

HOOK void free(void *p)
{
	if (unlikely(arena_has(p)))
		alloc_free_arena(p);
	else if (likely(!early_has(p)) && NEXT(free))
		real_alloc.free(p);
}

/* Moves a block between the arena and the next definition's memory. */
static void *alloc_move(void *p, size_t old, size_t len)
{
	void *new = malloc(len);

	if (!new)
		return NULL;
	memcpy(new, p, min(old, len));
	free(p);
	return new;
}

static noinline void *alloc_realloc_arena(void *p, size_t len)
{
	int e = errno;
	size_t old = arena_usable(p);
	void *new = p;

	if (!len) {
		free(p);
		return NULL;
	}
	/* A block that shrinks to a fraction gives its pages back. */
	if (len < LARGE || len < old / 2 || !arena_extend(p, len))
		new = alloc_move(p, old, len);
	if (new)
		errno = e;
	return new;
}

HOOK void *realloc(void *p, size_t len)
{
	void *new;
	size_t old;

	if (unlikely(arena_has(p)))
		return alloc_realloc_arena(p, len);
	if (unlikely(early_has(p)))
		return alloc_move(p, (size_t)(early.buf + sizeof(early.buf) - (char *)p), len);
	if (unlikely(len >= LARGE) && NEXT(malloc_usable_size)) {
		old = p ? real_alloc.malloc_usable_size(p) : 0;
		new = old < len ? alloc_large(len, 1, ARENA_LARGE, false) : NULL;
		if (new) {
			if (p)
				memcpy(new, p, old);
			free(p);
			return new;
		}
	}
	return NEXT(realloc) ? real_alloc.realloc(p, len) : early_alloc(1, len);
}

/* What the aligned functions may take from the arena: blocks of whole pages, or with the alignment of a page. */
static void *alloc_aligned(size_t align, size_t len)
{
	if (likely(align < PAGE && len < PAGE))
		return NULL;
	return align & (align - 1) ? NULL : alloc_large(len, align, ARENA_ALIGNED, false);
}

HOOK void *memalign(size_t align, size_t len)
{
	void *p = alloc_aligned(align, len);

	if (p)
		return p;
	return NEXT(memalign) ? real_alloc.memalign(align, len) : early_alloc(align, len);
}

HOOK void *aligned_alloc(size_t align, size_t len)
{
	void *p = alloc_aligned(align, len);

	if (p)
		return p;
	return NEXT(aligned_alloc) ? real_alloc.aligned_alloc(align, len) : early_alloc(align, len);
}

HOOK int posix_memalign(void **out, size_t align, size_t len)
{
	void *p = !align || align % sizeof(void *) ? NULL : alloc_aligned(align, len);

	if (!p && NEXT(posix_memalign))
		return real_alloc.posix_memalign(out, align, len);
	if (!p)
		p = early_alloc(align, len);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

HOOK void *valloc(size_t len)
{
	void *p = alloc_aligned(PAGE, len);

	if (p)
		return p;
	return NEXT(valloc) ? real_alloc.valloc(len) : early_alloc(PAGE, len);
}

HOOK void *pvalloc(size_t len)
{
	void *p = alloc_aligned(PAGE, len);

	if (p)
		return p;
	return NEXT(pvalloc) ? real_alloc.pvalloc(len) : early_alloc(PAGE, len);
}

HOOK size_t malloc_usable_size(void *p)
{
	if (unlikely(arena_has(p)))
		return arena_usable(p);
	return early_has(p) || !NEXT(malloc_usable_size) ? 0 : real_alloc.malloc_usable_size(p);
}
