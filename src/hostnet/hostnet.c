/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notifications of rtnetlink about links, addresses, default routes and neighbours, for the owner of the machine's
 * devices. A notification only says what has changed: the owner reads the state again (netdev.h).
 * So a lost notification (ENOBUFS) needs no special handling.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "hostnet/hostnet.h"
#include "hostnet/netdev.h"

void hostnet_init(struct hostnet *net, struct loop *l, const struct hostnet_ops *ops, void *ctx)
{
	*net = (struct hostnet){ .loop = l, .ops = ops, .ctx = ctx, .watch.fd = -1 };
	hostnet_addr_init(net);
}

void hostnet_fini(struct hostnet *net)
{
	loop_del(net->loop, &net->watch);
	hostnet_addr_fini(net);
}

/* Passes a notification on to the owner. */
static void hostnet_tell(struct hostnet *net, const struct nlmsghdr *nlh)
{
	const void *body = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh);
	const struct ifinfomsg *ifi = body;
	const struct ifaddrmsg *ifa = body;
	struct rtnl_neigh neigh;

	if ((nlh->nlmsg_type == RTM_NEWLINK || nlh->nlmsg_type == RTM_DELLINK) &&
	    len >= sizeof(*ifi))
		net->ops->changed(net->ctx, (uint32_t)ifi->ifi_index, true);
	else if ((nlh->nlmsg_type == RTM_NEWADDR || nlh->nlmsg_type == RTM_DELADDR) &&
		 len >= sizeof(*ifa))
		net->ops->changed(net->ctx, ifa->ifa_index, false);
	else if ((nlh->nlmsg_type == RTM_NEWROUTE || nlh->nlmsg_type == RTM_DELROUTE) &&
		 netdev_route_default(nlh))
		net->ops->route_changed(net->ctx);
	else if (rtnl_neigh_of(nlh, &neigh))
		net->ops->neigh_changed(net->ctx, &neigh);
}

static void hostnet_event(struct loop_fd *f, uint32_t events)
{
	struct hostnet *net = container_of(f, struct hostnet, watch);
	char buf[32768];
	ssize_t n;

	while ((n = recv(f->fd, buf, sizeof(buf), MSG_DONTWAIT)) != -1 || errno == ENOBUFS) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
		int left = (int)n;

		if (n < 0)
			net->ops->changed(net->ctx, 0, true);
		for (; n > 0 && mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			hostnet_tell(net, nlh);
	}
	net->ops->settled(net->ctx);
}

int hostnet_watch(struct hostnet *net)
{
	struct sockaddr_nl sa = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
			     RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
	};
	int fd, rc;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		rc = -errno;
		log_err("cannot open rtnetlink: %s", strerror(-rc));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	net->watch.fn = hostnet_event;
	rc = loop_add(net->loop, &net->watch, fd, EPOLLIN);
	if (rc)
		close(fd);
	return rc;
}
