/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The allocation functions of libc. Blocks that a program wants aligned to a page or more come from the arena
 * (arena/arena.h), where peers can map them: programs register such blocks. All others come from the next definition,
 * which need not be libc's. The wide form of the arena has more of them (calls_wide.c).
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
#include "preload/heap.h"
#include "preload/preload.h"
#include "preload/real_alloc.h"
#include "preload/wide.h"

static struct early {
	_Alignas(16) char buf[16384];
	size_t used;
} early;

static bool early_has(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early.buf < sizeof(early.buf);
}

/* Bytes that a block has at most. */
static size_t early_len(const void *p)
{
	return (size_t)(early.buf + sizeof(early.buf) - (const char *)p);
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
	fork_handlers();
	busy = false;
	return true;
}

/* The next definition of an allocation function; NULL while it is being looked up. */
#define NEXT(name) (likely(real_alloc.name) || alloc_resolve() ? real_alloc.name : NULL)

/*
 * The program has a free() or realloc() of its own, or an allocator other than libc's, whose further functions (sdallocx(),
 * mi_free(), reallocarray()) do not know the arena's blocks: it gets none.
 */
static bool alloc_theirs;

void preload_alloc_look(void)
{
	alloc_theirs = !real_is_libcs("free") || !real_is_libcs("realloc");
}

HOOK void *malloc(size_t len)
{
	void *p = unlikely(arena_wide && !alloc_theirs) ? wide_malloc(len) : NULL;

	if (unlikely(p))
		return p;
	return NEXT(malloc) ? real_alloc.malloc(len) : early_alloc(1, len);
}

HOOK void *calloc(size_t n, size_t size)
{
	void *p = unlikely(arena_wide && !alloc_theirs) ? wide_calloc(n, size) : NULL;

	if (unlikely(p))
		return p;
	return NEXT(calloc) ? real_alloc.calloc(n, size) : early_alloc(1, n * size);
}

static noinline __cold void alloc_free_arena(void *p)
{
	static const char text[] = "free(): invalid pointer\n";
	int e = errno;

	if (check_freed_near(p, 1))
		heap_freeing(p, arena_usable(p));
	if (arena_free(p)) {
		errno = e;
		return;
	}
	if (!arena_lost() || !NEXT(free)) {
		sys_write(STDERR_FILENO, text, sizeof(text) - 1);
		abort();
	}
	errno = e;
	real_alloc.free(p);
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

/* Makes a block of the arena, of `old` bytes, len bytes long at its place. False: it must move. */
static bool alloc_resize(void *p, size_t old, size_t len)
{
	size_t kept = ALIGN_UP(len, PAGE);

	if (len > old)
		return wide_extend(p, len);
	if (kept < old)
		heap_freeing((char *)p + kept, old - kept);
	return arena_shrink(p, len);
}

static noinline void *alloc_realloc_arena(void *p, size_t len)
{
	size_t old = arena_usable(p);
	int e = errno;
	void *new;

	if (!old && arena_lost() && NEXT(realloc)) {
		errno = e;
		return real_alloc.realloc(p, len);
	}
	if (!len) {
		free(p);
		return NULL;
	}
	new = alloc_resize(p, old, len) ? p : alloc_move(p, old, len);
	if (new)
		errno = e;
	return new;
}

HOOK void *realloc(void *p, size_t len)
{
	void *new = NULL;

	if (unlikely(arena_has(p)))
		return alloc_realloc_arena(p, len);
	if (unlikely(early_has(p)))
		return alloc_move(p, early_len(p), len);
	if (unlikely(arena_wide && !alloc_theirs) && NEXT(malloc_usable_size))
		new = wide_realloc(p, p ? real_alloc.malloc_usable_size(p) : 0, len);
	if (unlikely(new))
		return new;
	return NEXT(realloc) ? real_alloc.realloc(p, len) : early_alloc(1, len);
}

/* A program's own free() and realloc() may call libc's by these names. */
HOOK void __libc_free(void *p)
{
	if (unlikely(arena_has(p)))
		alloc_free_arena(p);
	else if (likely(!early_has(p)) && NEXT(__libc_free))
		real_alloc.__libc_free(p);
}

HOOK void *__libc_realloc(void *p, size_t len)
{
	if (unlikely(arena_has(p)))
		return alloc_realloc_arena(p, len);
	if (unlikely(early_has(p)))
		return alloc_move(p, early_len(p), len);
	return NEXT(__libc_realloc) ? real_alloc.__libc_realloc(p, len) : early_alloc(1, len);
}

/* What the aligned functions take from the arena. errno is unchanged. */
static void *alloc_aligned(size_t align, size_t len)
{
	int e = errno;
	void *p;

	if (likely(align < PAGE && (!arena_wide || len < PAGE)) || alloc_theirs)
		return NULL;
	p = align & (align - 1) ? NULL : arena_alloc(len, align, ARENA_ALIGNED, false);
	if (p)
		check_freed_taken(p, len, false);
	errno = e;
	return p;
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
	if (unlikely(arena_has(p)) && !arena_lost())
		return arena_usable(p);
	return early_has(p) || !NEXT(malloc_usable_size) ? 0 : real_alloc.malloc_usable_size(p);
}
