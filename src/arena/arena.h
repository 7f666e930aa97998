/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The arena: program memory that other processes can map.
 *
 * The arena is one memfd of fixed size and a range of addresses of the same size. The page at offset n of the memfd is
 * mapped at base + n and nowhere else in this process. The allocation functions of preload/ take large and
 * page-aligned blocks from here, so that memory is shared from its birth: no page is ever moved. A peer maps the
 * memfd as a whole and copies to and from registered memory with its own CPU (link/shm_map.c).
 *
 * To the program the memory is private memory. A forked child gets a copy before fork() returns (arena_fork.c); the
 * mappings have MADV_DONTFORK, so a child that was made by another system call does not have them at all.
 *
 * A memory region (MR) pins its pages: a block that the program frees meanwhile is used again only after the last MR
 * on it has ended, as with pages that the kernel pins.
 *
 * All functions take a lock of their own, except arena_has() and arena_pinned(). They use raw system calls only, and
 * allocate nothing.
 */
#ifndef RUSE_ARENA_ARENA_H
#define RUSE_ARENA_ARENA_H

#include "base/util.h"

/* Functions of the owner; members may be NULL. */
struct arena_ops {
	int (*own_fd)(int fd);	   /* hides a descriptor from the program; returns the number to use, or -errno as it is */
	void (*own_close)(int fd); /* closes such a descriptor */
};

/*
 * Creates the arena, of `size` bytes. Calls after the first do nothing. ops must stay valid. False: there is no arena,
 * as a limit of this process forbids it; the program's memory then stays private.
 */
bool arena_open(uint64_t size, const struct arena_ops *ops);
/* Frees everything; for tests. */
void arena_close(void);

/* Why there is no arena. */
enum arena_absent { ARENA_UNASKED, /* not asked for, or of size 0 */
		    ARENA_REFUSED, /* by a limit of the process or the system */
		    ARENA_LOST };  /* the process is the child of another system call than fork() */

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

extern uintptr_t arena_base;
extern size_t arena_bytes;

/* True if p points into the arena. */
static inline bool arena_has(const void *p)
{
	return (uintptr_t)p - arena_base < arena_bytes;
}

/* What a block is for. Large blocks may use half of the arena, the rest is for aligned ones. */
enum arena_use { ARENA_ALIGNED,
		 ARENA_LARGE };

/*
 * A block of at least len bytes, aligned to `align` (a power of two), of undefined content, or zeroed. NULL: no
 * arena, no room, or len is 0.
 */
void *arena_alloc(size_t len, size_t align, enum arena_use use, bool zero);
/* Usable bytes of the block at p, counted from p; 0: p does not point into a block. */
size_t arena_usable(const void *p);
/* Makes the block at p at least len bytes long without moving it. */
bool arena_extend(void *p, size_t len);
/* Ends the block at p. False: no block begins there. */
bool arena_free(void *p);

/* The arena's part of the system calls of the same name: 0 or more, or -errno. Ranges lie within the arena. */

/* mmap() of len bytes of zeroed private memory. NULL: no room. */
void *arena_mmap(size_t len);
/* munmap(): the pages are freed, and the addresses have no access. */
void arena_munmap(uintptr_t addr, size_t len);
/* The program has mapped something else over these addresses (MAP_FIXED), or unmapped it by a system call. */
void arena_covered(uintptr_t addr, size_t len);
/*
 * The program wants to map something at addresses that it has not in use. True: all of them are such ones in the
 * arena, and the kernel may map over them. If it fails, arena_munmap() takes them back.
 */
bool arena_claim(uintptr_t addr, size_t len);
/* Bytes from addr to the first page that the program has unmapped or freed; len: there is none. */
size_t arena_whole(uintptr_t addr, size_t len);
/* The program has called mlock() on these pages. */
void arena_locked(uintptr_t addr, size_t len);
int arena_mprotect(uintptr_t addr, size_t len, int prot);
int arena_pkey_mprotect(uintptr_t addr, size_t len, int prot, int pkey);
int arena_madvise(uintptr_t addr, size_t len, int advice);
/* mremap() of a range in the arena. fixed: the wanted address with MREMAP_FIXED, else NULL. *at: the new address. */
int arena_mremap(uintptr_t addr, size_t old, size_t len, int flags, void *fixed, void **at);

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

/*
 * Around fork(), called in this order: prepare in the parent, then the function of each side. prepare copies what the
 * child will have. If that fails, arena_fork_child() ends the child, and arena_fork_parent() returns -ENOMEM.
 */
void arena_fork_prepare(void);
int arena_fork_parent(void);
void arena_fork_child(void);

#endif
