/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arena's part of the system calls on memory. Ranges lie within the arena. Results are 0 or more, or -errno. */
#ifndef RUSE_ARENA_CALLS_H
#define RUSE_ARENA_CALLS_H

#include <sys/mman.h>
#include "arena/arena.h"

/* From Linux 5.18 and 6.13. */
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* mmap() of len bytes of zeroed private memory. NULL: no room. */
void *arena_mmap(size_t len);
/* munmap(): the pages are freed, and the addresses have no access. -ENOMEM: the process has too many mappings. */
int arena_munmap(uintptr_t addr, size_t len);
/* The program has mapped something else over these addresses (MAP_FIXED), or unmapped it by a system call. */
void arena_covered(uintptr_t addr, size_t len);
/* The program has detached a segment of shared memory, which began at this address. */
void arena_detached(uintptr_t addr);
/*
 * The program wants to map something at addresses that it has not in use. True: all of them are such ones in the
 * arena, and the kernel may map over them. If it fails, arena_munmap() takes them back.
 */
bool arena_claim(uintptr_t addr, size_t len);
/* Bytes from addr to the first page that the program has unmapped or freed; len: there is none. */
size_t arena_whole(uintptr_t addr, size_t len);
/* The program has called mlock() on these pages, or munlock(). */
void arena_locked(uintptr_t addr, size_t len, bool locked);
/* The program has called munlockall(). */
void arena_unlocked(void);
int arena_mprotect(uintptr_t addr, size_t len, int prot);
int arena_pkey_mprotect(uintptr_t addr, size_t len, int prot, int pkey);
int arena_madvise(uintptr_t addr, size_t len, int advice);
/* mremap() of a range in the arena. fixed: the wanted address with MREMAP_FIXED, else NULL. *at: the new address. */
int arena_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **at);
/* Makes pages private memory of the same content, unless an MR pins them, for what cannot be done with pages of a file. */
void arena_leave(uintptr_t addr, size_t len);
/*
 * Private memory outside the arena: guard bytes without access, a multiple of a page, and behind them len bytes. It is not
 * locked: mlockall(MCL_FUTURE) would make all of its pages. NULL: no room.
 */
void *arena_map_own(size_t guard, size_t len);

#endif
