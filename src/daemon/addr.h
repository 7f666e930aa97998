/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What rdmacm asks about addresses (struct rdmacm_ops): the kernel's ib_addr.
 * All of it for the ctx struct rused.
 */
#ifndef RUSE_DAEMON_ADDR_H
#define RUSE_DAEMON_ADDR_H

#include "base/list.h"
#include "daemon/rtnl.h"

struct rdmacm_resolve;
struct rused;

struct addr_state {
	struct rtnl rtnl;
	int probe[2];			/* sockets that wake neighbours, IPv4 and IPv6; -1 */
	int port_range;			/* the file that has it; -1: not open */
	uint16_t port_low, port_high;
	uint64_t synced, ranged;	/* loop.moment of the last look at news, at the port range */
	struct list_head pending;	/* struct lookup */
	struct list_head groups;	/* struct membership */
};

void addr_init(struct rused *r);
/* Forgets what is pending, leaves all groups. */
void addr_fini(struct rused *r);

/* As struct rdmacm_ops says; ctx: the struct rused. */
int addr_translate(void *ctx, const struct sockaddr *addr, uint32_t bound_if, uint32_t *ifindex);
int addr_resolve(void *ctx, struct rdmacm_resolve *r);
void addr_cancel(void *ctx, struct rdmacm_resolve *r);
uint32_t addr_netdev_mtu(void *ctx, uint32_t ifindex);
int addr_mcast(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join);
void addr_port_range(void *ctx, uint16_t *low, uint16_t *high);

#endif
