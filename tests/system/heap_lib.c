/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The allocator of heap-lock.c, a library as jemalloc is one: libc's, behind a lock that the program can take. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#pragma GCC visibility push(default)

pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t len)
{
	void *p;

	pthread_mutex_lock(&heap_lock);
	p = __libc_malloc(len);
	pthread_mutex_unlock(&heap_lock);
	return p;
}

void *calloc(size_t n, size_t len)
{
	void *p;

	pthread_mutex_lock(&heap_lock);
	p = __libc_calloc(n, len);
	pthread_mutex_unlock(&heap_lock);
	return p;
}

void *realloc(void *old, size_t len)
{
	void *p;

	pthread_mutex_lock(&heap_lock);
	p = __libc_realloc(old, len);
	pthread_mutex_unlock(&heap_lock);
	return p;
}

void *aligned_alloc(size_t align, size_t len)
{
	void *p;

	pthread_mutex_lock(&heap_lock);
	p = __libc_memalign(align, len);
	pthread_mutex_unlock(&heap_lock);
	return p;
}

int posix_memalign(void **to, size_t align, size_t len)
{
	*to = aligned_alloc(align, len);
	return *to ? 0 : ENOMEM;
}

void free(void *p)
{
	pthread_mutex_lock(&heap_lock);
	__libc_free(p);
	pthread_mutex_unlock(&heap_lock);
}
