/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for state that grows on the data path. malloc() is not usable there: a doorbell
 * may come from a signal handler that has interrupted malloc() with its lock held. The
 * pool gets memory by mmap() only. It has no lock: the caller holds the engine lock.
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
/* size: as passed to pool_alloc(). p may be NULL. */
void pool_free(void *p, size_t size);
/* Bytes that a block of this size occupies. */
size_t pool_size(size_t size);

#endif
