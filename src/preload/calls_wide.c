/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Large blocks of malloc() and mmap() in the wide form of the arena (wide.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "check/freed.h"
#include "preload/wide.h"

/* From this size on libc's malloc() maps memory for a block of its own (M_MMAP_THRESHOLD). */
#define WIDE_MALLOC (128u << 10)
#define WIDE_MMAP (64u << 10)

static void *wide_alloc(size_t len, bool zero)
{
	int e = errno;
	void *p = len < WIDE_MALLOC ? NULL : arena_alloc(len, 1, ARENA_LARGE, zero);

	if (p)
		check_freed_taken(p, len, false);
	errno = e;
	return p;
}

void *wide_malloc(size_t len)
{
	return wide_alloc(len, false);
}

void *wide_calloc(size_t n, size_t size)
{
	size_t len;

	return __builtin_mul_overflow(n, size, &len) ? NULL : wide_alloc(len, true);
}

void *wide_realloc(void *p, size_t old, size_t len)
{
	void *new = old < len ? wide_alloc(len, false) : NULL;

	if (new && p) {
		memcpy(new, p, old);
		free(p);
	}
	return new;
}

bool wide_extend(void *p, size_t len)
{
	return arena_wide && len >= WIDE_MALLOC && arena_extend(p, len);
}

void *wide_mmap(void *addr, size_t len, int prot, int flags)
{
	int e = errno;
	void *p;

	if (addr || len < WIDE_MMAP || prot != (PROT_READ | PROT_WRITE) ||
	    flags != (MAP_PRIVATE | MAP_ANONYMOUS))
		return NULL;
	p = arena_mmap(len);
	errno = e;
	return p;
}
