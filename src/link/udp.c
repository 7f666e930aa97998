/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The endpoint of the udp link: its receiving sockets, its links and its multicast groups. Sending
 * sockets are in udp_sock.c, the data paths in udp_tx.c and udp_rx.c.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/epoll.h>
#include "base/log.h"
#include "base/pool.h"
#include "link/udp_int.h"
#include "wire/be.h"

#define RCVBUF (8 << 20)	/* without privilege limited by net.core.rmem_max */

static void udp_rx_event(struct link_fd *fd, uint32_t events)
{
	struct udp_ep *ep = container_of(fd, struct udp_rx, ev)->ep;

	if (ep->cfg.readable)
		ep->cfg.readable(ep);
}

/* Set the receive buffer, GRO, and the ancillary data that the ICRC and a GRH need. */
static int udp_socket_receives(int fd, bool v4)
{
	if (udp_setopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF))
		udp_setopt(fd, SOL_SOCKET, SO_RCVBUF, RCVBUF);
	udp_setopt(fd, SOL_UDP, UDP_GRO, 1);
	/*
	 * The kernel's rxe sends no UDP checksum, not even over IPv6 (A17.4.5.1: the ICRC
	 * suffices).
	 */
	udp_setopt(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);
	if (udp_setopt(fd, IPPROTO_IP, IP_RECVTOS, 1) || udp_setopt(fd, IPPROTO_IP, IP_RECVTTL, 1))
		return -EOPNOTSUPP;
	if (v4)
		return udp_setopt(fd, IPPROTO_IP, IP_PKTINFO, 1);
	if (udp_setopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) ||
	    udp_setopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) ||
	    udp_setopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1))
		return -EOPNOTSUPP;
	return 0;
}

static int udp_watch(const struct udp_ep *ep, struct udp_rx *rx, int op)
{
	struct epoll_event ev = { .events = ep->watched ? EPOLLIN : 0, .data.ptr = &rx->ev };

	return (int)sys_call(SYS_epoll_ctl, ep->cfg.epfd, op, rx->fd, &ev);
}

/* Takes ownership of fd, also on failure. NULL: failed. */
static struct udp_rx *udp_rx_add(struct udp_ep *ep, int fd)
{
	struct udp_rx *rx = pool_zalloc(sizeof(*rx));

	fd = rx && ep->cfg.own_fd ? ep->cfg.own_fd(fd) : fd;
	if (!rx || fd < 0)
		goto fail;
	rx->fd = fd;
	rx->ev.event = udp_rx_event;
	rx->ep = ep;
	if (udp_watch(ep, rx, EPOLL_CTL_ADD))
		goto fail;
	list_add_tail(&rx->entry, &ep->rx);
	return rx;
fail:
	if (fd >= 0)
		rx && ep->cfg.own_close ? ep->cfg.own_close(fd) : (void)sys_close(fd);
	pool_free(rx, sizeof(*rx));
	return NULL;
}

static void udp_rx_del(struct udp_ep *ep, struct udp_rx *rx)
{
	list_del(&rx->entry);
	ep->cfg.own_close ? ep->cfg.own_close(rx->fd) : (void)sys_close(rx->fd);
	pool_free(rx, sizeof(*rx));
}

int udp_ep_prepare_socket(int fd)
{
	int family = 0;
	socklen_t len = sizeof(family);

	if (sys_call(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0)
		return -ENOTSOCK;
	return udp_socket_receives(fd, family == AF_INET);
}

int udp_ep_add_socket(struct udp_ep *ep, int fd)
{
	return udp_rx_add(ep, fd) ? 0 : -ENOMEM;
}

static int udp_in_send(struct link *l, const struct seg *seg)
{
	return 0;	/* the link on which packets arrive has no peer */
}

static void udp_in_revoke(struct link *l, uint32_t sqpn)
{
}

static void udp_in_destroy(struct link *l)
{
}

static const struct link_ops in_ops = {
	.name = "udp",
	.send = udp_in_send,
	.revoke = udp_in_revoke,
	.destroy = udp_in_destroy,
};

int udp_ep_create(const struct udp_cfg *cfg, struct udp_ep **out)
{
	struct udp_ep *ep = pool_zalloc(sizeof(*ep));
	int ret;

	if (!ep)
		return -ENOMEM;
	ep->cfg = *cfg;
	ep->stats = cfg->stats ? cfg->stats : &ep->own_stats;
	ep->port = cfg->port ? cfg->port : ROCE_PORT;
	ep->watched = true;
	list_init(&ep->links);
	list_init(&ep->rx);
	list_init(&ep->tx);
	ep->in = (struct link){ .ops = &in_ops, .host = cfg->host, .host_arg = cfg->host_arg,
				.kind = LINK_UDP_IN, .refs = 1 };
	ret = udp_rxbuf_create(ep);
	if (ret) {
		pool_free(ep, sizeof(*ep));
		return ret;
	}
	*out = ep;
	return 0;
}

struct link *udp_in(struct udp_ep *ep)
{
	return &ep->in;
}

static void udp_destroy(struct link *l)
{
	struct udp_link *ul = container_of(l, struct udp_link, l);

	udp_settle_link(ul);
	udp_unheld(ul);
	list_del(&ul->entry);
	ul->ep->nlinks--;
	udp_tx_put(ul->tx4);
	udp_tx_put(ul->tx6);
	pool_free(ul, sizeof(*ul));
}

static const struct link_ops udp_ops = {
	.name = "udp",
	.send = udp_send,
	.revoke = udp_in_revoke,
	.wait_room = udp_wait_room,
	.destroy = udp_destroy,
};

int udp_link(struct udp_ep *ep, const struct udp_path *path, struct link **l)
{
	struct udp_link *ul;

	list_for_each_entry(ul, &ep->links, entry)
		if (!memcmp(&ul->path, path, sizeof(*path))) {
			link_get(&ul->l);
			*l = &ul->l;
			return 0;
		}
	ul = pool_zalloc(sizeof(*ul));
	if (!ul)
		return -ENOMEM;
	ul->ep = ep;
	ul->path = *path;
	ul->l = (struct link){
		.ops = &udp_ops, .host = ep->cfg.host, .host_arg = ep->cfg.host_arg,
		.max_seg = UDP_MAX_SEG, .max_copy_seg = UDP_MAX_SEG, .max_pkts = UDP_MAX_PKTS,
		.kind = LINK_UDP, .lossy = true, .refs = 1,
	};
	list_add_tail(&ul->entry, &ep->links);
	ep->nlinks++;
	if (ul->l.host->created)
		ul->l.host->created(&ul->l);
	*l = &ul->l;
	return 0;
}

const struct udp_path *udp_link_path(const struct link *l)
{
	return l && l->kind == LINK_UDP ? &container_of(l, struct udp_link, l)->path : NULL;
}

int udp_route(const struct udp_path *path)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = be16_of(ROCE_PORT),
				   .sin6_scope_id = path->ifindex };
	struct sockaddr_in6 from = { .sin6_family = AF_INET6 };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = be16_of(ROCE_PORT) };
	struct sockaddr_in from4 = { .sin_family = AF_INET };
	bool v4 = net_is_v4(&path->net);
	int fd, ret;

	fd = sys_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	if (v4)
		udp_setopt(fd, SOL_SOCKET, SO_BROADCAST, 1); /* the kernel lets an address vector broadcast */
	else
		udp_setopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	memcpy(&from.sin6_addr, path->net.sgid, 16);
	memcpy(&from4.sin_addr, path->net.sgid + 12, 4);
	memcpy(&to.sin6_addr, path->net.dgid, 16);
	memcpy(&to4.sin_addr, path->net.dgid + 12, 4);
	/*
	 * Rules (ip-rule(8)) may choose by the source. An address that has just gone leaves the choice to the destination, as
	 * does a link-local one, to which bind() would add the interface.
	 */
	if (v4)
		sys_bind(fd, (void *)&from4, sizeof(from4));
	else if (!IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr))
		sys_bind(fd, (void *)&from, sizeof(from));
	ret = v4 ? sys_connect(fd, (void *)&to4, sizeof(to4)) :
		   sys_connect(fd, (void *)&to, sizeof(to));
	sys_close(fd);
	return ret;
}

static int udp_join_group(const struct udp_ep *ep, int fd, const uint8_t mgid[16], uint32_t ifindex,
			  bool v4)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = be16_of(ep->port),
				   .sin6_scope_id = ifindex };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = be16_of(ep->port) };
	struct ipv6_mreq m6 = { .ipv6mr_interface = ifindex };
	struct ip_mreqn m4 = { .imr_ifindex = (int)ifindex };
	int ret;

	memcpy(&m6.ipv6mr_multiaddr, mgid, 16);
	memcpy(&to.sin6_addr, mgid, 16);
	memcpy(&m4.imr_multiaddr, mgid + 12, 4);
	memcpy(&to4.sin_addr, mgid + 12, 4);
	/*
	 * SO_REUSEPORT lets several sockets bind UDP port 4791. This socket, which is bound to the
	 * multicast address, does not join the SO_REUSEPORT group of the unicast sockets.
	 */
	udp_setopt(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	ret = v4 ? sys_bind(fd, (void *)&to4, sizeof(to4)) : sys_bind(fd, (void *)&to, sizeof(to));
	if (ret)
		return ret;
	udp_setopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	if (v4)
		return (int)sys_call(SYS_setsockopt, fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4,
				     sizeof(m4));
	return (int)sys_call(SYS_setsockopt, fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m6,
			     sizeof(m6));
}

static struct udp_rx *udp_join_find(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex)
{
	struct udp_rx *rx;

	list_for_each_entry(rx, &ep->rx, entry)
		if (rx->ifindex == ifindex && !memcmp(rx->mgid, mgid, 16))
			return rx;
	return NULL;
}

int udp_join(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex)
{
	struct udp_rx *rx = udp_join_find(ep, mgid, ifindex);
	bool v4 = mgid[0] != 0xff;
	int fd, ret;

	if (rx) {
		rx->joins++;
		return 0;
	}
	fd = sys_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ret = udp_socket_receives(fd, v4);
	if (!ret)
		ret = udp_join_group(ep, fd, mgid, ifindex, v4);
	if (ret) {
		sys_close(fd);
		return ret;
	}
	rx = udp_rx_add(ep, fd);
	if (!rx)
		return -ENOMEM;
	memcpy(rx->mgid, mgid, 16);
	rx->ifindex = ifindex;
	rx->joins = 1;
	return 0;
}

void udp_leave(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex)
{
	struct udp_rx *rx = udp_join_find(ep, mgid, ifindex);

	if (rx && !--rx->joins)
		udp_rx_del(ep, rx);
}

int udp_poll(struct udp_ep *ep, int budget)
{
	struct udp_rx *rx;
	int n = 0;

	/*
	 * link_user_ops.input() may call udp_poll() again; the inner call returns at once. It may also
	 * add sockets at the end of the list.
	 */
	if (ep->polling)
		return 0;
	ep->polling = true;
	list_for_each_entry(rx, &ep->rx, entry)
		if (n < budget)
			n += udp_rx_read(ep, rx, budget - n);
	ep->polling = false;
	return n;
}

bool udp_busy(const struct udp_ep *ep)
{
	return ep->nlinks > 0;
}

void udp_want_wakeup(struct udp_ep *ep, bool want)
{
	struct udp_rx *rx;

	if (ep->watched == want)
		return;
	ep->watched = want;
	list_for_each_entry(rx, &ep->rx, entry)
		udp_watch(ep, rx, EPOLL_CTL_MOD);
}

void udp_for_each(struct udp_ep *ep, void (*fn)(struct link *l, void *arg), void *arg)
{
	struct udp_link *ul;

	list_for_each_entry(ul, &ep->links, entry)
		fn(&ul->l, arg);
}
