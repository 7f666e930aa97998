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
/* In the small form blocks of so many pages or more are unmapped when they are freed. It grows: arena_give_block(). */
#define ARENA_UNMAP (32u)
/* Freed blocks that the wide form keeps as they are. */
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
	uint8_t locked : 1; /* used: mlock() */
	uint8_t going : 1;  /* covered: its mapping is being unmapped, without the lock */
	uint8_t apart : 1;  /* first page of a block: its pages are unmapped when it is freed */
	bool mixed;	    /* first page of a block: the rest of its pages may differ */
	uint8_t advice, pkey; /* used: advice that the mapping keeps, as AD_ flags; protection key */
};

struct arena {
	pthread_mutex_t lock;
	pthread_mutex_t making; /* held by the thread that makes the memfd */
	const struct arena_ops *ops;
	_Atomic uint64_t wanted;	/* read without the lock: bytes; 0: no arena, or none any more */
	bool opened;		/* arena_open() was called */
	long pid;		/* by this process */
	bool confined;		/* arena_confine() was called */
	bool full;		/* a block has found no room */
	_Atomic int fd;		/* read without the lock: the memfd, or -1 */
	bool fd_lost;		/* the program has closed fd by a system call; the pages are mapped still */
	struct arena_span span; /* describes fd */
	uint32_t npages, top;	/* no page from `top` on was ever used */
	struct arena_page *page;
	uint32_t bin[ARENA_BINS];		/* free runs by ilog2 of their length */
	uint32_t used, large;			/* pages of blocks, of those of ARENA_LARGE */
	uint32_t dirty;				/* free pages that may contain data */
	uint32_t ended;				/* pages with PG_ENDED */
	uint32_t unmap;				/* ARENA_UNMAP by now; 0: the wide form */
	uint32_t cached[ARENA_CACHED], ncached; /* first pages of freed blocks, the newest last */
	uint32_t forks;	 /* threads between arena_fork_prepare() and the function behind the fork */
	_Atomic uint32_t *holes; /* arena_count_holes(); or NULL */
	uint32_t *alive; /* 1; the kernel zeroes it in a child (MADV_WIPEONFORK) */
	bool orphan;	 /* a child that another call than fork() has made: it has none of the arena's memory */
};

extern struct arena arena_state;

/*
 * The copies of forks that other threads have begun. A child does not need them. An entry is cleared before its copy is
 * unmapped, so an entry that the child sees is in its memory.
 */
#define ARENA_COPIES 16
struct arena_entry {
	_Atomic(uint8_t *) at;
	size_t len;
};
extern struct arena_entry arena_copies[ARENA_COPIES];

/* Blocks all signals and takes the lock. Returns the signals that were blocked before. */
uint64_t arena_lock(void);
/* Releases the lock and unblocks other signals than those of mask. */
void arena_unlock(uint64_t mask);
/* Unblocks other signals than those of mask. */
void arena_unblock(uint64_t mask);
/* Have this process, its cgroups and the machine len bytes of memory left? */
bool arena_room_for(uint64_t len);

/* Is the result of mmap() or mremap() an error? */
static inline bool arena_failed(long p)
{
	return p < 0 && p > -4096;
}

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

/* True if there are pages of the memfd. */
static inline bool arena_has_file(void)
{
	return arena_state.fd >= 0 || arena_state.fd_lost;
}

/* True if the program has no memory at this page: it was never given out, or is freed or unmapped. */
static inline bool arena_is_hole(uint32_t at)
{
	return (arena_state.page[at].flags & (PG_USED | PG_ENDED)) != PG_USED;
}

#endif
