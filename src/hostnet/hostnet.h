/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The machine's network: notifications of changes, and the address functions of rdmacm (struct
 * rdmacm_ops), like the kernel's ib_addr. netdev.h and gids.h read an interface and make the GIDs
 * of a port on it; rtnl.h has routes and neighbours.
 */
#ifndef RUSE_HOSTNET_H
#define RUSE_HOSTNET_H

#include "base/list.h"
#include "hostnet/rtnl.h"
#include "loop/loop.h"

struct rdmacm;

struct hostnet_ops {
	/*
	 * An address of the interface was added or removed, or, if link is true, its link has
	 * changed. ifindex 0: notifications were lost, so anything may have changed.
	 */
	void (*changed)(void *ctx, uint32_t ifindex, bool link);
	/* A default route was added, changed or removed. */
	void (*route_changed)(void *ctx);
	void (*neigh_changed)(void *ctx, const struct rtnl_neigh *n);
	/* All notifications that had arrived were passed on. */
	void (*settled)(void *ctx);
};

struct hostnet {
	struct loop *loop;
	const struct hostnet_ops *ops;
	void *ctx;			/* of ops */
	struct rdmacm *rdmacm;		/* gets the results of resolve(); set by the owner */
	struct loop_fd watch;		/* notification socket of ops */
	struct rtnl rtnl;
	int probe[2];			/* sockets for lookup_probe(): IPv4, IPv6; -1 = not open */
	int port_range;			/* ip_local_port_range; -1: not open */
	uint16_t port_low, port_high;
	uint64_t synced, ranged;	/* loop.moment of the last update */
	struct list_head pending;	/* struct lookup */
	struct list_head groups;	/* struct membership */
};

void hostnet_init(struct hostnet *net, struct loop *l, const struct hostnet_ops *ops, void *ctx);
/* Drops pending lookups and leaves all IP multicast groups. */
void hostnet_fini(struct hostnet *net);
/* Subscribes to changes: ops are called from the loop. 0 or -errno. */
int hostnet_watch(struct hostnet *net);

/* addr.c. See struct rdmacm_ops; ctx is a struct hostnet. */
extern const struct rdmacm_ops hostnet_rdmacm_ops;
void hostnet_port_range(void *ctx, uint16_t *low, uint16_t *high);
bool hostnet_v6only(void *ctx);
void hostnet_addr_init(struct hostnet *net);
void hostnet_addr_fini(struct hostnet *net);

#endif
