/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena: program memory that other processes can map.
 *
 * The arena is one memfd of fixed size and a range of addresses of the same size. The page at offset n of the memfd is
 * mapped at base + n and nowhere else in this process. The allocation functions of preload/ take page-aligned blocks
 * from here, so that memory is shared from its birth: no page is ever moved into the arena. A peer maps the parts of the
 * memfd that it needs, and copies to and from registered memory with its own CPU (link/shm_map.c).
 *
 * There are two forms. The small form, the default, has only blocks that the program wants aligned to a page or more. It
 * is made with the first such block, and only if it gives other processes no right that they lack. The wide form
 * (RUSE_MEMORY) also has the large blocks of malloc() and mmap() (arena_wide.c).
 *
 * To the program the memory is private memory. A forked child gets a copy before fork() returns (arena_fork.c); the
 * mappings have MADV_DONTFORK, so a child that was made by another system call does not have them at all.
 *
 * A memory region (MR) pins its pages: a block that the program frees meanwhile is used again only after the last MR
 * on it has ended, as with pages that the kernel pins.
 *
 * All functions take a lock of their own, except arena_has() and arena_pinned(). Signals are blocked while it is held, so
 * that no handler, and no thread that a handler stops, waits for itself. Under the lock no memory of the program is
 * accessed. The functions use raw system calls only, and allocate nothing.
 */
#ifndef RUSE_ARENA_ARENA_H
#define RUSE_ARENA_ARENA_H

#include "base/util.h"

/* Functions of the owner; members may be NULL. */
struct arena_ops {
	int (*own_fd)(int fd);	   /* hides a descriptor from the program; returns the number to use, or -errno as it is */
	void (*own_close)(int fd); /* closes such a descriptor */
};

/* Which blocks come from the arena. */
enum arena_form { ARENA_SMALL, /* aligned ones; the arena is made with the first of them */
		  ARENA_WIDE };	/* those, and large blocks of malloc() and mmap(); the arena is made at once */

/*
 * Lets blocks come from an arena of `size` bytes. Calls after the first do nothing. ops must stay valid. False: there will
 * be no arena, or that of the wide form could not be made; the program's memory then stays private.
 */
bool arena_open(uint64_t size, enum arena_form form, const struct arena_ops *ops);
/* From now on no new block comes from the arena: the program has limited its memory (RLIMIT_AS, RLIMIT_DATA). */
void arena_stop(void);
/* The program has set a seccomp filter, or may soon: system calls that malloc() and fork() do not make may kill it. */
void arena_confine(void);
bool arena_is_confined(void);

/* Why there is no arena. */
enum arena_absent { ARENA_UNASKED, /* not asked for, or of size 0 */
		    ARENA_UNUSED,  /* no block was asked for yet */
		    ARENA_REFUSED, /* by a limit of the process or the system */
		    ARENA_GUARDED, /* processes of one user may not access each other's memory */
		    ARENA_LOST };  /* the process is a child: its memory is a private copy */

/* Do the system and the limits of this process permit an arena of this form? If not, why; else ARENA_UNUSED. */
enum arena_absent arena_permitted(enum arena_form form);

struct arena_span {
	uintptr_t base;
	size_t size;		       /* 0: no arena */
	enum arena_absent absent;      /* if there is none */
	bool full;		       /* a block of the program has found no room */
	int fd;			       /* the memfd */
	uint32_t dev_major, dev_minor; /* its device and inode number */
	uint64_t ino;
	uint64_t used; /* bytes of blocks */
};
/* Describes the arena. */
struct arena_span arena_span(void);

/* From now on the word counts up after pages were taken from the memfd; not in a child. It must stay mapped. */
void arena_count_holes(_Atomic uint32_t *word);
/* Ends this, if it is this word that counts. */
void arena_uncount_holes(const _Atomic uint32_t *word);

/* The range of addresses. It stays when the memfd goes, as in a child. */
extern _Atomic uintptr_t arena_base;
extern _Atomic size_t arena_bytes;

/* True if p points into the arena. */
static inline bool arena_has(const void *p)
{
	return (uintptr_t)p - arena_base < arena_bytes;
}

/* What a block is for. Large blocks exist in the wide form only, and may use half of the arena. */
enum arena_use { ARENA_ALIGNED,
		 ARENA_LARGE };

/* True if large blocks come from the arena. */
extern _Atomic bool arena_wide;

/*
 * True in a child that another system call than fork() has made: the arena's memory is not there, and the kernel may have
 * mapped something else at its addresses.
 */
bool arena_lost(void);

/*
 * A block of at least len bytes, aligned to `align` (a power of two), of undefined content, or zeroed. NULL: no
 * arena, no room, or len is 0.
 */
void *arena_alloc(size_t len, size_t align, enum arena_use use, bool zero);
/* Usable bytes of the block at p, counted from p; 0: p does not point into a block. */
size_t arena_usable(const void *p);
/* Makes the block at p at least len bytes long without moving it. */
bool arena_extend(void *p, size_t len);
/* Gives back the pages behind the first len bytes of the block at p. False: no block begins there, or it is shorter. */
bool arena_shrink(void *p, size_t len);
/* Ends the block at p. False: no block begins there. */
bool arena_free(void *p);

/*
 * A second mapping of the whole memfd, or NULL. It exists as soon as a pinned page is not at its own address any more, or
 * is protected there: a registration goes on with the pages that it has.
 */
extern uint8_t *volatile arena_alias;

/* The place of pinned memory of the arena that is there whatever the program does at addr. */
static inline void *arena_pinned_at(uintptr_t addr)
{
	uint8_t *alias = arena_alias;

	return unlikely(alias) ? alias + (addr - arena_base) : (uint8_t *)addr;
}

/* Pins pages of an MR: [off, off + len) of the memfd. */
void arena_pin(uint64_t off, uint64_t len);
/* Ends this; frees blocks that were kept for it. */
void arena_unpin(uint64_t off, uint64_t len);
/*
 * True if these bytes are pinned, so that a peer may take them from the memfd at p - arena_base. Takes no lock and
 * makes no system call. len is not 0.
 */
bool arena_pinned(const void *p, size_t len);

/* True if a fork() now has room for the copy that the child gets. Asks the limits of the process and its cgroups. */
bool arena_fork_room(void);
/*
 * Around fork(), called in this order by one thread: prepare in the parent, then the function of each side. prepare copies
 * what the child will have, and blocks signals until then. Meanwhile other threads may call every function, but get no new
 * blocks. If copying fails, arena_fork_child() ends the child, and arena_fork_parent() returns -ENOMEM.
 */
void arena_fork_prepare(void);
int arena_fork_parent(void);
void arena_fork_child(void);

#endif
