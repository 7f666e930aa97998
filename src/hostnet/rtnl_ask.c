/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to the kernel about routes, neighbours, addresses and links, one at a time.
 *
 * Each rtnl_ask_*() builds a netlink request; rtnl_ask() sends it and passes the messages of the answer
 * to a callback. Replies to earlier requests are skipped by their sequence number.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostnet/rtnl_internal.h"
#include "wire/ipudp.h"

#define BUF 32768

/* Neighbour states in which the kernel sends (NUD_VALID). */
#define NUD_USABLE                                                                            \
	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

/* Opens the request socket. 0 or -errno. */
static int rtnl_ask_open(struct rtnl *rt)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	int fd;

	if (rt->fd >= 0)
		return 0;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		close(fd);
		return -errno;
	}
	rt->fd = fd;
	return 0;
}

/* Sends the request and calls cb for each message of the answer. 0 or -errno. */
static int rtnl_ask(struct rtnl *rt, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	char buf[BUF];
	ssize_t n;
	int rc = rtnl_ask_open(rt);

	if (rc)
		return rc;
	nlh->nlmsg_seq = ++rt->seq;
	nlh->nlmsg_flags |= NLM_F_REQUEST;
	if (send(rt->fd, nlh, nlh->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		n = recv(rt->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN ? -EPROTO : -errno;
		rc = mnl_cb_run(buf, (size_t)n, rt->seq, 0, cb, arg);
		if (rc < 0 && errno == ESRCH)
			continue;	/* reply to an earlier request that failed */
		if (rc < 0)
			return -errno;
		if (rc <= MNL_CB_STOP)
			return 0;
	}
}

static void rtnl_put_addr(struct nlmsghdr *nlh, uint16_t type, const struct rtnl_addr *a)
{
	mnl_attr_put(nlh, type, a->len, a->b);
}

static void rtnl_get_addr(const struct nlattr *a, uint8_t family, struct rtnl_addr *to)
{
	uint8_t len = family == AF_INET ? 4 : 16;

	if (mnl_attr_get_payload_len(a) != len)
		return;
	*to = (struct rtnl_addr){ .family = family, .len = len };
	memcpy(to->b, mnl_attr_get_payload(a), len);
}

/* RTA_VIA: gateway of the other family. */
static void rtnl_get_via(const struct nlattr *a, struct rtnl_addr *to)
{
	const struct rtvia *via = mnl_attr_get_payload(a);
	size_t len = mnl_attr_get_payload_len(a);

	if (len == sizeof(*via) + 16 && via->rtvia_family == AF_INET6) {
		*to = (struct rtnl_addr){ .family = AF_INET6, .len = 16 };
		memcpy(to->b, via->rtvia_addr, 16);
	}
}

static uint8_t rtnl_hop_limit_of(const struct nlattr *metrics)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, metrics)
		if (mnl_attr_get_type(a) == RTAX_HOPLIMIT && !mnl_attr_validate(a, MNL_TYPE_U32) &&
		    mnl_attr_get_u32(a) - 1 < 255)
			return (uint8_t)mnl_attr_get_u32(a);
	return HOP_LIMIT_DEFAULT;
}

static int rtnl_route_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct rtnl_route *r = arg;
	const struct nlattr *a;

	if (nlh->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(nlh) < sizeof(*rt))
		return MNL_CB_OK;
	r->type = rt->rtm_type;
	mnl_attr_for_each(a, nlh, sizeof(*rt)) {
		switch (mnl_attr_get_type(a)) {
		case RTA_OIF:
			if (!mnl_attr_validate(a, MNL_TYPE_U32))
				r->oif = mnl_attr_get_u32(a);
			break;
		case RTA_PREFSRC:
			rtnl_get_addr(a, rt->rtm_family, &r->src);
			break;
		case RTA_GATEWAY:
			rtnl_get_addr(a, rt->rtm_family, &r->next);
			break;
		case RTA_VIA:
			rtnl_get_via(a, &r->next);
			break;
		case RTA_METRICS:
			r->hop_limit = rtnl_hop_limit_of(a);
			break;
		}
	}
	return MNL_CB_STOP;
}

/* IPv6 returns a route with an error type where IPv4 returns an error. */
static int rtnl_route_error(uint8_t type)
{
	switch (type) {
	case RTN_UNREACHABLE:
		return -EHOSTUNREACH;
	case RTN_PROHIBIT:
		return -EACCES;
	case RTN_BLACKHOLE:
		return -EINVAL;
	case RTN_UNSPEC:
	case RTN_THROW:
		return -ENETUNREACH;
	}
	return 0;
}

int rtnl_ask_route(struct rtnl *rt, const struct rtnl_addr *dst, const struct rtnl_addr *src,
		   uint32_t oif, struct rtnl_route *route)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rtm;
	bool any = rtnl_addr_any(src);
	int rc;

	nlh->nlmsg_type = RTM_GETROUTE;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = dst->family;
	rtm->rtm_dst_len = (unsigned char)(dst->len * 8);
	rtnl_put_addr(nlh, RTA_DST, dst);
	if (!any) {
		rtm->rtm_src_len = (unsigned char)(src->len * 8);
		rtnl_put_addr(nlh, RTA_SRC, src);
	}
	if (oif)
		mnl_attr_put_u32(nlh, RTA_OIF, oif);
	*route = (struct rtnl_route){ .hop_limit = HOP_LIMIT_DEFAULT };
	rc = rtnl_ask(rt, nlh, rtnl_route_cb, route);
	if (rc)
		return rc;
	if (!any)
		route->src = *src;
	if (!route->next.family)
		route->next = *dst;
	return rtnl_route_error(route->type);
}

bool rtnl_neigh_of(const struct nlmsghdr *nlh, struct rtnl_neigh *n)
{
	const struct ndmsg *nd = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	*n = (struct rtnl_neigh){ 0 };
	if ((nlh->nlmsg_type != RTM_NEWNEIGH && nlh->nlmsg_type != RTM_DELNEIGH) ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(*nd) ||
	    (nd->ndm_family != AF_INET && nd->ndm_family != AF_INET6))
		return false;
	n->ifindex = (uint32_t)nd->ndm_ifindex;
	mnl_attr_for_each(a, nlh, sizeof(*nd)) {
		if (mnl_attr_get_type(a) == NDA_DST)
			rtnl_get_addr(a, nd->ndm_family, &n->addr);
		if (mnl_attr_get_type(a) == NDA_LLADDR &&
		    mnl_attr_get_payload_len(a) == sizeof(n->mac)) {
			memcpy(n->mac, mnl_attr_get_payload(a), sizeof(n->mac));
			n->has_mac = true;
		}
	}
	n->usable = nlh->nlmsg_type == RTM_NEWNEIGH && (nd->ndm_state & NUD_USABLE);
	n->has_mac &= n->usable;
	return n->addr.family;
}

static int rtnl_neigh_cb(const struct nlmsghdr *nlh, void *arg)
{
	rtnl_neigh_of(nlh, arg);
	return MNL_CB_STOP;
}

int rtnl_ask_neigh(struct rtnl *rt, const struct rtnl_addr *addr, uint32_t ifindex,
		   struct rtnl_neigh *n)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ndmsg *nd;
	int rc;

	*n = (struct rtnl_neigh){ 0 };
	nlh->nlmsg_type = RTM_GETNEIGH;
	nd = mnl_nlmsg_put_extra_header(nlh, sizeof(*nd));
	nd->ndm_family = addr->family;
	nd->ndm_ifindex = (int)ifindex;
	rtnl_put_addr(nlh, NDA_DST, addr);
	rc = rtnl_ask(rt, nlh, rtnl_neigh_cb, n);
	if (rc && rc != -ENOENT)
		return rc;
	return n->usable ? 0 : -ENODATA;
}

static int rtnl_link_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct rtnl_link *link = arg;
	const struct nlattr *a;

	if (nlh->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi))
		return MNL_CB_OK;
	link->ifindex = (uint32_t)ifi->ifi_index;
	link->flags = ifi->ifi_flags;
	mnl_attr_for_each(a, nlh, sizeof(*ifi))
		if (mnl_attr_get_type(a) == IFLA_MTU && !mnl_attr_validate(a, MNL_TYPE_U32))
			link->mtu = mnl_attr_get_u32(a);
	return MNL_CB_STOP;
}

int rtnl_ask_link(struct rtnl *rt, uint32_t ifindex, struct rtnl_link *link)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;
	int rc;

	*link = (struct rtnl_link){ 0 };
	nlh->nlmsg_type = RTM_GETLINK;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = (int)ifindex;
	rc = rtnl_ask(rt, nlh, rtnl_link_cb, link);
	return rc ? rc : link->ifindex == ifindex ? 0 : -ENODEV;
}

static int rtnl_own_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct rtnl_own own = { 0 }, *more;
	struct rtnl *rt = arg;
	const struct nlattr *a;

	if (nlh->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifa))
		return MNL_CB_OK;
	own.ifindex = ifa->ifa_index;
	mnl_attr_for_each(a, nlh, sizeof(*ifa)) {
		/* On point-to-point links IFA_ADDRESS is the peer. */
		if (mnl_attr_get_type(a) == IFA_LOCAL ||
		    (mnl_attr_get_type(a) == IFA_ADDRESS && !own.addr.family))
			rtnl_get_addr(a, ifa->ifa_family, &own.addr);
	}
	if (!own.addr.family)
		return MNL_CB_OK;
	if (!(rt->own_count & (rt->own_count - 1))) {
		more = realloc(rt->own, sizeof(*more) * (rt->own_count ? 2 * rt->own_count : 1));
		if (!more)
			return MNL_CB_OK;
		rt->own = more;
	}
	rt->own[rt->own_count++] = own;
	return MNL_CB_OK;
}

int rtnl_ask_own(struct rtnl *rt)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifaddrmsg *ifa;

	rt->own_count = 0;
	nlh->nlmsg_type = RTM_GETADDR;
	nlh->nlmsg_flags = NLM_F_DUMP;
	ifa = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifa));
	ifa->ifa_family = AF_UNSPEC;
	return rtnl_ask(rt, nlh, rtnl_own_cb, rt);
}
