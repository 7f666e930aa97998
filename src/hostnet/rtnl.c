/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cache of the kernel's answers about routes, neighbours, links and addresses (rtnl.h).
 *
 * Entries have an epoch: a change of a route, link or address increases rt->epoch and
 * rt->neigh_epoch, one of a neighbour only rt->neigh_epoch. An entry with another epoch is
 * requested again (rtnl_ask.c).
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "hostnet/rtnl_internal.h"

#define GROUP(nr) (1u << ((nr) - 1))
/* Notifications of changes that may affect a route or the owner of an address. */
#define NEWS                                                                                  \
	(GROUP(RTNLGRP_LINK) | GROUP(RTNLGRP_NEIGH) | GROUP(RTNLGRP_IPV4_IFADDR) |            \
	 GROUP(RTNLGRP_IPV4_ROUTE) | GROUP(RTNLGRP_IPV4_RULE) | GROUP(RTNLGRP_IPV6_IFADDR) |  \
	 GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_IPV6_RULE) | GROUP(RTNLGRP_IPV4_NETCONF) | \
	 GROUP(RTNLGRP_IPV6_NETCONF) | GROUP(RTNLGRP_NEXTHOP))

void rtnl_init(struct rtnl *rt)
{
	memset(rt, 0, sizeof(*rt));
	rt->fd = rt->news = -1;
	rt->epoch = rt->neigh_epoch = 1;
}

void rtnl_fini(struct rtnl *rt)
{
	if (rt->fd >= 0)
		close(rt->fd);
	if (rt->news >= 0)
		close(rt->news);
	free(rt->own);
	rtnl_init(rt);
}

int rtnl_addr_of(struct rtnl_addr *a, const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	*a = (struct rtnl_addr){ 0 };
	switch (sa->sa_family) {
	case AF_INET:
		a->len = 4;
		memcpy(a->b, &in->sin_addr, 4);
		break;
	case AF_INET6:
		a->len = 16;
		memcpy(a->b, &in6->sin6_addr, 16);
		break;
	default:
		return -EAFNOSUPPORT;
	}
	a->family = (uint8_t)sa->sa_family;
	return 0;
}

void rtnl_addr_to(const struct rtnl_addr *a, uint32_t scope, struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (void *)ss;
	struct sockaddr_in6 *in6 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = a->family;
	if (a->family == AF_INET) {
		memcpy(&in->sin_addr, a->b, 4);
		return;
	}
	memcpy(&in6->sin6_addr, a->b, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&in6->sin6_addr))
		in6->sin6_scope_id = scope;
}

bool rtnl_addr_any(const struct rtnl_addr *a)
{
	static const uint8_t any[16];

	return !memcmp(a->b, any, sizeof(any));
}

static void rtnl_forget(struct rtnl *rt)
{
	rt->epoch++;
	rt->neigh_epoch++;
}

/* Subscribes before the first request. Without the socket each rtnl_sync() drops everything. */
static void rtnl_listen(struct rtnl *rt)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK, .nl_groups = NEWS };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		close(fd);
		fd = -1;
	}
	rt->news = fd;
}

/* True if a notification is about a neighbour. All messages of a datagram concern one object, so the first decides. */
static bool rtnl_about_neighbours(const void *buf, ssize_t n)
{
	struct nlmsghdr h;

	if (n < (ssize_t)sizeof(h))
		return false;
	memcpy(&h, buf, sizeof(h));
	return h.nlmsg_type == RTM_NEWNEIGH || h.nlmsg_type == RTM_DELNEIGH;
}

void rtnl_sync(struct rtnl *rt, ns_t now)
{
	struct nlmsghdr h;
	ssize_t n;

	if (rt->news < 0) {
		rtnl_listen(rt);
		rtnl_forget(rt);
	}
	if (now - rt->since >= RTNL_KEEP) {
		rtnl_forget(rt);
		rt->since = now;
	}
	while (rt->news >= 0) {
		n = recv(rt->news, &h, sizeof(h), MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n >= 0 && rtnl_about_neighbours(&h, n))
			rt->neigh_epoch++;
		else
			rtnl_forget(rt);	/* ENOBUFS: notifications were lost */
		if (n < 0 && errno != ENOBUFS) {
			close(rt->news);
			rt->news = -1;
		}
	}
}

static bool rtnl_eq(const struct rtnl_addr *a, const struct rtnl_addr *b)
{
	return a->family == b->family && !memcmp(a->b, b->b, sizeof(a->b));
}

/* Continues an FNV-1a hash. */
static uint32_t rtnl_hash_more(uint32_t h, const void *p, size_t len)
{
	const uint8_t *b = p;

	while (len--)
		h = (h ^ *b++) * 16777619u;
	return h;
}

static uint32_t rtnl_hash_of(const struct rtnl_addr *a, uint32_t ifindex)
{
	uint32_t h = rtnl_hash_more(2166136261u, a->b, a->len);

	h = rtnl_hash_more(h, &ifindex, sizeof(ifindex));
	return h ^ h >> 16;
}

int rtnl_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
	       uint32_t oif, struct rtnl_route *route)
{
	uint32_t h = rtnl_hash_of(dst, oif) ^ rtnl_hash_of(src, 0);
	struct rtnl_kept_route *k = &rt->route[h % RTNL_ROUTES];
	int rc = 0;

	if (k->epoch != rt->epoch || k->oif != oif || !rtnl_eq(&k->dst, dst) ||
	    !rtnl_eq(&k->src, src)) {
		*k = (struct rtnl_kept_route){ .oif = oif, .dst = *dst, .src = *src };
		rc = rtnl_ask_route(rt, dst, src, oif, &k->route);
		k->epoch = rc ? 0 : rt->epoch;
	}
	*route = k->route;
	return rc;
}

/* Only positive answers are cached: there is no notification for an entry that does not exist. */
int rtnl_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex,
	       struct rtnl_neigh *n)
{
	struct rtnl_kept_neigh *k = &rt->neigh[rtnl_hash_of(addr, ifindex) % RTNL_NEIGHS];
	int rc = 0;

	if (k->epoch != rt->neigh_epoch || k->n.ifindex != ifindex || !rtnl_eq(&k->n.addr, addr)) {
		rc = rtnl_ask_neigh(rt, addr, ifindex, &k->n);
		k->n.addr = *addr;
		k->n.ifindex = ifindex;
		k->epoch = rc ? 0 : rt->neigh_epoch;
	}
	*n = k->n;
	return rc;
}

int rtnl_link(struct rtnl *rt, uint32_t ifindex, struct rtnl_link *link)
{
	struct rtnl_kept_link *k = &rt->link[ifindex % RTNL_LINKS];
	int rc = 0;

	if (k->epoch != rt->epoch || k->link.ifindex != ifindex) {
		rc = rtnl_ask_link(rt, ifindex, &k->link);
		k->epoch = rc ? 0 : rt->epoch;
	}
	*link = k->link;
	return rc ? -ENODEV : 0;
}

static bool rtnl_own_find(const struct rtnl *rt, const struct rtnl_addr *addr, uint32_t *ifindex)
{
	for (uint32_t i = 0; i < rt->own_count; i++)
		if (rtnl_eq(&rt->own[i].addr, addr)) {
			*ifindex = rt->own[i].ifindex;
			return true;
		}
	return false;
}

int rtnl_owner(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t *ifindex)
{
	if (rt->own_epoch != rt->epoch) {
		rt->own_epoch = rt->epoch;
		if (rtnl_ask_own(rt)) {
			rt->own_epoch = 0;
			log_warn("cannot read the addresses of this host");
		}
	}
	return rtnl_own_find(rt, addr, ifindex) ? 0 : -EADDRNOTAVAIL;
}
