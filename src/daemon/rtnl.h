/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Routes, neighbours, addresses and links. The kernel answers a question before
 * sendmsg() returns, so nothing here waits.
 *
 * What it has answered is kept until it says that something has changed. Such
 * word is in a socket of ours before the call that has changed it returns, and
 * rtnl_sync() reads it: so who looks sees at least what was so when it was asked to.
 * Nothing is kept longer than RTNL_KEEP, for of some things there is no word
 * (address labels, for one).
 *
 * Addresses are AF_INET or AF_INET6 without a port.
 */
#ifndef RUSE_DAEMON_RTNL_H
#define RUSE_DAEMON_RTNL_H

#include <linux/netlink.h>
#include <sys/socket.h>
#include "base/util.h"

#define RTNL_KEEP NS_S
#define RTNL_ROUTES 256		/* kept, powers of two */
#define RTNL_NEIGHS 256
#define RTNL_LINKS 32

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

struct rtnl_neigh {
	struct rtnl_addr addr;
	uint32_t ifindex;
	bool usable;		/* the kernel sends to it (NUD_VALID) */
	bool has_mac;		/* usable, and an Ethernet address */
	uint8_t mac[6];
};

struct rtnl_link {
	uint32_t ifindex, flags, mtu;	/* flags: IFF_* */
};

struct rtnl {
	int fd, news;		/* questions; what has changed. -1 = not open */
	uint32_t seq;		/* questions so far */
	ns_t since;		/* the oldest of what is kept */
	/* An entry counts if its epoch is this one. */
	uint32_t epoch, neigh_epoch, own_epoch;
	struct rtnl_kept_route {
		uint32_t epoch, oif;
		struct rtnl_addr dst, src;
		struct rtnl_route route;
	} route[RTNL_ROUTES];
	struct rtnl_kept_neigh {
		uint32_t epoch;
		struct rtnl_neigh n;
	} neigh[RTNL_NEIGHS];
	struct rtnl_kept_link {
		uint32_t epoch;
		struct rtnl_link link;
	} link[RTNL_LINKS];
	/* Addresses of this host. */
	struct rtnl_own {
		struct rtnl_addr addr;
		uint32_t ifindex;
	} *own;
	uint32_t own_count;
};

void rtnl_init(struct rtnl *rt);
void rtnl_fini(struct rtnl *rt);

/* 0, or -EAFNOSUPPORT. */
int rtnl_addr_of(struct rtnl_addr *a, const struct sockaddr *sa);
/* Into a socket address without port; scope for link-local IPv6. */
void rtnl_addr_to(const struct rtnl_addr *a, uint32_t scope, struct sockaddr_storage *ss);
/* 0.0.0.0, :: or nothing */
bool rtnl_addr_any(const struct rtnl_addr *a);

/* What has changed until now counts from here on. now: CLOCK_MONOTONIC. */
void rtnl_sync(struct rtnl *rt, ns_t now);
/*
 * The way to dst, from src unless that is any, by oif unless that is 0. 0 or -errno:
 * -ENETUNREACH, -EHOSTUNREACH, -EACCES (prohibit), -EINVAL (blackhole, or src is not ours).
 */
int rtnl_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
	       uint32_t oif, struct rtnl_route *route);
/* 0: the kernel has the hardware address; -ENODATA: not, or not yet; other -errno. */
int rtnl_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex,
	       struct rtnl_neigh *n);
/* Which interface has this address: 0 and *ifindex, or -EADDRNOTAVAIL. */
int rtnl_owner(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t *ifindex);
/* 0, or -ENODEV: there is no such interface, or it cannot be asked about. */
int rtnl_link(struct rtnl *rt, uint32_t ifindex, struct rtnl_link *link);

/* A message about a neighbour of either family. False: it is about something else. */
bool rtnl_neigh_of(const struct nlmsghdr *nlh, struct rtnl_neigh *n);

#endif
