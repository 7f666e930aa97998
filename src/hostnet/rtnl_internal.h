/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to the kernel, whose answers rtnl.c caches. */
#ifndef RUSE_HOSTNET_RTNL_INTERNAL_H
#define RUSE_HOSTNET_RTNL_INTERNAL_H

#include "hostnet/rtnl.h"

/* See rtnl_route() and rtnl_neigh(). */
int rtnl_ask_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
		   uint32_t oif, struct rtnl_route *route);
int rtnl_ask_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex,
		   struct rtnl_neigh *n);
/* See rtnl_link(). Also returns the -errno of the socket. */
int rtnl_ask_link(struct rtnl *rt, uint32_t ifindex, struct rtnl_link *link);
/* Reads all local addresses into rt->own. 0 or -errno. */
int rtnl_ask_own(struct rtnl *rt);

#endif
