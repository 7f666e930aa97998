/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr_maps.c and mr_probe.c: what is mapped at the addresses of an MR, for mr.c. */
#ifndef RUSE_CORE_MR_INTERNAL_H
#define RUSE_CORE_MR_INTERNAL_H

#include <linux/ioctl.h>
#include "base/util.h"
#include "core/objects.h"

/* From <linux/fs.h> of Linux 6.11: Debian 12 has older headers. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#define PROCMAP_VMA_READABLE 1u
#define PROCMAP_VMA_WRITABLE 2u
#define PROCMAP_VMA_SHARED 8u

_Static_assert(sizeof(struct procmap_query) == 104, "procmap_query");

/* From <linux/mman.h> of Linux 5.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Checks that the pages [start, end), at least one, are mapped readable, or writable. 0; -EFAULT: one is not mapped or does
 * not exist; -EACCES: it lacks the protection; -ENODEV: it cannot be pinned; -EOPNOTSUPP: the kernel is older than
 * Linux 6.11, or there are too many mappings. With 0 and -EOPNOTSUPP *memory is MR_MEM_SHARED if all of them are in the arena, each
 * at its own place in the memfd, else why not. The kernel is asked, as a program may have mapped something else there
 * by a system call.
 */
int mr_maps_check(uint64_t start, uint64_t end, bool write, enum mr_memory *memory);

/*
 * Faults the page of addr in. 0; -EFAULT: it is not mapped or does not exist; -EACCES: it lacks the protection, or
 * cannot be pinned. On kernels before Linux 5.14 always -EFAULT.
 */
int mr_probe(uint64_t addr, bool write);
/*
 * Has the mapping a page at this address, and so all before it? 0; -EFAULT: no; -ENODEV: its pages cannot be pinned.
 * maps: a descriptor of /proc/self/maps.
 */
int mr_backed(int maps, const struct procmap_query *q, uint64_t page);

#endif
