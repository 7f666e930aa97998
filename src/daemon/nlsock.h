/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink sockets of programs. */
#ifndef RUSE_DAEMON_NLSOCK_H
#define RUSE_DAEMON_NLSOCK_H

struct client;
struct clients;
struct host;
struct loop;
struct ucma_files;

/* What the sockets report and change. */
struct nlsocks {
	struct loop *loop;
	struct host *host;
	struct clients *clients;
	struct ucma_files *ucma;
};

/* Opens a socket. Returns the program's end, or -errno. */
int nlsock_open(struct nlsocks *all, struct client *c);
void nlsock_close_all(struct client *c);

#endif
