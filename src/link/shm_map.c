/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The peer's arena (arena/arena.h), mapped here: copies to and from memory that the peer has registered are made by this
 * CPU, without a system call.
 *
 * The peer publishes the number of its memfd in struct shm_pub. This process opens /proc/PID/fd/NUMBER, so the kernel
 * decides whether it may. It does so only where it can read the peer's memory anyway (shm_link.can_pull), so it gains no
 * right. The first copy maps the memfd as a whole. If it cannot be opened, is not the right one, or there are no addresses
 * left, the link uses cross-memory attach (shm_mem.c).
 *
 * The memfd is sealed against shrinking, so no page of the mapping can vanish. A page that the peer has not touched is
 * allocated by the access, as it would be by the peer's own. No page of a memfd waits for another process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "arena/arena.h"
#include "base/sys.h"
#include "link/shm_int.h"

/* The largest memfd that is mapped: a peer cannot make this process use up its addresses. */
#define SHM_MAP_MAX (1ull << 40)

void shm_map_publish(struct shm_ep *ep)
{
	struct arena_span a = arena_span();

	ep->pub->mem_base = a.base;
	ep->pub->mem_ino = a.ino;
	ep->pub->mem_fd = a.fd;
	smp_store_release(&ep->pub->mem_size, (uint64_t)a.size);
}

/* A memfd: it is in the file system of this process's own. */
static bool shm_map_is_memfd(struct shm_link *l, int fd)
{
	struct statx there;
	struct stat own;
	int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;

	return !sys_call(SYS_statx, fd, "", flags, STATX_INO, &there) &&
	       !sys_call(SYS_fstat, l->ep->pub_fd, &own) &&
	       makedev(there.stx_dev_major, there.stx_dev_minor) == own.st_dev;
}

/*
 * Opens the peer's file of this number, or returns -errno. Another file than a memfd is not opened: its server (FUSE)
 * or device could block this process.
 */
static int shm_map_fd(struct shm_link *l, int number)
{
	char path[40];
	int ref, fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", l->pid, number);
	ref = sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	if (ref < 0)
		return ref;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ref);
	fd = -EPROTO;
	if (shm_map_is_memfd(l, ref))
		fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	sys_close(ref);
	return fd;
}

/* The right file, of at least this size, which cannot shrink. */
static bool shm_map_check(int fd, uint64_t ino, uint64_t size)
{
	struct stat st;

	return !memfd_check(fd, size) && !sys_call(SYS_fstat, fd, &st) && st.st_ino == ino;
}

static noinline __cold void shm_map_open(struct shm_link *l)
{
	uint64_t size = smp_load_acquire(&l->pub->mem_size);
	uint64_t ino = READ_ONCE(l->pub->mem_ino);
	int fd;

	l->mem_tried = true;
	if (!size || size > SHM_MAP_MAX || l->pid <= 0 || !l->can_pull)
		return;
	fd = shm_map_fd(l, (int)READ_ONCE(l->pub->mem_fd));
	if (fd < 0)
		return;
	if (shm_map_check(fd, ino, size)) {
		l->mem = memfd_map(fd, size, true);
		l->mem_size = l->mem ? size : 0;
	}
	sys_close(fd);
	/* The peer may have died, and its number have been used again, before the file was opened. */
	if (!shm_held(l->pub))
		shm_map_close(l);
	else if (l->mem)
		sys_call(SYS_madvise, l->mem, l->mem_size, MADV_DONTFORK);
}

void shm_map_close(struct shm_link *l)
{
	memfd_unmap(l->mem, l->mem_size);
	l->mem = NULL;
	l->mem_size = 0;
}

HOT uint8_t *shm_map_at(struct shm_link *l, uint64_t off, uint64_t len)
{
	if (unlikely(!l->mem)) {
		if (!l->mem_tried)
			shm_map_open(l);
		if (!l->mem)
			return NULL;
	}
	return off <= l->mem_size && len <= l->mem_size - off ? l->mem + off : NULL;
}
