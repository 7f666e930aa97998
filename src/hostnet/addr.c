/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Address resolution for rdmacm: route, source address and neighbour, from the tables of rtnl.c.
 *
 * Route and source address are known at once. The neighbour is known at once only if the kernel's
 * neighbour table has a valid entry for it; rused needs no more than this entry. rused cannot send
 * ARP or ND requests itself, but the kernel sends them before it sends a datagram. So rused sends
 * an empty datagram to UDP port 4791 (RoCE) of the peer, which drops it. Then it reads the neighbour
 * table again, at intervals that double from LOOK_FIRST to LOOK_MOST, until the table has the
 * neighbour or the request's timeout has passed.
 *
 * Also here: the MTU of interfaces, the range of local TCP and UDP ports (rdma_cm uses the same range), and
 * memberships in IP multicast groups, each held by a socket of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "hostnet/hostnet.h"
#include "loop/loop.h"
#include "rdmacm/rdmacm.h"
#include "wire/be.h"
#include "wire/ipudp.h"

#define LOOK_FIRST NS_MS
#define LOOK_MOST (64 * NS_MS)
#define PROBE_AGAIN NS_S	/* repeat the datagram: the kernel gives up a neighbour after 3 s */

struct lookup {
	struct list_head node;
	struct hostnet *net;
	struct rdmacm_resolve *req;
	struct rtnl_route route;
	struct timer timer;
	ns_t deadline, wait, probed;
};

struct membership {
	struct list_head node;
	uint32_t ifindex, joins;
	uint8_t mgid[16];
	int fd;
};

void hostnet_addr_init(struct hostnet *net)
{
	rtnl_init(&net->rtnl);
	net->probe[0] = net->probe[1] = net->port_range = -1;
	list_init(&net->pending);
	list_init(&net->groups);
}

static void lookup_free(struct lookup *l)
{
	timer_cancel(&l->net->loop->timers, &l->timer);
	list_del(&l->node);
	free(l);
}

static void membership_free(struct membership *m)
{
	list_del(&m->node);
	close(m->fd);	/* closing the socket leaves its multicast group */
	free(m);
}

void hostnet_addr_fini(struct hostnet *net)
{
	struct membership *m, *tm;
	struct lookup *l, *tl;

	list_for_each_entry_safe(l, tl, &net->pending, node)
		lookup_free(l);
	list_for_each_entry_safe(m, tm, &net->groups, node)
		membership_free(m);
	for (int i = 0; i < 2; i++)
		if (net->probe[i] >= 0)
			close(net->probe[i]);
	if (net->port_range >= 0)
		close(net->port_range);
	rtnl_fini(&net->rtnl);
}

/* Updates the tables of rtnl.c from the kernel's notifications, at most once for each value of loop.moment (loop.h). */
static void hostnet_catch_up(struct hostnet *net)
{
	if (net->synced == net->loop->moment)
		return;
	net->synced = net->loop->moment;
	rtnl_sync(&net->rtnl, net->loop->now);
}

static uint32_t addr_netdev_mtu(void *ctx, uint32_t ifindex)
{
	struct hostnet *net = ctx;
	struct rtnl_link link;

	hostnet_catch_up(net);
	return rtnl_link(&net->rtnl, ifindex, &link) ? 0 : link.mtu;
}

static void addr_read_port_range(struct hostnet *net)
{
	unsigned int a, b;
	char text[32];
	ssize_t n;

	net->port_low = 32768;	/* the kernel's default, used if /proc is missing */
	net->port_high = 60999;
	if (net->port_range < 0)
		net->port_range = open("/proc/sys/net/ipv4/ip_local_port_range",
				       O_RDONLY | O_CLOEXEC);
	n = net->port_range < 0 ? 0 : pread(net->port_range, text, sizeof(text) - 1, 0);
	text[max(n, (ssize_t)0)] = 0;
	if (sscanf(text, "%u %u", &a, &b) == 2 && a && a <= b && b <= UINT16_MAX) {
		net->port_low = (uint16_t)a;
		net->port_high = (uint16_t)b;
	}
}

/*
 * Range of local port numbers for rdma_cm ids, from the sysctl ip_local_port_range. The kernel does not notify of changes
 * to it, so the file is read again for each new value of loop.moment (loop.h).
 */
void hostnet_port_range(void *ctx, uint16_t *low, uint16_t *high)
{
	struct hostnet *net = ctx;

	if (net->ranged != net->loop->moment) {
		net->ranged = net->loop->moment;
		addr_read_port_range(net);
	}
	*low = net->port_low;
	*high = net->port_high;
}

/*
 * The sysctl bindv6only: true if a bind of an IPv6 wildcard leaves IPv4 out. It is read at each such bind, and is false
 * if /proc is missing.
 */
bool hostnet_v6only(void *ctx)
{
	int fd = open("/proc/sys/net/ipv6/bindv6only", O_RDONLY | O_CLOEXEC);
	char digit = '0';

	(void)ctx;
	if (fd < 0)
		return false;
	if (read(fd, &digit, 1) != 1)
		digit = '0';
	close(fd);
	return digit != '0';
}

static int addr_translate(void *ctx, const struct sockaddr *addr, uint32_t bound_if,
			  uint32_t *ifindex)
{
	struct hostnet *net = ctx;
	struct rtnl_link link;
	struct rtnl_addr a;

	hostnet_catch_up(net);
	if (bound_if) {
		*ifindex = bound_if;
		return rtnl_link(&net->rtnl, bound_if, &link);
	}
	if (rtnl_addr_of(&a, addr))
		return -EADDRNOTAVAIL;
	return rtnl_owner(&net->rtnl, &a, ifindex);
}

/*
 * True if the destination needs no neighbour entry: a multicast, broadcast or local address, or an
 * interface without ARP.
 */
static bool addr_needs_no_neighbour(struct rtnl *rt, const struct rtnl_route *route)
{
	struct rtnl_link link;

	if (route->type != RTN_UNICAST)
		return true;
	return !rtnl_link(rt, route->oif, &link) &&
	       (link.flags & (IFF_NOARP | IFF_LOOPBACK | IFF_POINTOPOINT));
}

/* Makes the kernel resolve the neighbour. */
static void lookup_probe(struct lookup *l)
{
	struct rtnl_addr dst;
	struct sockaddr_storage to;
	int v6, *fd;

	if (rtnl_addr_of(&dst, (struct sockaddr *)&l->req->dst))
		return;
	rtnl_addr_to(&dst, l->route.oif, &to);
	v6 = dst.family == AF_INET6;
	if (v6)
		((struct sockaddr_in6 *)&to)->sin6_port = be16_of(ROCE_PORT);
	else
		((struct sockaddr_in *)&to)->sin_port = be16_of(ROCE_PORT);
	fd = &l->net->probe[v6];
	if (*fd < 0)
		*fd = socket(dst.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	l->probed = l->net->loop->now;
	/*
	 * Ignore errors: a socket may report the error of an earlier datagram. lookup_look() finds
	 * the result in the neighbour table.
	 */
	if (*fd >= 0 && sendto(*fd, "", 0, 0, (struct sockaddr *)&to,
			       v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) < 0)
		log_debug("cannot send a probe to a neighbour: %m");
}

static void lookup_answer(struct rdmacm_resolve *req, const struct rtnl_route *route,
			  uint32_t ifindex,
			  const struct rtnl_neigh *n)
{
	req->ans.has_mac = n->has_mac;
	memcpy(req->ans.mac, n->mac, sizeof(req->ans.mac));
	rtnl_addr_to(&route->src, ifindex, &req->ans.src);
	req->ans.ifindex = ifindex;
	req->ans.hop_limit = route->hop_limit;
}

static void lookup_look(struct timer *t, ns_t now)
{
	struct lookup *l = container_of(t, struct lookup, timer);
	struct rdmacm_resolve *req = l->req;
	struct hostnet *net = l->net;
	struct rtnl_neigh n;
	int rc;

	hostnet_catch_up(net);
	rc = rtnl_neigh(&net->rtnl, &l->route.next, l->route.oif, &n);
	if (rc == -ENODATA && now >= l->deadline)
		rc = -ETIMEDOUT;
	if (rc == -ENODATA) {
		if (now - l->probed >= PROBE_AGAIN)
			lookup_probe(l);
		l->wait = min(2 * l->wait, (ns_t)LOOK_MOST);
		rc = timer_set(&net->loop->timers, t, min(now + l->wait, l->deadline));
		if (!rc)
			return;
	}
	if (!rc)
		lookup_answer(req, &l->route, l->route.oif, &n);
	lookup_free(l);
	req->host = NULL;
	rdmacm_resolved(net->rdmacm, req, rc);
}

/* Starts resolution of an unknown neighbour. 0 or -errno. */
static int lookup_start(struct hostnet *net, struct rdmacm_resolve *req,
			const struct rtnl_route *route)
{
	struct lookup *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	l->net = net;
	l->req = req;
	l->route = *route;
	l->timer.fn = lookup_look;
	l->wait = LOOK_FIRST;
	l->deadline = net->loop->now + (ns_t)req->timeout_ms * NS_MS;
	list_add_tail(&l->node, &net->pending);
	if (req->timeout_ms)
		lookup_probe(l);
	rc = timer_set(&net->loop->timers, &l->timer, min(net->loop->now + l->wait, l->deadline));
	if (rc) {
		lookup_free(l);
		return rc;
	}
	req->host = l;
	return 0;
}

static int addr_resolve(void *ctx, struct rdmacm_resolve *req)
{
	struct hostnet *net = ctx;
	struct rtnl_addr dst, src;
	struct rtnl_route route;
	struct rtnl_neigh n = { 0 };
	uint32_t ifindex;
	int rc = rtnl_addr_of(&dst, (struct sockaddr *)&req->dst);

	req->host = NULL;
	hostnet_catch_up(net);
	/* If the request has no source address of a usable family, take the one that the route prefers. */
	if (!rc && rtnl_addr_of(&src, (struct sockaddr *)&req->src))
		src = (struct rtnl_addr){ .family = dst.family, .len = dst.len };
	if (!rc)
		rc = rtnl_route(&net->rtnl, &dst, &src, req->bound_if, &route);
	if (rc)
		return rc;
	ifindex = route.oif;
	if (route.type == RTN_LOCAL)
		rc = rtnl_owner(&net->rtnl, &dst, &ifindex);
	if (rc)
		return rc;
	if (!addr_needs_no_neighbour(&net->rtnl, &route)) {
		rc = rtnl_neigh(&net->rtnl, &route.next, route.oif, &n);
		if (rc == -ENODATA)
			return lookup_start(net, req, &route);
		if (rc)
			return rc;
	}
	lookup_answer(req, &route, ifindex, &n);
	rdmacm_resolved(net->rdmacm, req, 0);
	return 0;
}

static void addr_cancel(void *ctx, struct rdmacm_resolve *req)
{
	if (req->host)
		lookup_free(req->host);
	req->host = NULL;
}

static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };

/* Opens a socket that is a member of the IP multicast group mgid on this interface. fd or -errno. */
static int membership_join(uint32_t ifindex, const uint8_t mgid[16])
{
	struct ip_mreqn m4 = { .imr_ifindex = (int)ifindex };
	struct ipv6_mreq m6 = { .ipv6mr_interface = ifindex };
	bool v4 = !memcmp(mgid, v4_mapped, sizeof(v4_mapped));
	int fd, rc;

	fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	memcpy(&m4.imr_multiaddr, mgid + 12, 4);
	memcpy(&m6.ipv6mr_multiaddr, mgid, 16);
	rc = v4 ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4, sizeof(m4)) :
		  setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m6, sizeof(m6));
	if (!rc)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static struct membership *membership_find(struct hostnet *net, uint32_t ifindex,
					  const uint8_t mgid[16])
{
	struct membership *m;

	list_for_each_entry(m, &net->groups, node)
		if (m->ifindex == ifindex && !memcmp(m->mgid, mgid, sizeof(m->mgid)))
			return m;
	return NULL;
}

static int addr_mcast(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join)
{
	struct hostnet *net = ctx;
	struct membership *m = membership_find(net, ifindex, mgid);
	int fd;

	if (!join) {
		if (!BUG_ON(!m) && !--m->joins)
			membership_free(m);
		return 0;
	}
	if (m) {
		m->joins++;
		return 0;
	}
	fd = membership_join(ifindex, mgid);
	if (fd < 0)
		return fd;
	m = calloc(1, sizeof(*m));
	if (!m) {
		close(fd);
		return -ENOMEM;
	}
	*m = (struct membership){ .ifindex = ifindex, .joins = 1, .fd = fd };
	memcpy(m->mgid, mgid, sizeof(m->mgid));
	list_add_tail(&m->node, &net->groups);
	return 0;
}

static void addr_netdev_name(void *ctx, uint32_t ifindex, char name[16])
{
	if (!if_indextoname(ifindex, name))
		snprintf(name, 16, "%u", ifindex);
}

static ns_t addr_now(void *ctx)
{
	return ((struct hostnet *)ctx)->loop->now;
}

const struct rdmacm_ops hostnet_rdmacm_ops = {
	.now = addr_now,
	.translate = addr_translate,
	.resolve = addr_resolve,
	.cancel = addr_cancel,
	.netdev_mtu = addr_netdev_mtu,
	.netdev_name = addr_netdev_name,
	.mcast = addr_mcast,
	.port_range = hostnet_port_range,
	.v6only = hostnet_v6only,
};
