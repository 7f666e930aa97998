/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces, addresses and the default route, read with rtnetlink dumps. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <net/if.h>	/* before linux/if.h, which then omits duplicates */
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hostnet/netdev.h"

bool netdev_route_default(const struct nlmsghdr *nlh)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);

	return mnl_nlmsg_get_payload_len(nlh) >= sizeof(*rt) && !rt->rtm_dst_len &&
	       rt->rtm_type == RTN_UNICAST && rt->rtm_table == RT_TABLE_MAIN;
}

/* Sends a dump request and calls cb for each message. 0 or -errno. */
static int netdev_dump(uint16_t type, uint8_t family, mnl_cb_t cb, void *s)
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
	/*
	 * RTM_GETLINK, RTM_GETADDR and RTM_GETROUTE have headers of different length, each with the
	 * family in its first byte. Send the longest, ifinfomsg, for all of them, with only the
	 * family set.
	 */
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

/* The default route of lowest metric. */
struct netdev_route {
	uint32_t oif, metric;	/* oif 0: none */
};

static int netdev_route_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;
	uint32_t metric = 0, oif = 0;
	struct netdev_route *best = arg;

	if (!netdev_route_default(nlh))
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(a) == RTA_OIF && !mnl_attr_validate(a, MNL_TYPE_U32))
			oif = mnl_attr_get_u32(a);
		if (mnl_attr_get_type(a) == RTA_PRIORITY && !mnl_attr_validate(a, MNL_TYPE_U32))
			metric = mnl_attr_get_u32(a);
		if (mnl_attr_get_type(a) == RTA_MULTIPATH && !oif &&
		    mnl_attr_get_payload_len(a) >= sizeof(struct rtnexthop))
			oif = (uint32_t)((struct rtnexthop *)mnl_attr_get_payload(a))->rtnh_ifindex;
	}
	if (oif && (!best->oif || metric < best->metric)) {
		best->oif = oif;
		best->metric = metric;
	}
	return MNL_CB_OK;
}

static int netdev_link_cb(const struct nlmsghdr *nlh, void *arg)
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

static int netdev_addr_cb(const struct nlmsghdr *nlh, void *arg)
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
	addr = local ? local : addr;	/* on point-to-point links IFA_ADDRESS is the peer */
	if (!addr)
		return MNL_CB_OK;
	if (ifa->ifa_family == AF_INET && s->n4 < MAX_ADDRS)
		s->v4[s->n4++] = hostnet_gid_from_ipv4(addr);
	else if (ifa->ifa_family == AF_INET6 && s->n6 < MAX_ADDRS)
		memcpy(s->v6[s->n6++].b, addr, 16);
	return MNL_CB_OK;
}

uint32_t netdev_speed(const char *name)
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

int netdev_read(struct scan *s)
{
	int rc = netdev_dump(RTM_GETLINK, AF_UNSPEC, netdev_link_cb, s);

	if (!rc && s->found)
		rc = netdev_dump(RTM_GETADDR, AF_INET, netdev_addr_cb, s);
	if (!rc && s->found)
		rc = netdev_dump(RTM_GETADDR, AF_INET6, netdev_addr_cb, s);
	return rc;
}

/*
 * True for a kind of interface (IFLA_INFO_KIND) that leads to a network like a physical one. Physical
 * interfaces have no kind. Others are bridges, tunnels, and interfaces without a wire.
 */
static bool netdev_kind_is_wire(const char *kind)
{
	static const char *const wires[] = { "", "veth", "bond", "team", "vlan", "macvlan", "ipvlan" };

	for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
		if (!strcmp(kind, wires[i]))
			return true;
	return false;
}

static int netdev_kind_cb(const struct nlattr *a, void *arg)
{
	const char **kind = arg;

	if (mnl_attr_get_type(a) == IFLA_INFO_KIND && !mnl_attr_validate(a, MNL_TYPE_NUL_STRING))
		*kind = mnl_attr_get_str(a);
	return MNL_CB_OK;
}

static int netdev_all_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct choice_if one = { 0 }, *more;
	struct choice_net *net = arg;
	const struct nlattr *a;
	const char *kind = "";

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifi))
		return MNL_CB_OK;
	one.ifindex = (uint32_t)ifi->ifi_index;
	one.up = ifi->ifi_flags & IFF_UP;
	one.carrier = ifi->ifi_flags & IFF_LOWER_UP;
	one.loopback = ifi->ifi_type == ARPHRD_LOOPBACK;
	mnl_attr_for_each(a, nlh, sizeof(*ifi)) {
		if (mnl_attr_get_type(a) == IFLA_IFNAME &&
		    !mnl_attr_validate(a, MNL_TYPE_NUL_STRING))
			snprintf(one.name, sizeof(one.name), "%s", mnl_attr_get_str(a));
		if (mnl_attr_get_type(a) == IFLA_LINKINFO)
			mnl_attr_parse_nested(a, netdev_kind_cb, &kind);
	}
	one.bridge = !netdev_kind_is_wire(kind);
	more = realloc(net->ifs, (net->n + 1) * sizeof(*more));
	if (!more) {
		errno = ENOMEM;
		return MNL_CB_ERROR;
	}
	net->ifs = more;
	net->ifs[net->n++] = one;
	return MNL_CB_OK;
}

/* Notes that an interface has an address. A link-local one does not count: every interface has it. */
static int netdev_has_addr_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(nlh);
	struct choice_net *net = arg;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ifa) ||
	    (ifa->ifa_family == AF_INET6 && ifa->ifa_scope == RT_SCOPE_LINK))
		return MNL_CB_OK;
	for (uint32_t i = 0; i < net->n; i++)
		if (net->ifs[i].ifindex == ifa->ifa_index)
			net->ifs[i].addr = true;
	return MNL_CB_OK;
}

int netdev_read_all(struct choice_net *net)
{
	struct netdev_route r4 = { 0 }, r6 = { 0 };
	int rc;

	*net = (struct choice_net){ 0 };
	rc = netdev_dump(RTM_GETLINK, AF_UNSPEC, netdev_all_cb, net);
	if (!rc)
		rc = netdev_dump(RTM_GETADDR, AF_INET, netdev_has_addr_cb, net);
	if (!rc) {
		/* These may fail: a kernel may have no IPv6. */
		netdev_dump(RTM_GETADDR, AF_INET6, netdev_has_addr_cb, net);
		netdev_dump(RTM_GETROUTE, AF_INET, netdev_route_cb, &r4);
		netdev_dump(RTM_GETROUTE, AF_INET6, netdev_route_cb, &r6);
	}
	net->route4 = r4.oif;
	net->route6 = r6.oif;
	return rc;
}
