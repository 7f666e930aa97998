/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/proc.h"
#include "base/sys.h"
#include "base/util.h"

/* The fields after the name, with a blank before each. NULL: there are none; *err is -errno or -EPROTO. */
static const char *proc_fields(const char *path, char *text, size_t size, int *err)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n;
	char *p;

	*err = fd < 0 ? fd : -EPROTO;
	if (fd < 0)
		return NULL;
	n = sys_read(fd, text, size - 1);
	sys_close(fd);
	text[max(n, (ssize_t)0)] = '\0';
	p = strrchr(text, ')');	/* the name, in parentheses, may contain any character */
	return p && p[1] == ' ' ? p + 1 : NULL;
}

int proc_state(const char *path)
{
	char text[128];
	int err;
	const char *p = proc_fields(path, text, sizeof(text), &err);

	return p && p[1] >= 'A' && p[1] <= 'z' ? p[1] : err;
}

uint64_t proc_start_time(int pid)
{
	char path[32], text[1024];
	int err;
	const char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	p = proc_fields(path, text, sizeof(text), &err);
	for (int i = 0; p && i < 19; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}
