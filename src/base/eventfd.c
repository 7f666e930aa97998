/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text of the link /proc/self/fd/N names the kind of the file. If there is no /proc, for example
 * after chroot(), eventfd_takes_count() makes two checks instead. First, the file must be an anonymous inode:
 * these have no file type in st_mode, unlike pipes, sockets and files of a file system. Second, the file
 * must accept a write of 8 bytes, which among anonymous inodes only an eventfd does. The value written
 * is 0, which does not change the count of an eventfd and does not block.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/eventfd.h"
#include "base/sys.h"

#define NAME "anon_inode:[eventfd]"

static bool eventfd_takes_count(int fd)
{
	static const uint64_t zero;
	struct stat st;

	return !sys_call(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) && !(st.st_mode & S_IFMT) &&
	       sys_write(fd, &zero, sizeof(zero)) == (ssize_t)sizeof(zero);
}

bool fd_is_eventfd(int fd)
{
	char path[32], name[sizeof(NAME)];
	long n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = sys_call(SYS_readlinkat, AT_FDCWD, path, name, sizeof(name));
	if (n < 0)
		return eventfd_takes_count(fd);
	return n == (long)sizeof(NAME) - 1 && !memcmp(name, NAME, (size_t)n);
}
