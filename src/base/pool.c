/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/pool.h"
#include "base/sys.h"

#define UNIT 32u
#define FINE 1024u		/* blocks up to this size are multiples of UNIT; longer ones are powers of two */
#define MAX_SHIFT 15
#define CLASSES (FINE / UNIT + MAX_SHIFT - 10)
#define CHUNK ((size_t)1 << 16)

/* Size class; CLASSES or more: a large block, mapped by itself. */
static uint32_t pool_class_of(size_t size)
{
	if (size <= FINE)
		return (uint32_t)(size + UNIT - 1) / UNIT - 1;
	return FINE / UNIT - 11 + 64 - (uint32_t)__builtin_clzll((unsigned long long)size - 1);
}

size_t pool_size(size_t size)
{
	uint32_t c = pool_class_of(size);

	if (c >= CLASSES)
		return ALIGN_UP(size, (size_t)PAGE);
	return c < FINE / UNIT ? (c + 1) * (size_t)UNIT : (size_t)FINE << (c - FINE / UNIT + 1);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

/* In builds with a sanitizer the pool uses the libc allocator, since sanitizers check no other memory. */
void *pool_alloc(size_t size)
{
	return aligned_alloc(64, ALIGN_UP(size, (size_t)64));
}

void pool_free(void *p, size_t size)
{
	free(p);
}

void *pool_zalloc(size_t size)
{
	void *p = pool_alloc(size);

	return p ? memset(p, 0, size) : NULL;
}

void pool_forget(void)
{
}

#else

struct block {
	struct block *next;
};

/* Per size class: free blocks, and the unused rest of the current chunk. */
static struct pool_class {
	struct block *free;
	uint8_t *at, *end;
} classes[CLASSES];

static void *pool_map(size_t size)
{
	long p = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0ul);

	return p < 0 && p > -(long)PAGE ? NULL : (void *)p;
}

void *pool_alloc(size_t size)
{
	uint32_t i = pool_class_of(size);
	struct pool_class *c;
	uint8_t *p;

	size = pool_size(size);
	if (i >= CLASSES)
		return pool_map(size);
	c = &classes[i];
	if (c->free) {
		p = (uint8_t *)c->free;
		c->free = c->free->next;
		return p;
	}
	if ((size_t)(c->end - c->at) < size) {
		p = pool_map(CHUNK);
		if (!p)
			return NULL;
		c->at = p;
		c->end = p + CHUNK;
	}
	p = c->at;
	c->at += size;
	return p;
}

void pool_free(void *p, size_t size)
{
	uint32_t i = pool_class_of(size);
	struct block *b = p;

	if (!p)
		return;
	if (i >= CLASSES) {
		sys_call(SYS_munmap, p, pool_size(size));
		return;
	}
	b->next = classes[i].free;
	classes[i].free = b;
}

/* A block that is mapped by itself is zero, and has no memory yet. */
void *pool_zalloc(size_t size)
{
	void *p = pool_alloc(size);

	return p && pool_class_of(size) < CLASSES ? memset(p, 0, size) : p;
}

void pool_forget(void)
{
	memset(classes, 0, sizeof(classes));
}

#endif

void *pool_grow(void *p, size_t old, size_t size)
{
	void *new = pool_alloc(size);

	if (new && p)
		memcpy(new, p, old);
	if (new)
		pool_free(p, old);
	return new;
}
