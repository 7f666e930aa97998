/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the arena: runs of pages, and what becomes of pages (arena_runs.c, arena_private.c). Callers hold the lock. */
#ifndef RUSE_ARENA_RUNS_H
#define RUSE_ARENA_RUNS_H

#include "arena/arena_internal.h"

/* The length of the row of pages from `at` to before `end` that agree in the flags of mask. */
uint32_t arena_same(uint32_t at, uint32_t end, uint8_t mask);
/* Takes all access from addresses and keeps them free of other mappings. at: NULL for any. NULL: the kernel refuses. */
void *arena_reserve(void *at, uint64_t size);
/* Reserves the addresses of pages, which have no mapping. False: something has been mapped at one of them. */
bool arena_keep(uint32_t at, uint32_t n);
/* Takes back the lock on memory that mlockall(MCL_FUTURE) gives to new mappings. */
void arena_unlock_pages(const void *p, size_t len);
/* Makes [at, at + n) a free run; it is not joined with its neighbours. */
void arena_run_free(uint32_t at, uint32_t n);
/* Does an MR pin any page of the block? head: its first page. */
bool arena_block_pinned(uint32_t head);
/* Closes such a descriptor. */
void arena_fd_close(int fd);
/* Frees the pages' memory: they read as zeros. False: the kernel refuses. */
bool arena_punch(uint32_t at, uint32_t n);
/* Maps pages to the memfd, or takes all access from their addresses. 0 or -errno. */
int arena_map_pages(uint32_t at, uint32_t n);
void arena_unmap_pages(uint32_t at, uint32_t n);
/* Maps those of the pages that are not mapped. 0 or -errno. */
int arena_map_rest(uint32_t at, uint32_t n);
/* A block of n pages, all of them mapped; 0: none. align: pages. Pages with PG_DIRTY may contain data. */
uint32_t arena_take_new(uint32_t n, uint32_t align, enum arena_use use);
/* The same, or a kept block (*kept): any page of that may contain data. */
uint32_t arena_take(uint32_t n, uint32_t align, enum arena_use use, bool *kept);
/* Frees the pages of blocks in [at, end), or marks them as ended if an MR pins their block. */
void arena_drop(uint32_t at, uint32_t end, bool unmap);
/*
 * The same for pages in any state. What the program has mapped there itself is unmapped without the lock (*mask), as the
 * system call may wait for the program (userfaultfd).
 */
void arena_drop_rows(uint32_t at, uint32_t end, bool unmap, uint64_t *mask);
/* munmap() of pages in any state. -ENOMEM: the process has too many mappings; the rest of the pages is as it was. */
int arena_unmap_rows(uint32_t at, uint32_t end, uint64_t *mask);
/* Frees a block without pins. unmap: takes the access from its addresses, too. Returns the free run's first page. */
uint32_t arena_release(uint32_t at, bool unmap);
/* Frees the blocks that the program has freed and no MR pins any more. */
void arena_sweep(void);
/* Makes [at, at + n) of the free run a block; the rest of the run stays free. */
void arena_carve(uint32_t run, uint32_t at, uint32_t n, uint8_t flags);
/* Divides the block that contains the page so that a block begins there. */
void arena_split(uint32_t at);
/* May a block of this use have n pages more? */
bool arena_may_have(uint32_t n, enum arena_use use);
/* To be called before pages in [at, end) lose their mapping or rights: makes the alias if an MR pins any of them. */
void arena_displace(uint32_t at, uint32_t end);
/*
 * Finds the next pages from *at to before limit that contain data: [*at, *end). False: there are none. Under a seccomp
 * filter lseek() may be forbidden, so all pages count as such.
 */
bool arena_next_data(uint32_t *at, uint32_t limit, uint32_t *end);
/* Copies pages of the memfd that contain data, which are read through a mapping of their own. 0 or -ENOMEM. */
int arena_copy_pages(void *to, uint32_t at, uint32_t n);
/* Makes pages of one block, without pins, private memory with the same content, protection and advice. 0 or -errno. */
int arena_make_private(uint32_t at, uint32_t n);
/* Makes the pages in [at, end) private that are not yet. pinned: those under an MR, too. 0 or -errno. */
int arena_private_range(uint32_t at, uint32_t end, bool pinned);
/* Marks pages before the lock is released, so that after it what has become of them meanwhile is seen. */
void arena_going(uint32_t at, uint32_t end, bool going);
/* Frees those of the pages that are still going, and whose mapping is gone: takes their addresses back where it can. */
void arena_uncover(uint32_t at, uint32_t end);
/* Is the descriptor still that of the memfd? If not, the arena goes on with what it has mapped, without new blocks. */
void arena_fd_check(void);
/* Gives n pages of private memory the protection, its key and the advice of a page of the table. 0 or -errno: no protection. */
int arena_protect_like(const struct arena_page *page, void *p, uint32_t n);
/* Are two pages alike in what arena_protect_like() gives, but for advice for fork()? */
bool arena_like(const struct arena_page *a, const struct arena_page *b);
/* Writes advice into the table, if a mapping keeps it. whole: the kernel has taken it for all of the pages. */
void arena_keep_advice(uint32_t at, uint32_t end, int advice, bool whole);
/* mprotect(), or pkey_mprotect() with a key (not -1). 0 or -errno. */
int arena_sys_protect(uintptr_t addr, size_t len, int prot, int pkey);
/* Marks pages as mapped by the program. */
void arena_cover(uint32_t at, uint32_t end);
/* Marks the blocks of the pages in [at, end) as mixed. */
void arena_mark_mixed(uint32_t at, uint32_t end);

#endif
