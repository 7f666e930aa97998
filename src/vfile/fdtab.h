/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table from descriptors to virtual files (struct vfile). A lookup is two loads, or one
 * in a program that has no RDMA descriptors. The table has no lock: its slots and reference
 * counts are changed by atomic operations, so that all threads and signal handlers may read
 * and change it, with or without the engine lock.
 *
 * To close a descriptor, remove it from the table first, then close it. To open one, open
 * it first, then install it. So a number newly returned by the kernel is not in the table,
 * unless the descriptor was closed without libruse.so noticing.
 */
#ifndef RUSE_VFILE_FDTAB_H
#define RUSE_VFILE_FDTAB_H

#include "shared/barrier.h"
#include "vfile/kind.h"

/*
 * The directory has FDTAB_DIR leaves of FDTAB_LEAF slots, for the descriptors 0 to 2^20 - 1. The
 * kernel's default limit of descriptor numbers, fs.nr_open, is 2^20.
 */
#define FDTAB_LEAF_BITS 10
#define FDTAB_LEAF (1u << FDTAB_LEAF_BITS)
#define FDTAB_DIR 1024u

extern struct vfile **fdtab_dir[FDTAB_DIR];

/* The file of a descriptor, without a reference; NULL: not in the table. fd may be any number. */
static inline struct vfile *fdtab_lookup(int fd)
{
	struct vfile **leaf;

	if (unlikely((uint32_t)fd >= FDTAB_DIR << FDTAB_LEAF_BITS))
		return NULL;
	leaf = smp_load_acquire(&fdtab_dir[(uint32_t)fd >> FDTAB_LEAF_BITS]);
	if (likely(!leaf))
		return NULL;
	return smp_load_acquire(&leaf[(uint32_t)fd & (FDTAB_LEAF - 1)]);
}

/* Creates a file with one reference, which the caller owns. NULL: no memory. */
struct vfile *vfile_new(enum vfile_kind kind, void *file, const struct vfile_ops *ops);
/* Looks up fd and takes a reference, for use while another thread may close fd. */
struct vfile *vfile_get(int fd);
/* Drops a reference; the last one calls ops->release(). */
void vfile_put(struct vfile *vf);

/*
 * Installs vf at fd. On success (0) the table owns the caller's reference to vf. *old is normally
 * NULL. If the table still had a file at fd, because fd was closed without libruse.so noticing,
 * *old is that file, and the caller must drop its reference. -ENOMEM, or -EMFILE if fd is beyond
 * the table: nothing has changed, and the caller keeps its reference.
 */
int fdtab_install(int fd, struct vfile *vf, struct vfile **old);
/* Allocates memory so that fdtab_install() at fd cannot fail. 0, -ENOMEM, -EMFILE. */
int fdtab_reserve(int fd);
/*
 * Takes a new reference to vf and installs it at newfd, a dup() of a descriptor of vf. Result and
 * *old as for fdtab_install(); -EBADF: another thread has closed the last descriptor of vf.
 */
int fdtab_share(int newfd, struct vfile *vf, struct vfile **old);
/* Removes fd; its reference goes to the caller. NULL: not in the table. */
struct vfile *fdtab_remove(int fd);
/*
 * Marks fd as used by libruse.so itself (VFILE_OWN), or unmarks it. If the table cannot get memory,
 * fd stays unmarked, and the program's calls reach it.
 */
void fdtab_own(int fd, bool own);
/* Lowest descriptor in the table that is at least fd; -1: none. */
int fdtab_next(int fd);

#endif
