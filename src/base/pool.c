/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <sys/mman.h>
#include "base/pool.h"
#include "base/sys.h"

#define MIN_SHIFT 5
#define MAX_SHIFT 15
#define CHUNK ((size_t)1 << 16)
#define PAGE 4096

struct block {
	struct block *next;
};

/* By size: those that were freed, and the rest of the chunk that new ones are cut from. */
static struct pool_class {
	struct block *free;
	uint8_t *at, *end;
} classes[MAX_SHIFT - MIN_SHIFT + 1];

static uint32_t shift_of(size_t size)
{
	return size <= (size_t)1 << MIN_SHIFT ?
		MIN_SHIFT : 64 - (uint32_t)__builtin_clzll((unsigned long long)size - 1);
}

size_t pool_size(size_t size)
{
	uint32_t shift = shift_of(size);

	return shift > MAX_SHIFT ? ALIGN_UP(size, (size_t)PAGE) : (size_t)1 << shift;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

/* So that a block used after it was freed, or never freed, is seen. */
void *pool_alloc(size_t size)
{
	return aligned_alloc(min(pool_size(size), (size_t)PAGE), pool_size(size));
}

void pool_free(void *p, size_t size)
{
	free(p);
}

#else

static void *map(size_t size)
{
	long p = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0ul);

	return p < 0 && p > -PAGE ? NULL : (void *)p;
}

void *pool_alloc(size_t size)
{
	uint32_t shift = shift_of(size);
	struct pool_class *c;
	uint8_t *p;

	if (shift > MAX_SHIFT)
		return map(pool_size(size));
	c = &classes[shift - MIN_SHIFT];
	if (c->free) {
		p = (uint8_t *)c->free;
		c->free = c->free->next;
		return p;
	}
	if (c->at == c->end) {
		c->at = map(CHUNK);
		c->end = c->at ? c->at + CHUNK : NULL;
		if (!c->at)
			return NULL;
	}
	p = c->at;
	c->at += (size_t)1 << shift;
	return p;
}

void pool_free(void *p, size_t size)
{
	uint32_t shift = shift_of(size);
	struct block *b = p;

	if (!p)
		return;
	if (shift > MAX_SHIFT) {
		sys_call(SYS_munmap, p, pool_size(size));
		return;
	}
	b->next = classes[shift - MIN_SHIFT].free;
	classes[shift - MIN_SHIFT].free = b;
}

#endif
