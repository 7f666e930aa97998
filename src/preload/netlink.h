/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink sockets, for the hooks in calls_socket.c. Results are -errno, not errno, unless noted. */
#ifndef RUSE_PRELOAD_NETLINK_H
#define RUSE_PRELOAD_NETLINK_H

#include <sys/socket.h>
#include "vfile/fdtab.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

/* The entry of fd if it is an RDMA netlink socket, else NULL. */
static inline struct vfile *netlink_lookup(int fd)
{
	struct vfile *vf = fdtab_lookup(fd);

	return likely(!vf) || vf->kind != VFILE_NETLINK ? NULL : vf;
}

/* type: as of socket(). Returns a descriptor or -errno. */
int netlink_open(int type);
long netlink_bind(struct vfile *vf, const struct sockaddr *addr, socklen_t len);
long netlink_connect(struct vfile *vf, const struct sockaddr *sa, socklen_t len);
/* The socket's address and the kernel's, truncated to *len; *len becomes the full size. */
long netlink_sockname(const struct vfile *vf, struct sockaddr *addr, socklen_t *len);
long netlink_peername(struct sockaddr *addr, socklen_t *len);
/* An option of SOL_NETLINK. */
long netlink_set_option(struct vfile *vf, int opt, const void *val, socklen_t len);
/* An option of SOL_NETLINK, or SO_DOMAIN, SO_PROTOCOL or SO_TYPE. */
long netlink_get_option(struct vfile *vf, int level, int opt, void *val, socklen_t *len);

/*
 * netlink_why.c: takes the reason out of a whole NLMSG_ERROR, and logs it unless peek. Other messages stay. Returns the
 * length that is left for the program.
 */
size_t netlink_explain(const struct vfile *vf, void *msg, size_t len, bool peek);

/* As libc's functions: -1 and errno after an error. A rused that has died is replaced. */
ssize_t netlink_send(int fd, struct vfile *vf, const struct msghdr *m, int flags);
ssize_t netlink_sendto(int fd, struct vfile *vf, const void *buf, size_t len, int flags,
		       const struct sockaddr *addr, socklen_t alen);
ssize_t netlink_recv(int fd, struct vfile *vf, struct msghdr *m, int flags);
ssize_t netlink_recvfrom(int fd, struct vfile *vf, void *buf, size_t len, int flags,
			 struct sockaddr *addr, socklen_t *alen);

#endif
