/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The size of the arena: what RUSE_MEMORY asks for, and what limits leave of it. */
#ifndef RUSE_ARENA_SIZE_H
#define RUSE_ARENA_SIZE_H

#include "base/util.h"

/* The size without RUSE_MEMORY. Every fork() copies what the program has in the arena, so it is small. */
#define ARENA_SIZE_DEFAULT (256ull << 20)
/* There is no smaller arena. */
#define ARENA_SIZE_MIN (64ull << 10)

/*
 * The bytes that a value of RUSE_MEMORY asks for: "private", "all", or a size as "64M" or "1G"; NULL and "": the
 * default. False: it is none of these, and *size is the default.
 */
bool arena_size_wanted(const char *text, uint64_t *size);
/* The part of a limited address space (RLIMIT_AS) that the arena may take: an eighth. UINT64_MAX: there is no limit. */
uint64_t arena_size_limit(void);

#endif
