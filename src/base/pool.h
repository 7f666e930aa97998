/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for all that a process does with the engine lock held: verbs objects, links, state that grows on the data path.
 * malloc() is not usable there. It may be the program's own, and the thread that has its lock may wait for the engine
 * lock: a doorbell or a deregistration comes from a signal handler that has interrupted malloc(), or from a hook that the
 * allocator calls. And glibc gives each thread that calls it, as the progress thread, 64 MiB of address space, which
 * mlockall() counts as locked. The pool gets memory by mmap() only. It has no lock: the caller holds the engine lock.
 *
 * Blocks have no headers. They are aligned to 64 bytes if their size is a multiple of 64,
 * else to 32. Freed blocks are kept for reuse; large ones are unmapped.
 */
#ifndef RUSE_BASE_POOL_H
#define RUSE_BASE_POOL_H

#include "base/util.h"

/* Allocates size (not 0) bytes of undefined content; NULL: no memory. */
void *pool_alloc(size_t size);
/* The same, zeroed. */
void *pool_zalloc(size_t size);
/* A block of size bytes that begins with the `old` bytes of p, which is freed; p may be NULL. NULL: no memory, p is as before. */
void *pool_grow(void *p, size_t old, size_t size);
/* size: as passed to pool_alloc(). p may be NULL. */
void pool_free(void *p, size_t size);
/* In a child whose parent forked while a thread was in one of these functions: forgets all free blocks. */
void pool_forget(void);
/* Bytes that a block of this size occupies. */
size_t pool_size(size_t size);

#endif
