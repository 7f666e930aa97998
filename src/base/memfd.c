/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/fds.h"
#include "base/memfd.h"
#include "base/sys.h"

int memfd_sealed(const char *name, size_t size)
{
	int fd, rc;

	fd = fds_memory(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return fd;
	rc = (int)sys_call(SYS_ftruncate, fd, size);
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
