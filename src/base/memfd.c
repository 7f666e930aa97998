/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "base/util.h"

uint64_t memfd_limit(void)
{
	struct rlimit rl;

	if (sys_call(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &rl) < 0)
		return RLIM_INFINITY;
	return rl.rlim_cur;
}

int memfd_grow(int fd, uint64_t size)
{
	static bool told;
	uint64_t limit = memfd_limit();

	if (size <= limit)
		return (int)sys_call(SYS_ftruncate, fd, size);
	if (!told)
		log_err("cannot create %llu bytes of shared memory: the limit of a file's size is %llu; "
			"raise it (RLIMIT_FSIZE, ulimit -f)", (unsigned long long)size,
			(unsigned long long)limit);
	told = true;
	return -EFBIG;
}

int memfd_sealed(const char *name, size_t size)
{
	int fd, rc;

	fd = fds_memory(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return fd;
	rc = memfd_grow(fd, size);
	if (!rc)
		rc = sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	if (rc < 0) {
		sys_close(fd);
		return rc;
	}
	return fd;
}

int memfd_check(int fd, size_t size)
{
	int seals = sys_fcntl(fd, F_GET_SEALS, 0);
	long have = sys_call(SYS_lseek, fd, 0L, SEEK_END);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || have < 0 || (size_t)have < size)
		return -EPROTO;
	return 0;
}

/*
 * After mlockall(MCL_FUTURE) a new mapping is locked, populated, and counted for RLIMIT_MEMLOCK. So one page is mapped
 * without access, which nothing can populate. When it is unlocked, it grows: mremap() keeps the state of the mapping.
 * A core dump has none of it, as it would make all of a table's pages; the kernel's rings are not dumped either.
 */
static long memfd_grow_unlocked(int fd, uint64_t off, size_t len)
{
	long p = sys_call(SYS_mmap, NULL, PAGE, PROT_NONE, MAP_SHARED, fd, off), grown;

	if (p < 0)
		return p;
	grown = sys_call(SYS_munlock, p, PAGE);
	sys_call(SYS_madvise, p, PAGE, MADV_DONTDUMP);
	if (!grown)
		grown = len == PAGE ? p : sys_call(SYS_mremap, p, PAGE, len, MREMAP_MAYMOVE);
	if (grown < 0)
		sys_call(SYS_munmap, p, PAGE);
	return grown;
}

long memfd_map_unlocked(int fd, uint64_t off, size_t len, bool write)
{
	int prot = PROT_READ | (write ? PROT_WRITE : 0);
	long p = memfd_grow_unlocked(fd, off, len), rc;

	if (p < 0)
		return p;
	rc = sys_call(SYS_mprotect, p, len, prot);
	if (!rc)
		return p;
	memfd_unmap((void *)p, len);
	return rc;
}

int memfd_table_map(struct memfd_table *t, int fd, uint64_t off, size_t len, bool write)
{
	long p = memfd_grow_unlocked(fd, off, len);

	if (p < 0)
		return (int)p;
	*t = (struct memfd_table){ .at = (void *)p, .len = len, .write = write };
	return 0;
}

int memfd_table_open(struct memfd_table *t, size_t need)
{
	size_t to = min(t->len, max(ALIGN_UP(need, (size_t)PAGE), 2 * t->open));
	int prot = PROT_READ | (t->write ? PROT_WRITE : 0), rc;

	if (need <= t->open)
		return 0;
	if (need > t->len)
		return -EINVAL;
	rc = (int)sys_call(SYS_mprotect, t->at, to, prot);
	if (!rc)
		t->open = to;
	return rc;
}

void memfd_table_unmap(struct memfd_table *t)
{
	memfd_unmap(t->at, t->len);
	*t = (struct memfd_table){ 0 };
}

void *memfd_map_at(int fd, uint64_t off, size_t len, bool write)
{
	uint64_t end;
	long p;

	if (!len || __builtin_add_overflow(off, len, &end) || memfd_check(fd, end))
		return NULL;
	p = memfd_map_unlocked(fd, off, len, write);
	return p < 0 ? NULL : (void *)p;
}

void *memfd_map(int fd, size_t size, bool write)
{
	return memfd_map_at(fd, 0, size, write);
}

void *memfd_new(const char *name, size_t size, int *fd)
{
	void *p;

	*fd = memfd_sealed(name, size);
	if (*fd < 0)
		return NULL;
	p = memfd_map(*fd, size, true);
	if (!p) {
		sys_close(*fd);
		*fd = -ENOMEM;
	}
	return p;
}

void memfd_unmap(const void *p, size_t size)
{
	if (p)
		sys_call(SYS_munmap, p, size);
}
