/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a descriptor to what it is: two loads for a descriptor that is ours,
 * one for any other in a program that has none. No locks: the table may be
 * looked at and changed from any thread and from signal handlers.
 *
 * Whoever closes a descriptor takes it out of the table first and closes it
 * then; whoever makes one closes in the other order. So a number that the
 * kernel hands out is not in the table, unless it was closed behind our back.
 */
#ifndef RUSE_VFILE_FDTAB_H
#define RUSE_VFILE_FDTAB_H

#include "queue/barrier.h"
#include "vfile/kind.h"

/* Descriptors from 0 to 2^20 - 1, the kernel's default for fs.nr_open. */
#define FDTAB_LEAF_BITS 10
#define FDTAB_LEAF (1u << FDTAB_LEAF_BITS)
#define FDTAB_DIR 1024u

extern struct vfile **fdtab_dir[FDTAB_DIR];

/* NULL: none of ours, negative and huge numbers included. The caller holds no reference. */
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

/* A new file with one reference, the caller's. NULL: out of memory. */
struct vfile *vfile_new(enum vfile_kind kind, void *file, const struct vfile_ops *ops);
/* Looks up and takes a reference, for calls that may outlast a close() by another thread. */
struct vfile *vfile_get(int fd);
/* Drops a reference; the last one releases. */
void vfile_put(struct vfile *vf);

/*
 * Puts vf at fd and takes over a reference of the caller's. *old is what was
 * there, with its reference: a descriptor that was closed behind our back; NULL
 * normally. 0, -ENOMEM, -EMFILE for a number beyond the table; then nothing changed.
 */
int fdtab_install(int fd, struct vfile *vf, struct vfile **old);
/* Memory for fd, so that fdtab_install() cannot fail. 0, -ENOMEM, -EMFILE. */
int fdtab_reserve(int fd);
/* newfd is a dup of the descriptor that vf was looked up by: the same, with a new reference. */
int fdtab_share(int newfd, struct vfile *vf, struct vfile **old);
/* Takes fd out; its reference goes to the caller. NULL: not there. */
struct vfile *fdtab_remove(int fd);
/* fd is one that we need ourselves (VFILE_OWN), or no longer. Without memory for it, it is not hidden. */
void fdtab_own(int fd, bool own);
/* Lowest descriptor of ours that is not below fd, or -1. */
int fdtab_next(int fd);

#endif
