/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine's own descriptors. They are in the program's descriptor table, where the kernel's
 * RDMA has none. They are moved to high numbers, out of the way of programs that choose
 * numbers or count upwards, and are hidden from programs that close all open descriptors.
 */
#include <fcntl.h>
#include "base/sys.h"
#include "engine/engine_internal.h"

#define OWN_FD_MIN 512

int own_dup(int fd)
{
	int d = sys_fcntl(fd, F_DUPFD_CLOEXEC, OWN_FD_MIN);

	if (d < 0)	/* RLIMIT_NOFILE is lower */
		d = sys_fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (d >= 0)
		engine.host->own_fd(d, true);
	return d;
}

int own_fd(int fd)
{
	int d;

	if (fd < 0)
		return fd;
	d = fd < OWN_FD_MIN ? sys_fcntl(fd, F_DUPFD_CLOEXEC, OWN_FD_MIN) : -1;
	if (d >= 0) {
		sys_close(fd);
		fd = d;
	}
	engine.host->own_fd(fd, true);
	return fd;
}

/* The registration ends before the close: after the close the program may get the number. */
void own_close(int fd)
{
	if (fd < 0)
		return;
	engine.host->own_fd(fd, false);
	sys_close(fd);
	atomic_add(&engine.closed, 1u);
}
