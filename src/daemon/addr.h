/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Address functions for rdmacm (struct rdmacm_ops), like the kernel's ib_addr. ctx: struct rused.
 */
#ifndef RUSE_DAEMON_ADDR_H
#define RUSE_DAEMON_ADDR_H

#include "base/list.h"
#include "daemon/rtnl.h"

struct rdmacm_resolve;
struct rused;

struct addr_state {
	struct rtnl rtnl;
	int probe[2];			/* sockets for probe(): IPv4, IPv6; -1 = not open */
	int port_range;			/* ip_local_port_range; -1: not open */
	uint16_t port_low, port_high;
	uint64_t synced, ranged;	/* loop.moment of the last update */
	struct list_head pending;	/* struct lookup */
	struct list_head groups;	/* struct membership */
};

void addr_init(struct rused *r);
/* Drops pending lookups and leaves all IP multicast groups. */
void addr_fini(struct rused *r);

/* See struct rdmacm_ops. */
int addr_translate(void *ctx, const struct sockaddr *addr, uint32_t bound_if, uint32_t *ifindex);
int addr_resolve(void *ctx, struct rdmacm_resolve *r);
void addr_cancel(void *ctx, struct rdmacm_resolve *r);
uint32_t addr_netdev_mtu(void *ctx, uint32_t ifindex);
int addr_mcast(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join);
void addr_port_range(void *ctx, uint16_t *low, uint16_t *high);

#endif
