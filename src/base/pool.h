/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory for state that grows while data moves. malloc() has locks of its own,
 * and a doorbell may come from a signal handler that interrupted it; this asks
 * the kernel alone. The caller has the engine's lock: nothing in here does.
 *
 * Blocks have no headers and are aligned to 64 bytes where their size is, else
 * to 32. What is freed is used again and not given back, but for large ones.
 */
#ifndef RUSE_BASE_POOL_H
#define RUSE_BASE_POOL_H

#include "base/util.h"

/* At least size (not 0) bytes, content undefined; NULL: no memory. */
void *pool_alloc(size_t size);
/* The same, zeroed. */
void *pool_zalloc(size_t size);
/* With the size it was asked for. NULL is nothing. */
void pool_free(void *p, size_t size);
/* What a block of size bytes takes. */
size_t pool_size(size_t size);

#endif
