/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the arena: the wide form, in which large blocks of malloc() and mmap() come from it too. Callers hold the lock. */
#ifndef RUSE_ARENA_WIDE_H
#define RUSE_ARENA_WIDE_H

#include "base/util.h"

/* Keeps a block that the program has freed. TWICE: it was freed before. NOT: it is as it was. */
enum arena_cached { ARENA_CACHE_DONE,
		    ARENA_CACHE_NOT,
		    ARENA_CACHE_TWICE };
enum arena_cached arena_cache_put(uint32_t at);
/* A kept block of n pages, all of which may contain data; 0: none. flags: PG_LARGE or 0. */
uint32_t arena_cache_get(uint32_t n, uint32_t align, uint8_t flags);
/* True if a kept block begins at this page. */
bool arena_cache_has(uint32_t at);
/* Frees all kept blocks. False: there were none. */
bool arena_cache_empty(void);

#endif
