/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Raw system calls, which return 0 or more, or -errno.
 *
 * All code in libruse.so uses these for I/O, and not read(), write() and the like of libc:
 * libruse.so itself replaces those, the program may wrap them too, and they are cancellation
 * points (a pending pthread_cancel() would leave the engine lock held for ever). syscall(), which these
 * functions use, is not replaced by libruse.so and is no cancellation point. The functions change errno;
 * preload/ preserves the program's errno.
 */
#ifndef RUSE_BASE_SYS_H
#define RUSE_BASE_SYS_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Most bytes of a read() or write(), as in the kernel (<linux/fs.h>). */
#define MAX_RW_COUNT 0x7ffff000

#define sys_call(nr, ...)                                                      \
	({                                                                     \
		long _r = syscall((nr), ##__VA_ARGS__);                        \
		_r < 0 ? -(long)errno : _r;                                    \
	})

static inline ssize_t sys_read(int fd, void *buf, size_t len)
{
	return sys_call(SYS_read, fd, buf, len);
}

static inline ssize_t sys_write(int fd, const void *buf, size_t len)
{
	return sys_call(SYS_write, fd, buf, len);
}

static inline int sys_close(int fd)
{
	return (int)sys_call(SYS_close, fd);
}

static inline int sys_openat(int dirfd, const char *path, int flags, unsigned int mode)
{
	return (int)sys_call(SYS_openat, dirfd, path, flags, mode);
}

static inline int sys_socket(int domain, int type, int protocol)
{
	return (int)sys_call(SYS_socket, domain, type, protocol);
}

static inline int sys_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return (int)sys_call(SYS_bind, fd, sa, len);
}

static inline int sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return (int)sys_call(SYS_connect, fd, sa, len);
}

static inline ssize_t sys_sendmsg(int fd, const struct msghdr *m, int flags)
{
	return sys_call(SYS_sendmsg, fd, m, flags);
}

static inline ssize_t sys_recvmsg(int fd, struct msghdr *m, int flags)
{
	return sys_call(SYS_recvmsg, fd, m, flags);
}

static inline int sys_fcntl(int fd, int cmd, long arg)
{
	return (int)sys_call(SYS_fcntl, fd, cmd, arg);
}

#endif
