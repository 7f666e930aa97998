/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is a range of the peer's memory resident? If a page is not, process_vm_readv/writev waits until
 * it is, and only SIGKILL ends that wait: the peer's userfaultfd, or a FUSE or NFS server that
 * hangs, would stop this process. /proc/PID/pagemap answers without waiting. Memory that is not
 * resident is left to the peer: the peer accesses it itself, and the payload goes through the ring.
 *
 * A range that was resident is remembered for TUNE_RARELY copies. A peer that takes the page away in
 * between can still stop this process. Such a peer runs under the same user, who may kill this
 * process anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "base/sys.h"
#include "link/shm_int.h"

#define PAGE_SHIFT 12
#define ENTRIES 128		/* pages in one read() */
#define GOLDEN 0x9e3779b97f4a7c15ull	/* spreads page numbers over the table */

/* Bits of an entry (Documentation/admin-guide/mm/pagemap.rst). */
#define PM_PRESENT (1ull << 63)
#define PM_UFFD_WP (1ull << 57)	/* write-protected by the peer's userfaultfd, for which a write waits */

int shm_pagemap_open(int pid)
{
	char path[40];

	if (sysconf(_SC_PAGESIZE) != 1 << PAGE_SHIFT)
		return -ENOSYS;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* Asks the kernel about the pages first to last. */
static bool shm_pages_resident(int fd, uint64_t first, uint64_t last, bool write)
{
	uint64_t e[ENTRIES];

	while (first <= last) {
		uint64_t n = min(last - first + 1, (uint64_t)ENTRIES);
		long rc = sys_call(SYS_pread64, fd, e, n * sizeof(e[0]), first * sizeof(e[0]));

		if (rc != (long)(n * sizeof(e[0])))
			return false;
		for (uint64_t i = 0; i < n; i++)
			if (!(e[i] & PM_PRESENT) || (write && e[i] & PM_UFFD_WP))
				return false;
		first += n;
	}
	return true;
}

bool shm_resident(struct shm_link *l, const void *addr, uint64_t len, bool write)
{
	uint64_t first = (uintptr_t)addr >> PAGE_SHIFT;
	uint64_t last = ((uintptr_t)addr + len - 1) >> PAGE_SHIFT;
	struct shm_range *r = &l->resident[first * GOLDEN >> (64 - SHM_RESIDENT_BITS)];

	if (l->pagemap < 0 || !len)
		return true;
	if (likely(r->left && r->first <= first && last <= r->last && r->write >= write)) {
		r->left--;
		return true;
	}
	if (last < first || !shm_pages_resident(l->pagemap, first, last, write)) {
		r->left = 0;
		return false;
	}
	*r = (struct shm_range){ .first = first, .last = last, .left = TUNE_RARELY, .write = write };
	return true;
}

bool shm_mm_gone(const struct shm_link *l)
{
	uint64_t e;

	return !sys_call(SYS_pread64, l->pagemap, &e, sizeof(e), 0L);
}
