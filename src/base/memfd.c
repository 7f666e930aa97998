/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "base/sys.h"

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

void *memfd_map(int fd, size_t size, bool write)
{
	int prot = PROT_READ | (write ? PROT_WRITE : 0);
	long p;

	if (memfd_check(fd, size))
		return NULL;
	p = sys_call(SYS_mmap, NULL, size, prot, MAP_SHARED, fd, 0L);
	return p < 0 ? NULL : (void *)p;
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
