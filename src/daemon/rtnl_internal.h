/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's answers, as it gives them now: what rtnl.c keeps. */
#ifndef RUSE_DAEMON_RTNL_INTERNAL_H
#define RUSE_DAEMON_RTNL_INTERNAL_H

#include "daemon/rtnl.h"

/* As rtnl_route() and rtnl_neigh(). */
int rtnl_ask_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
		   uint32_t oif, struct rtnl_route *route);
int rtnl_ask_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex,
		   struct rtnl_neigh *n);
/* As rtnl_link(); -errno also of the socket. */
int rtnl_ask_link(struct rtnl *rt, uint32_t ifindex, struct rtnl_link *link);
/* Into rt->own. 0 or -errno. */
int rtnl_ask_own(struct rtnl *rt);

#endif
