/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fork(). The child gets a memfd of its own with a copy of the pages that contain data, mapped at the same addresses.
 * The parent makes the copy before the kernel makes the child, so the child never waits for it, and a failure is
 * known in time. Its own mappings have MADV_DONTFORK: a child that another system call makes (clone()) has no access
 * to these addresses, instead of access to its parent's memory, and gets nothing from the arena (arena_orphan()).
 *
 * The caller's handlers run last before the fork and first after it, so all locks of the program's own handlers are
 * held while the pages are copied.
 */
#include <errno.h>
#include "arena/arena_cache.h"
#include "arena/arena_internal.h"
#include "base/memfd.h"
#include "base/sys.h"

/* Does the child get the contents of this page? */
static bool arena_inherited(uint32_t at)
{
	uint8_t f = arena_state.page[at].flags;

	return (f & (PG_USED | PG_ENDED | PG_COVERED | PG_WIPE | PG_NOFORK)) == PG_USED;
}

static uint32_t arena_inherited_row(uint32_t at, uint32_t end)
{
	uint32_t i = at + 1;

	while (i < end && arena_inherited(i) == arena_inherited(at))
		i++;
	return i - at;
}

static int arena_write_all(int fd, const char *from, uint64_t off, uint64_t end)
{
	while (off < end) {
		long rc = sys_call(SYS_pwrite64, fd, from + off, end - off, off);

		if (rc <= 0)
			return rc ? (int)rc : -EIO;
		off += (uint64_t)rc;
	}
	return 0;
}

/* Copies the inherited pages of [off, end), which contain data. from: the memfd's mapping. */
static int arena_copy_data(int to, const char *from, uint64_t off, uint64_t end)
{
	uint32_t at = (uint32_t)(off >> PAGE_SHIFT), last = arena_pages(end);
	int rc = 0;

	for (uint32_t n; at < last && !rc; at += n) {
		n = arena_inherited_row(at, last);
		if (arena_inherited(at))
			rc = arena_write_all(to, from, (uint64_t)at << PAGE_SHIFT,
					     (uint64_t)(at + n) << PAGE_SHIFT);
	}
	return rc;
}

static int arena_copy_all(int to, const char *from)
{
	uint64_t end = 0;
	int rc = 0;

	while (!rc) {
		long off = sys_call(SYS_lseek, arena_state.fd, end, SEEK_DATA);

		if (off == -ENXIO)
			break; /* no more data */
		if (off < 0)
			return (int)off;
		end = (uint64_t)sys_call(SYS_lseek, arena_state.fd, off, SEEK_HOLE);
		rc = arena_copy_data(to, from, (uint64_t)off, end);
	}
	return rc;
}

static int arena_copy(void)
{
	const char *from;
	int fd, rc;

	fd = memfd_sealed("ruse-memory", arena_bytes);
	if (fd < 0)
		return fd;
	from = memfd_map(arena_state.fd, arena_bytes, false);
	rc = from ? arena_copy_all(fd, from) : -ENOMEM;
	memfd_unmap(from, arena_bytes);
	if (rc)
		sys_close(fd);
	else
		arena_state.copy = fd;
	return rc;
}

void arena_fork_prepare(void)
{
	arena_lock();
	arena_cache_empty();
	arena_state.fork_err = arena_state.npages && !arena_state.orphan ? arena_copy() : 0;
}

int arena_fork_parent(void)
{
	int err = arena_state.fork_err;

	if (arena_state.copy >= 0)
		sys_close(arena_state.copy);
	arena_state.copy = -1;
	arena_state.fork_err = 0;
	arena_unlock();
	return err ? -ENOMEM : 0;
}

/* Gives pages of one block the mapping that they have in the parent. */
static int arena_restore(uint32_t at, uint32_t n)
{
	uint8_t f = arena_state.page[at].flags;
	uint8_t noprot = arena_state.page[at].noprot;
	int rc = 0;

	if (f & PG_COVERED)
		return 0; /* the kernel has copied what the program has mapped here */
	if (!(f & PG_MAPPED) || f & (PG_NOFORK | PG_ENDED)) {
		arena_unmap_pages(at, n);
		return 0;
	}
	rc = arena_map_pages(at, n);
	if (rc || !noprot)
		return rc;
	for (uint32_t i = at; i < at + n; i++)
		arena_state.page[i].noprot = noprot;
	return (int)sys_call(SYS_mprotect, arena_addr(at), arena_len(n),
			     (noprot ^ PROT_RW) & (PROT_RW | PROT_EXEC));
}

static uint32_t arena_alike(uint32_t at, uint32_t end)
{
	uint8_t mask = PG_MAPPED | PG_COVERED | PG_NOFORK | PG_ENDED;
	uint32_t i = at + 1;

	while (i < end && !((arena_state.page[i].flags ^ arena_state.page[at].flags) & mask) &&
	       arena_state.page[i].noprot == arena_state.page[at].noprot)
		i++;
	return i - at;
}

/* Gives a free run no access. Its pages have no memory in the child. */
static void arena_restore_free(uint32_t at, uint32_t end)
{
	sys_call(SYS_mmap, arena_addr(at), arena_len(end - at), PROT_NONE,
		 MAP_RESERVE | MAP_FIXED, -1, 0L);
	for (; at < min(end, arena_state.top); at++)
		arena_state.page[at].flags = 0;
}

/*
 * Gives a block the mappings that it has in the parent. The child may take over the MRs of its parent, so their pins
 * stay. 0 or -errno.
 */
static int arena_restore_block(uint32_t at, uint32_t end)
{
	int rc = 0;

	for (uint32_t n; at < end && !rc; at += n) {
		n = arena_alike(at, end);
		rc = arena_restore(at, n);
	}
	return rc;
}

static int arena_rebuild(void)
{
	uint32_t at, end;
	int rc = 0;

	arena_state.dirty = 0;
	for (at = 1; at < arena_state.npages && !rc; at = end) {
		end = at + arena_state.page[at].len;
		if (!(arena_state.page[at].flags & PG_USED))
			arena_restore_free(at, end);
		else
			rc = arena_restore_block(at, end);
	}
	return rc;
}

void arena_fork_child(void)
{
	if (arena_state.fork_err)
		sys_call(SYS_exit_group, 127L);
	if (arena_state.npages && !arena_state.orphan) {
		*arena_state.alive = 1;
		arena_fd_close(arena_state.fd);
		arena_state.fd = arena_fd_hide(arena_state.copy);
		arena_state.copy = -1;
		arena_alias_fork();
		if (arena_rebuild() || arena_describe(arena_state.fd, &arena_state.span))
			sys_call(SYS_exit_group, 127L);
	}
	arena_unlock();
}
