/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is a range of the peer's memory resident? If a page is not, process_vm_readv/writev waits until
 * it is, and only SIGKILL ends that wait: the peer's userfaultfd, or a FUSE or NFS server that
 * hangs, would stop this process. /proc/PID/pagemap answers without waiting. Memory that is not
 * resident is left to the peer: the peer accesses it itself, and the payload goes through the ring.
 *
 * A page of the peer's arena that is mapped here (shm_map.c) is left to the peer too, if it does not exist or is swapped
 * out: otherwise the copy would allocate it, and this process, its memory cgroup and its time would pay. mincore() on the
 * mapping tells whether the memfd has the page in memory.
 *
 * A page of the arena that exists goes only if the peer takes it away, which shm_pub.mem_holes tells, or the kernel swaps
 * it out. So the answer is relied on for TUNE_SELDOM copies, or until mem_holes changes.
 *
 * Other memory that was resident is remembered for TUNE_RARELY copies. A peer that takes the page away in
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
#define AROUND 64u		/* mapped pages are asked for in groups of this size, so copies to neighbours need no call */
#define SHM_PAGE_MAPPED (1ull << 52)	/* page numbers of the memfd, as opposed to those of the peer's addresses */
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

/*
 * Asks the kernel about the pages first to last of the extent, and their neighbours. False: one of them does not exist.
 * *run: all pages around them that exist.
 */
static bool shm_extent_resident(const struct shm_extent *e, uint64_t first, uint64_t last,
				struct shm_range *run)
{
	const uint64_t begin = e->off >> PAGE_SHIFT, end = begin + (e->len >> PAGE_SHIFT) - 1;
	uint64_t from = max(first & ~(uint64_t)(AROUND - 1), begin);
	uint64_t to = min(last | (AROUND - 1), end);
	uint8_t vec[4 * ENTRIES];

	*run = (struct shm_range){ .first = from, .last = to };
	while (from <= to) {
		uint64_t n = min(to - from + 1, (uint64_t)sizeof(vec));

		if (sys_call(SYS_mincore, e->at + ((from - begin) << PAGE_SHIFT), n << PAGE_SHIFT,
			     vec) < 0)
			return false;
		for (uint64_t i = 0; i < n; i++, from++) {
			if (vec[i] & 1)
				continue;
			if (from > last) {
				run->last = from - 1;
				return true;
			}
			if (from >= first)
				return false;
			run->first = from + 1;
		}
	}
	return true;
}

static noinline bool shm_map_ask(struct shm_link *l, uint64_t first, uint64_t last,
				 struct shm_range *r)
{
	uint32_t holes = l->pub->mem_holes;
	struct shm_range run;

	r->left = 0;
	if (!shm_extent_resident(&l->extent[l->extent_last], first, last, &run))
		return false;
	*r = (struct shm_range){ .first = run.first | SHM_PAGE_MAPPED,
				 .last = run.last | SHM_PAGE_MAPPED,
				 .left = TUNE_SELDOM, .holes = holes, .write = true };
	return true;
}

HOT bool shm_map_resident(struct shm_link *l, uint64_t off, uint64_t len)
{
	uint64_t first = off >> PAGE_SHIFT, last = (off + len - 1) >> PAGE_SHIFT;
	uint64_t group = (first | SHM_PAGE_MAPPED) / AROUND;
	struct shm_range *r = &l->resident[group * GOLDEN >> (64 - SHM_RESIDENT_BITS)];

	if (likely(r->left && r->first <= (first | SHM_PAGE_MAPPED) &&
		   (last | SHM_PAGE_MAPPED) <= r->last &&
		   r->holes == l->pub->mem_holes)) {
		r->left--;
		return true;
	}
	return shm_map_ask(l, first, last, r);
}

bool shm_mm_gone(const struct shm_link *l)
{
	uint64_t e;

	return !sys_call(SYS_pread64, l->pagemap, &e, sizeof(e), 0L);
}
