/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the state of a network interface. */
#ifndef RUSE_HOSTNET_NETDEV_H
#define RUSE_HOSTNET_NETDEV_H

#include <net/if.h>
#include "hostnet/gids.h"

#define MAX_ADDRS 256

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
	/* Default route. */
	uint32_t oif, metric;
};

/* Reads the link of s->ifindex, or s->name, or lo, and its addresses. 0 or -errno. */
int netdev_read(struct scan *s);
/* Sets s->ifindex to the interface of the default route, IPv4's, else IPv6's; 0: none. */
void netdev_default(struct scan *s);
/* Speed of the interface in Mb/s; 0: unknown. */
uint32_t netdev_speed(const char *name);

#endif
