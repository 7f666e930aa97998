/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "base/fds.h"
#include "base/sys.h"

_Static_assert(EFD_CLOEXEC == O_CLOEXEC && SOCK_CLOEXEC == O_CLOEXEC, "one value");
_Static_assert(EFD_NONBLOCK == O_NONBLOCK && SOCK_NONBLOCK == O_NONBLOCK, "one value");

bool fds_refused(long rc)
{
	return rc == -EPERM || rc == -EACCES || rc == -EINVAL || rc == -ENOSYS;
}

/* Sets O_CLOEXEC and O_NONBLOCK on fd, if they are in flags. Returns fd. If fd is -errno, only returns it. */
static int fds_set_flags(int fd, int flags)
{
	if (fd < 0)
		return fd;
	if (flags & O_CLOEXEC)
		sys_fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (flags & O_NONBLOCK)
		sys_fcntl(fd, F_SETFL, sys_fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
	return fd;
}

int fds_event(uint32_t count, int flags)
{
	int rest = flags & ~(EFD_CLOEXEC | EFD_NONBLOCK);
	int fd = (int)sys_call(SYS_eventfd2, count, flags);

	if (!fds_refused(fd))
		return fd;
	fd = (int)sys_call(SYS_eventfd2, count, rest);
#ifdef SYS_eventfd
	if (fds_refused(fd) && !rest)
		fd = (int)sys_call(SYS_eventfd, count);
#endif
	return fds_set_flags(fd, flags);
}

int fds_event_pipe(int fd[2])
{
	char path[32];
	int ret = (int)sys_call(SYS_pipe2, fd, O_CLOEXEC);

	if (ret)
		return ret;
	/* A user's pipes may have a limited number of pages in all. */
	sys_fcntl(fd[1], F_SETPIPE_SZ, 4096);
	sys_close(fd[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[0]);
	fd[1] = sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0);
	/* Below a root directory without a real /proc this may be another file. */
	if (fd[1] >= 0 && sys_fcntl(fd[1], F_GETPIPE_SZ, 0) > 0)
		return 0;
	ret = fd[1] < 0 ? fd[1] : -ENOSYS;
	if (fd[1] >= 0)
		sys_close(fd[1]);
	sys_close(fd[0]);
	return ret;
}

int fds_memory(const char *name, unsigned int flags)
{
	int fd = (int)sys_call(SYS_memfd_create, name, flags);

	if (fds_refused(fd) && flags & MFD_CLOEXEC) {
		fd = (int)sys_call(SYS_memfd_create, name, flags & ~MFD_CLOEXEC);
		fds_set_flags(fd, O_CLOEXEC);
	}
	return fds_refused(fd) ? -ENOSYS : fd;
}

int fds_accept(int listener, int flags)
{
	int fd = (int)sys_call(SYS_accept4, listener, NULL, NULL, flags);

	if (!fds_refused(fd))
		return fd;
	fd = (int)sys_call(SYS_accept4, listener, NULL, NULL, 0);
#ifdef SYS_accept
	if (fds_refused(fd))
		fd = (int)sys_call(SYS_accept, listener, NULL, NULL);
#endif
	return fds_set_flags(fd, flags);
}

int fds_pair(int type, int sv[2])
{
	int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK);
	int rc = (int)sys_call(SYS_socketpair, AF_UNIX, type, 0, sv);

	if (!fds_refused(rc))
		return rc;
	rc = (int)sys_call(SYS_socketpair, AF_UNIX, type & ~flags, 0, sv);
	for (int i = 0; !rc && i < 2; i++)
		fds_set_flags(sv[i], flags);
	return rc;
}
