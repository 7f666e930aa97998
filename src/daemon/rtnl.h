/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Routes, neighbours and addresses, asked of the kernel one at a time. The
 * kernel answers such a request before sendmsg() returns, so nothing here waits.
 * Addresses are AF_INET or AF_INET6 without a port.
 */
#ifndef RUSE_DAEMON_RTNL_H
#define RUSE_DAEMON_RTNL_H

#include <sys/socket.h>
#include "base/util.h"

/* An address of either family, by its bytes. */
struct rtnl_addr {
	uint8_t family;		/* AF_INET, AF_INET6; 0 = none */
	uint8_t len;		/* 4 or 16 */
	uint8_t b[16];
};

struct rtnl_route {
	uint8_t type;		/* RTN_UNICAST, RTN_LOCAL, RTN_MULTICAST, RTN_BROADCAST, RTN_ANYCAST */
	uint8_t hop_limit;	/* of the route, else 64 */
	uint32_t oif;
	struct rtnl_addr src;	/* the one asked for, or the kernel's choice */
	struct rtnl_addr next;	/* whose neighbour entry counts: the gateway, or the destination */
};

struct rtnl {
	int fd;			/* -1 = not open */
	uint32_t seq;
	/* Addresses of this host, as they were when somebody last asked. */
	struct rtnl_own {
		struct rtnl_addr addr;
		uint32_t ifindex;
	} *own;
	uint32_t own_count;
	bool fresh;		/* nothing has changed since, as far as is kown_count */
};

void rtnl_init(struct rtnl *rt);
void rtnl_fini(struct rtnl *rt);

/* 0, or -EAFNOSUPPORT. */
int rtnl_addr_of(struct rtnl_addr *a, const struct sockaddr *sa);
/* Into a socket address without port; scope for link-local IPv6. */
void rtnl_addr_to(const struct rtnl_addr *a, uint32_t scope, struct sockaddr_storage *ss);
/* 0.0.0.0, :: or nothing */
bool rtnl_addr_any(const struct rtnl_addr *a);

/*
 * The way to dst, from src unless that is any, by oif unless that is 0. 0 or -errno:
 * -ENETUNREACH, -EHOSTUNREACH, -EACCES (prohibit), -EINVAL (blackhole, or src is not ours).
 */
int rtnl_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
	       uint32_t oif, struct rtnl_route *route);
/* 0: the kernel has the hardware address; -ENODATA: not, or not yet; other -errno. */
int rtnl_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex);
/* Which interface has this address: 0 and *ifindex, or -EADDRNOTAVAIL. */
int rtnl_owner(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t *ifindex);
/* Addresses have changed. */
static inline void rtnl_stale(struct rtnl *rt)
{
	rt->fresh = false;
}

#endif
