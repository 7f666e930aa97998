/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/proc.h"
#include "base/sys.h"
#include "base/util.h"

int proc_state(const char *path)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	char text[128], *p;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	text[max(n, (ssize_t)0)] = '\0';
	p = strrchr(text, ')');	/* the name, in parentheses, may contain any character */
	return p && p[1] == ' ' && p[2] >= 'A' && p[2] <= 'z' ? p[2] : -EPROTO;
}
