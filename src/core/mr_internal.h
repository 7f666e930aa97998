/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr_maps.c: what is mapped at the addresses of an MR, for mr.c. */
#ifndef RUSE_CORE_MR_INTERNAL_H
#define RUSE_CORE_MR_INTERNAL_H

#include "base/util.h"
#include "core/objects.h"

/*
 * Checks that the pages [start, end), at least one, are mapped readable, or writable. 0, -EFAULT, or -EOPNOTSUPP: the
 * kernel is older than Linux 6.11, or there are too many mappings. Unless -EFAULT, *memory is MR_MEM_SHARED if all of
 * them are in the arena, each at its own place in the memfd, else why not. The kernel is asked, as a program may have
 * mapped something else there by a system call.
 */
int mr_maps_check(uint64_t start, uint64_t end, bool write, enum mr_memory *memory);

#endif
