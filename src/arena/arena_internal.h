/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the arena: its pages and runs. */
#ifndef RUSE_ARENA_INTERNAL_H
#define RUSE_ARENA_INTERNAL_H

#include <pthread.h>
#include <sys/mman.h>
#include "arena/arena.h"

#define PAGE_SHIFT 12
#define ARENA_BINS 32
/* Free pages whose memory is kept: 32 MiB, as libc's largest M_MMAP_THRESHOLD. */
#define ARENA_KEEP (8192u)
/* Freed blocks that are kept as they are. */
#define ARENA_CACHED 8
#define PROT_RW (PROT_READ | PROT_WRITE)
/* The rest of the addresses are kept free of other mappings. */
#define MAP_RESERVE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Flags of a page. */
enum {
	PG_USED = 1,	/* of a block; else free */
	PG_MAPPED = 2,	/* the addresses are mapped to the memfd; else they have no access */
	PG_DIRTY = 4,	/* free: may contain data */
	PG_COVERED = 8, /* used: the program has mapped something else here */
	PG_ENDED = 16,	/* used: the program has freed the block, which is kept for an MR */
	PG_WIPE = 32,	/* used: MADV_WIPEONFORK */
	PG_NOFORK = 64, /* used: MADV_DONTFORK */
	PG_LARGE = 128, /* used: counts for ARENA_LARGE */
};

/*
 * A page of the arena. A run is a row of pages: a block or free. Of a free run only the first and the last page
 * have head, of a block every page. Page 0 is never used, so that 0 means none.
 */
struct arena_page {
	uint32_t head;	     /* first page of the run */
	uint32_t len;	     /* first page: pages of the run */
	uint32_t next, prev; /* first page of a free run: its list */
	uint16_t pins;	     /* MRs on this page; stops at UINT16_MAX, then the page stays pinned for ever */
	uint8_t flags;
	uint8_t noprot : 3; /* rights that mprotect() has taken from PROT_READ | PROT_WRITE, by xor */
	uint8_t odd : 1;    /* used: mlock(), or advice that the mapping keeps: not for the next block */
	bool mixed;	    /* first page of a block: the rest of its pages may differ */
};

struct arena {
	pthread_mutex_t lock;
	const struct arena_ops *ops;
	bool opened;		/* arena_open() was called */
	bool full;		/* a block has found no room */
	int fd, copy;		/* the memfd; during a fork, that of the child */
	struct arena_span span; /* describes fd */
	uint32_t npages;
	uint32_t top; /* no page from here on was ever used */
	struct arena_page *page;
	uint32_t bin[ARENA_BINS];		/* free runs by ilog2 of their length */
	uint32_t used, large;			/* pages of blocks, of those of ARENA_LARGE */
	uint32_t dirty;				/* free pages that may contain data */
	uint32_t cached[ARENA_CACHED], ncached; /* first pages of freed blocks, the newest last */
	int fork_err;
	uint32_t *alive; /* 1; the kernel zeroes it in a child (MADV_WIPEONFORK) */
	bool orphan;	 /* a child that another call than fork() has made: it has none of the arena's memory */
};

extern struct arena arena_state;

void arena_lock(void);
void arena_unlock(void);

/* Callers of the following hold the lock. */

static inline void *arena_addr(uint32_t page)
{
	return (void *)(arena_base + ((uintptr_t)page << PAGE_SHIFT));
}

static inline uint32_t arena_page_of(uintptr_t addr)
{
	return (uint32_t)((addr - arena_base) >> PAGE_SHIFT);
}

/* Bytes of n pages; pages that len bytes need. */
static inline size_t arena_len(uint32_t n)
{
	return (size_t)n << PAGE_SHIFT;
}

static inline uint32_t arena_pages(uint64_t len)
{
	return (uint32_t)((len + PAGE - 1) >> PAGE_SHIFT);
}

/* First page after [addr, addr + len). */
static inline uint32_t arena_page_end(uintptr_t addr, size_t len)
{
	return arena_page_of(addr + len + PAGE - 1);
}

/* True if the program has no memory at this page: it was never given out, or is freed or unmapped. */
static inline bool arena_is_hole(uint32_t at)
{
	return (arena_state.page[at].flags & (PG_USED | PG_ENDED)) != PG_USED;
}

/* The length of the row of pages from `at` to before `end` that agree in the flags of mask. */
uint32_t arena_same(uint32_t at, uint32_t end, uint8_t mask);
/* Takes all access from addresses and keeps them free of other mappings. at: NULL for any. NULL: the kernel refuses. */
void *arena_reserve(void *at, uint64_t size);
/* Makes [at, at + n) a free run; it is not joined with its neighbours. */
void arena_run_free(uint32_t at, uint32_t n);
/* Does an MR pin any page of the block? head: its first page. */
bool arena_block_pinned(uint32_t head);
/* Fills in the members of *s that describe fd. 0 or -errno. */
int arena_describe(int fd, struct arena_span *s);
/* Hides a descriptor from the program by arena_ops; returns the number to use. */
int arena_fd_hide(int fd);
/* Closes such a descriptor. */
void arena_fd_close(int fd);
/* Frees the pages' memory: they read as zeros. */
void arena_punch(uint32_t at, uint32_t n);
/* Maps pages to the memfd, or takes all access from their addresses. 0 or -errno. */
int arena_map_pages(uint32_t at, uint32_t n);
void arena_unmap_pages(uint32_t at, uint32_t n);
/* A block of n pages, all of them mapped; 0: none. align: pages. Pages with PG_DIRTY may contain data. */
uint32_t arena_take_new(uint32_t n, uint32_t align, enum arena_use use);
/* The same, or a kept block: any page may contain data. zero: their content is zeros. */
uint32_t arena_take(uint32_t n, uint32_t align, enum arena_use use, bool zero);
/* Frees the pages of blocks in [at, end), or marks them as ended if an MR pins their block. */
void arena_drop(uint32_t at, uint32_t end, bool unmap);
/* Frees a block without pins. unmap: takes the access from its addresses, too. Returns the free run's first page. */
uint32_t arena_release(uint32_t at, bool unmap);
/* Makes [at, at + n) of the free run a block; the rest of the run stays free. */
void arena_carve(uint32_t run, uint32_t at, uint32_t n, uint8_t flags);
/* Divides the block that contains the page so that a block begins there. */
void arena_split(uint32_t at);
/* Adds the n free pages behind the block to it. */
bool arena_take_after(uint32_t head, uint32_t n, bool zero);
/* To be called before pages in [at, end) lose their mapping or rights: makes the alias if an MR pins any of them. */
void arena_displace(uint32_t at, uint32_t end);
/* In a child: maps the alias to its own memfd, if the parent has one. */
void arena_alias_fork(void);
/* Marks the blocks of the pages in [at, end) as mixed. */
void arena_mark_mixed(uint32_t at, uint32_t end);

#endif
