/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink sockets of programs. */
#ifndef RUSE_DAEMON_FILES_NLSOCK_H
#define RUSE_DAEMON_FILES_NLSOCK_H

#include "base/list.h"

struct gsi;
struct holds;
struct host;
struct loop;
struct process;
struct processes;
struct cmfiles;

/* What the sockets report and change. */
struct nlsocks {
	struct loop *loop;
	struct host *host;
	struct holds *holds;
	struct processes *processes;
	struct cmfiles *ucma;
	const struct gsi *gsi;
};

/* The sockets of one process. */
struct nlsock_owner {
	const struct process *p;
	struct list_head list;
	uint32_t n;
};

void nlsock_owner_init(struct nlsock_owner *o, const struct process *pr);
/* Opens a socket. Returns the program's end, or -errno; -EMFILE: the process has too many. */
int nlsock_open(struct nlsocks *all, struct nlsock_owner *o);
void nlsock_close_all(struct nlsock_owner *o);

#endif
