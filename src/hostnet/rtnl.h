/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Routes, neighbours, addresses and links of the network namespace. The kernel answers a request
 * before sendmsg() returns, so nothing here waits.
 *
 * Answers are cached until the kernel reports a change. A report is in the notification socket
 * before the system call that made the change returns, and rtnl_sync() reads it. So a look-up sees
 * all reported changes made before the last rtnl_sync(). Nothing is cached longer than RTNL_KEEP, as
 * some changes are not reported (address labels, for example).
 *
 * Addresses are IP addresses (AF_INET or AF_INET6) without a TCP or UDP port.
 */
#ifndef RUSE_HOSTNET_RTNL_H
#define RUSE_HOSTNET_RTNL_H

#include <linux/netlink.h>
#include <sys/socket.h>
#include "base/util.h"

#define RTNL_KEEP NS_S
#define RTNL_ROUTES 256		/* cache entries, powers of two */
#define RTNL_NEIGHS 256
#define RTNL_LINKS 32

/* An address of either family. */
struct rtnl_addr {
	uint8_t family;		/* AF_INET, AF_INET6; 0 = none */
	uint8_t len;		/* 4 or 16 */
	uint8_t b[16];
};

struct rtnl_route {
	uint8_t type;		/* RTN_UNICAST, _LOCAL, _MULTICAST, _BROADCAST, _ANYCAST */
	uint8_t hop_limit;	/* hop limit or TTL of the route; 64 if it has none */
	uint32_t oif;
	struct rtnl_addr src;	/* source address: the requested one, or the kernel's choice */
	struct rtnl_addr next;	/* next hop: the gateway, or the destination */
};

struct rtnl_neigh {
	struct rtnl_addr addr;
	uint32_t ifindex;
	bool usable;		/* the kernel can send to it (NUD_VALID) */
	bool has_mac;		/* usable, with an Ethernet address */
	uint8_t mac[6];
};

struct rtnl_link {
	uint32_t ifindex, flags, mtu;	/* flags: IFF_* */
};

struct rtnl {
	int fd, news;		/* request socket; notification socket. -1 = not open */
	uint32_t seq;		/* number of requests so far */
	ns_t since;		/* time of the last full flush */
	/*
	 * A cached route or link is valid if its epoch equals `epoch`, a neighbour if its epoch
	 * equals neigh_epoch, and `own` if own_epoch equals `epoch`.
	 */
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

/* Converts a socket address. 0, or -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int rtnl_addr_of(struct rtnl_addr *a, const struct sockaddr *sa);
/* Makes a socket address whose port is 0. scope: interface, for link-local IPv6. */
void rtnl_addr_to(const struct rtnl_addr *a, uint32_t scope, struct sockaddr_storage *ss);
/* True for 0.0.0.0, for ::, and if a has no address (family 0). */
bool rtnl_addr_any(const struct rtnl_addr *a);

/* Reads the reported changes and drops outdated entries. now: CLOCK_MONOTONIC, ns. */
void rtnl_sync(struct rtnl *rt, ns_t now);
/*
 * Route to dst, from src (any: unspecified), by oif (0: any). 0 or -errno: -ENETUNREACH,
 * -EHOSTUNREACH, -EACCES (prohibit), -EINVAL (blackhole, or src is not a local address).
 */
int rtnl_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
	       uint32_t oif, struct rtnl_route *route);
/* Finds the neighbour entry of an address. 0: the kernel can send to it; -ENODATA: not resolved (yet); other -errno. */
int rtnl_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex,
	       struct rtnl_neigh *n);
/* Finds the interface with this address. 0 and *ifindex, or -EADDRNOTAVAIL. */
int rtnl_owner(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t *ifindex);
/* Reads flags and MTU of an interface. 0, or -ENODEV: no such interface, or the request failed. */
int rtnl_link(struct rtnl *rt, uint32_t ifindex, struct rtnl_link *link);

/* Decodes a message about a neighbour. False: it is about something else. */
bool rtnl_neigh_of(const struct nlmsghdr *nlh, struct rtnl_neigh *n);

#endif
