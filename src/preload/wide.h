/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wide form of the arena (RUSE_MEMORY): blocks of malloc(), calloc(), realloc() and mmap() that come from the arena.
 * The functions are called in the wide form only, but for wide_extend(). errno is unchanged. NULL: the block comes from
 * elsewhere.
 */
#ifndef RUSE_PRELOAD_WIDE_H
#define RUSE_PRELOAD_WIDE_H

#include "arena/arena.h"
#include "arena/calls.h"

void *wide_malloc(size_t len);
void *wide_calloc(size_t n, size_t size);
/* p: a block outside the arena of `old` usable bytes, which is freed, or NULL. */
void *wide_realloc(void *p, size_t old, size_t len);
/* Makes a block of the arena at least len bytes long at its place. False: it must move. */
bool wide_extend(void *p, size_t len);
void *wide_mmap(void *addr, size_t len, int prot, int flags);

#endif
