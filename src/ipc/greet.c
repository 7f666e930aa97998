/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* HELLO of a program without devices: ruse, or a rused that checks whether another one runs. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "ipc/ipc.h"
#include "ipc/ipc_internal.h"

static uint64_t ns_inode(const char *path)
{
	struct stat st;

	return sys_call(SYS_newfstatat, AT_FDCWD, path, &st, 0) ? 0 : st.st_ino;
}

int ipc_greet(struct ipc_conn *c, const char *comm, uint32_t *pid)
{
	struct ipc_hello hello = {
		.netns = ns_inode("/proc/self/ns/net"),
		.pidns = ns_inode("/proc/self/ns/pid"),
		.pid = (int32_t)sys_call(SYS_getpid),
	};
	struct ipc_hello_reply reply;
	int fds[IPC_MAX_FDS], rc;
	struct ipc_msg m = { IPC_REQ(IPC_HELLO, &hello), IPC_ANSWER(&reply), IPC_RFDS(fds) };

	snprintf(hello.comm, sizeof(hello.comm), "%s", comm);
	rc = ipc_call(c, &m);
	if (!rc) {
		ipc_close_fds(fds, m.nrfds);
		rc = m.rlen == sizeof(reply) ? 0 : -EPROTO;
	}
	if (rc)
		ipc_close(c);
	else if (pid)
		*pid = reply.pid;
	return rc;
}
