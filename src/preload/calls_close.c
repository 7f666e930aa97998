/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that close descriptors. The engine's own descriptors (VFILE_OWN) stay open: close()
 * returns EBADF for them, as for a number that is not open, and ranges are closed around them. There
 * are none before the first RDMA path or socket attaches the process to rused (preload_attach()).
 */
#include <limits.h>
#include <unistd.h>
#include "arena/arena.h"
#include "base/sys.h"
#include "preload/preload.h"

static int close_ours(int fd)
{
	struct vfile *vf = fdtab_lookup(fd);
	bool owner = preload_owns_tables();
	int e = errno, ret;

	if (vf && preload_hidden(vf))
		return (int)libc_result(-EBADF, e);
	vf = owner ? fdtab_remove(fd) : NULL;
	ret = sys_close(fd);
	if (vf)
		vfile_put(vf);
	return (int)libc_result(ret, e);
}

HOOK int close(int fd)
{
	return likely(!fdtab_lookup(fd)) ? real.close(fd) : close_ours(fd);
}

/* Lowest descriptor in fd..last that belongs to the engine, or -1. */
static int next_own(unsigned int fd, unsigned int last)
{
	int own = fd > INT_MAX || !fork_protects_own() ? -1 : fdtab_next((int)fd);

	while (own >= 0 && (unsigned int)own <= last) {
		struct vfile *vf = fdtab_lookup(own);

		if (vf && vf->kind == VFILE_OWN)
			return own;
		own = fdtab_next(own + 1);
	}
	return -1;
}

/* Closes the program's device descriptors in first..last one by one; there are few. */
static void close_between(unsigned int first, unsigned int last)
{
	int e = errno;

	if (first > INT_MAX)
		return;
	for (int fd = fdtab_next((int)first); fd >= 0 && (unsigned int)fd <= last;
	     fd = fdtab_next(fd + 1))
		close_ours(fd);
	errno = e;
}

/*
 * Applies the kernel's close_range() to the parts between the engine's descriptors. With
 * CLOSE_RANGE_UNSHARE the first call unshares the descriptor table, and the others have no further
 * effect on sharing.
 */
static int close_around(unsigned int first, unsigned int last, int flags)
{
	int own, ret = 0;

	while (!ret && (own = next_own(first, last)) >= 0) {
		if (first < (unsigned int)own)
			ret = REAL(close_range)(first, (unsigned int)own - 1, flags);
		first = (unsigned int)own + 1;
	}
	return ret || first > last ? ret : REAL(close_range)(first, last, flags);
}

HOOK int close_range(unsigned int first, unsigned int last, int flags)
{
	if (first > last || first > INT_MAX || fdtab_next((int)first) < 0 || !preload_owns_tables())
		return REAL(close_range)(first, last, flags);
	/*
	 * With CLOSE_RANGE_UNSHARE other threads keep their descriptors, so the table of RDMA descriptors
	 * (vfile/fdtab.h) stays unchanged.
	 */
	if (!flags)
		close_between(first, last);
	return close_around(first, last, flags);
}

HOOK void closefrom(int low)
{
	unsigned int fd = low < 0 ? 0 : (unsigned int)low;
	int own, e = errno;

	if (!preload_owns_tables()) {
		REAL(closefrom)(low);
		return;
	}
	close_between(fd, INT_MAX);
	/*
	 * Close the ranges below and between the engine's descriptors. If the kernel has no
	 * close_range(), close each number of a range singly.
	 */
	while ((own = next_own(fd, INT_MAX)) >= 0) {
		if (fd < (unsigned int)own && sys_call(SYS_close_range, fd, own - 1, 0) < 0)
			for (; fd < (unsigned int)own; fd++)
				sys_close((int)fd);
		fd = (unsigned int)own + 1;
	}
	errno = e;
	REAL(closefrom)((int)fd);
}

/* In a forked child: closes the engine's descriptors inherited from the parent, but not the memfd of the child's arena. */
void preload_own_reset(void)
{
	int keep = arena_span().fd;

	for (int fd = fdtab_next(0); fd >= 0; fd = fdtab_next(fd + 1)) {
		struct vfile *vf = fdtab_lookup(fd);

		if (!vf || vf->kind != VFILE_OWN || fd == keep)
			continue;
		fdtab_own(fd, false);
		if (!arena_is_confined()) /* the filter may kill the child */
			sys_close(fd);
	}
	fork_made_own();
}

/* Another name of the same function in libc. */
extern __typeof__(close) __close __attribute__((alias("close"), copy(close))) HOOK;
