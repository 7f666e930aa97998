/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which devices there are: rxe_0 on the interface of the default route (IPv4's,
 * else IPv6's, lowest metric), else on lo. Its port follows that interface.
 *
 * Events only say that something has changed; what, is read anew, and the
 * tables are brought in line with it. An event lost (ENOBUFS) is then no
 * different from one that came.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <net/if.h>	/* before linux/if.h, which then leaves out what is here */
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/gids.h"

#define DEV_NAME "rxe_0"
#define DEV_INDEX 1		/* 0 is "none" in our pages */
#define UVERBS_BASE_MINOR 192
#define MAX_ADDRS 256
#define STATE_DOWN 1
#define STATE_ACTIVE 4
#define PHYS_POLLING 2
#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5

struct scan {
	uint32_t ifindex;	/* of interest; 0 = find lo */
	char name[IFNAMSIZ];	/* of interest when the index is gone */
	/* the link */
	bool found, up, carrier;
	uint32_t mtu;
	uint8_t mac[6];
	/* the addresses, IPv4 first */
	struct gid_raw v4[MAX_ADDRS], v6[MAX_ADDRS];
	unsigned int n4, n6;
	/* the default route */
	uint32_t oif, metric;
};

/* Sends a dump request and calls cb for each message. 0 or -errno. */
static int dump(uint16_t type, uint8_t family, mnl_cb_t cb, struct scan *s)
{
	char buf[32768];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct mnl_socket *nl;
	struct timeval tv = { .tv_sec = 2 };
	ssize_t n;
	int rc = 0;

	nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!nl)
		return -errno;
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = 1;
	/* The largest of the three families' headers; all zero but the family. */
	*(uint8_t *)mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg)) = family;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		rc = -errno;
	while (!rc) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0) {
			rc = -errno;
			break;
		}
		n = mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), cb, s);
		if (n < 0)
			rc = -errno;
		if (n <= MNL_CB_STOP)
			break;
	}
	mnl_socket_close(nl);
	return rc;
}

static int route_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;
	uint32_t metric = 0, oif = 0;
	struct scan *s = arg;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*rt) || rt->rtm_dst_len ||
	    rt->rtm_type != RTN_UNICAST || rt->rtm_table != RT_TABLE_MAIN)
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(*rt)) {
		if (mnl_attr_get_type(a) == RTA_OIF && !mnl_attr_validate(a, MNL_TYPE_U32))
			oif = mnl_attr_get_u32(a);
		if (mnl_attr_get_type(a) == RTA_PRIORITY && !mnl_attr_validate(a, MNL_TYPE_U32))
			metric = mnl_attr_get_u32(a);
		if (mnl_attr_get_type(a) == RTA_MULTIPATH && !oif &&
		    mnl_attr_get_payload_len(a) >= sizeof(struct rtnexthop))
			oif = (uint32_t)((struct rtnexthop *)mnl_attr_get_payload(a))->rtnh_ifindex;
	}
	if (oif && (!s->oif || metric < s->metric)) {
		s->oif = oif;
		s->metric = metric;
	}
	return MNL_CB_OK;
}

static int link_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;
	const char *name = "";
	struct scan one = { 0 }, *s = arg;
	bool mine;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi))
		return MNL_CB_OK;
	one.carrier = ifi->ifi_flags & IFF_LOWER_UP;
	mnl_attr_for_each(a, nlh, sizeof(*ifi)) {
		if (mnl_attr_get_type(a) == IFLA_IFNAME &&
		    !mnl_attr_validate(a, MNL_TYPE_NUL_STRING))
			name = mnl_attr_get_str(a);
		if (mnl_attr_get_type(a) == IFLA_MTU && !mnl_attr_validate(a, MNL_TYPE_U32))
			one.mtu = mnl_attr_get_u32(a);
		if (mnl_attr_get_type(a) == IFLA_CARRIER && !mnl_attr_validate(a, MNL_TYPE_U8))
			one.carrier = mnl_attr_get_u8(a);
		if (mnl_attr_get_type(a) == IFLA_ADDRESS && mnl_attr_get_payload_len(a) == 6)
			memcpy(one.mac, mnl_attr_get_payload(a), 6);
	}
	if (s->ifindex)
		mine = s->ifindex == (uint32_t)ifi->ifi_index;
	else if (s->name[0])
		mine = !strcmp(s->name, name);
	else
		mine = ifi->ifi_type == ARPHRD_LOOPBACK;
	if (!mine)
		return MNL_CB_OK;
	s->found = true;
	s->ifindex = (uint32_t)ifi->ifi_index;
	s->up = ifi->ifi_flags & IFF_UP;
	s->carrier = one.carrier;
	s->mtu = one.mtu;
	memcpy(s->mac, one.mac, 6);
	snprintf(s->name, sizeof(s->name), "%s", name);
	return MNL_CB_OK;
}

static int addr_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	const uint8_t *local = NULL, *addr = NULL;
	const struct nlattr *a;
	struct scan *s = arg;
	size_t len;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifa) || ifa->ifa_index != s->ifindex)
		return MNL_CB_OK;
	len = ifa->ifa_family == AF_INET ? 4 : 16;
	mnl_attr_for_each(a, nlh, sizeof(*ifa)) {
		if (mnl_attr_get_payload_len(a) != len)
			continue;
		if (mnl_attr_get_type(a) == IFA_LOCAL)
			local = mnl_attr_get_payload(a);
		if (mnl_attr_get_type(a) == IFA_ADDRESS)
			addr = mnl_attr_get_payload(a);
	}
	addr = local ? local : addr;	/* on point-to-point links IFA_ADDRESS is the peer's */
	if (!addr)
		return MNL_CB_OK;
	if (ifa->ifa_family == AF_INET && s->n4 < MAX_ADDRS)
		s->v4[s->n4++] = gid_from_ipv4(addr);
	else if (ifa->ifa_family == AF_INET6 && s->n6 < MAX_ADDRS)
		memcpy(s->v6[s->n6++].b, addr, 16);
	return MNL_CB_OK;
}

/* Mb/s, 0 = not known. */
static uint32_t link_speed(const char *name)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	struct ifreq ifr = { .ifr_data = (void *)&cmd };
	uint32_t mbps = 0, got;
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (!ioctl(fd, SIOCETHTOOL, &ifr)) {
		got = (uint32_t)cmd.speed_hi << 16 | cmd.speed;
		mbps = got == (uint32_t)SPEED_UNKNOWN ? 0 : got;
	}
	close(fd);
	return mbps;
}

/* The link of s->ifindex, or of s->name, or lo, and its addresses. 0 or -errno. */
static int read_interface(struct scan *s)
{
	int rc = dump(RTM_GETLINK, AF_UNSPEC, link_cb, s);

	if (!rc && s->found)
		rc = dump(RTM_GETADDR, AF_INET, addr_cb, s);
	if (!rc && s->found)
		rc = dump(RTM_GETADDR, AF_INET6, addr_cb, s);
	return rc;
}

/* What the port is now. d has the state so far: GIDs keep their places. */
static void fill_port(struct host_dev *d, struct scan *s)
{
	struct gid_raw all[2 * MAX_ADDRS];
	uint8_t eui64[8];
	unsigned int lost;

	if (!s->found) {	/* the interface is gone; it may come back under its name */
		d->state = STATE_DOWN;
		d->phys_state = PHYS_DISABLED;
		d->ifindex = 0;
		gids_sync(d, d->gid[0].raw + 8, NULL, 0);
		return;
	}
	d->ifindex = s->ifindex;
	memset(d->ndev, 0, sizeof(d->ndev));
	snprintf(d->ndev, sizeof(d->ndev), "%s", s->name);
	d->state = s->up && s->carrier ? STATE_ACTIVE : STATE_DOWN;
	d->phys_state = d->state == STATE_ACTIVE ? PHYS_LINK_UP :
			s->up ? PHYS_POLLING : PHYS_DISABLED;
	d->active_mtu = mtu_from_netdev(s->mtu);
	speed_from_netdev(d, link_speed(s->name));
	memcpy(all, s->v4, s->n4 * sizeof(all[0]));
	memcpy(all + s->n4, s->v6, s->n6 * sizeof(all[0]));
	guid_from_mac(eui64, s->mac);
	lost = gids_sync(d, eui64, all, s->n4 + s->n6);
	if (lost)
		log_warn("%s: %u addresses of %s have no place in the GID table", d->name, lost,
			 d->ndev);
}

static void refresh(struct rused *r)
{
	struct host_dev d = r->page->dev[0];
	struct scan s = { .ifindex = d.ifindex };
	int rc;

	memcpy(s.name, d.ndev, sizeof(s.name));
	rc = read_interface(&s);
	if (!rc && !s.found && d.ifindex) {
		s.ifindex = 0;
		rc = read_interface(&s);
	}
	if (rc) {
		log_warn("cannot read the state of %s: %s", d.ndev, strerror(-rc));
		return;
	}
	fill_port(&d, &s);
	host_publish(r, 0, &d);
}

static int discover(struct rused *r)
{
	struct host_dev d = { .in_use = 1, .index = DEV_INDEX, .name = DEV_NAME,
			      .minor = UVERBS_BASE_MINOR };
	struct scan s = { 0 };
	int rc;

	dump(RTM_GETROUTE, AF_INET, route_cb, &s);
	if (!s.oif)
		dump(RTM_GETROUTE, AF_INET6, route_cb, &s);
	s.ifindex = s.oif;
	rc = read_interface(&s);
	if (!rc && !s.found) {
		s.ifindex = 0;
		rc = read_interface(&s);
	}
	if (!rc && !s.found)
		rc = -ENODEV;
	if (rc) {
		log_err("no network interface to put a device on: %s", strerror(-rc));
		return rc;
	}
	guid_from_mac(d.node_guid, s.mac);
	fill_port(&d, &s);
	host_publish(r, 0, &d);
	return 0;
}

static bool concerns(const struct rused *r, const struct nlmsghdr *nlh)
{
	uint32_t mine = r->page->dev[0].ifindex;
	const void *body = mnl_nlmsg_get_payload(nlh);
	size_t len = mnl_nlmsg_get_payload_len(nlh);
	const struct ifinfomsg *ifi = body;
	const struct ifaddrmsg *ifa = body;

	if (nlh->nlmsg_type == RTM_NEWADDR || nlh->nlmsg_type == RTM_DELADDR)
		return len >= sizeof(*ifa) && ifa->ifa_index == mine;
	if (nlh->nlmsg_type == RTM_NEWLINK || nlh->nlmsg_type == RTM_DELLINK)
		return len >= sizeof(*ifi) && (!mine || (uint32_t)ifi->ifi_index == mine);
	return false;
}

static void rtnl_event(struct loop_fd *f, uint32_t events)
{
	struct rused *r = container_of(f, struct rused, rtnl);
	bool again = false;
	char buf[32768];
	ssize_t n;

	while ((n = recv(f->fd, buf, sizeof(buf), MSG_DONTWAIT)) != -1 || errno == ENOBUFS) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
		int left = (int)n;

		again |= n < 0;
		for (; n > 0 && mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			again |= concerns(r, nlh);
	}
	if (again)
		refresh(r);
}

int devices_init(struct rused *r)
{
	struct sockaddr_nl sa = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd, rc;

	/* Listening first: what changes while we look comes as an event. */
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		rc = -errno;
		log_err("no rtnetlink: %s", strerror(-rc));
		if (fd >= 0)
			close(fd);
		return rc;
	}
	r->rtnl.fn = rtnl_event;
	rc = loop_add(&r->loop, &r->rtnl, fd, EPOLLIN);
	if (rc) {
		close(fd);
		return rc;
	}
	return discover(r);
}

void devices_fini(struct rused *r)
{
	loop_del(&r->loop, &r->rtnl);
}
