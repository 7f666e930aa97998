/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the state of network interfaces. */
#ifndef RUSE_HOSTNET_NETDEV_H
#define RUSE_HOSTNET_NETDEV_H

#include <net/if.h>
#include "hostnet/choose.h"
#include "hostnet/gids.h"

#define MAX_ADDRS 256

struct nlmsghdr;

struct scan {
	uint32_t ifindex;	/* interface to read; 0 = use name */
	char name[IFNAMSIZ];	/* interface to read if ifindex is 0; "" = lo */
	/* Link. */
	bool found, up, carrier;
	uint32_t mtu;
	uint8_t mac[6];
	/* Addresses. */
	struct gid_raw v4[MAX_ADDRS], v6[MAX_ADDRS];
	unsigned int n4, n6;
};

/* Reads the link of s->ifindex, or s->name, or lo, and its addresses. 0 or -errno. */
int netdev_read(struct scan *s);
/* Reads all interfaces and the default routes. The caller frees net->ifs. 0 or -errno. */
int netdev_read_all(struct choice_net *net);
/* True if a message about a route is about a default route, for which an interface may be chosen. */
bool netdev_route_default(const struct nlmsghdr *nlh);
/* Speed of the interface in Mb/s; 0: unknown. */
uint32_t netdev_speed(const char *name);

#endif
