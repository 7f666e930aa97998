/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sending sockets. They are unconnected: on a connected socket the kernel would count up the
 * IPv4 id, which the ICRC covers. They are bound to the source address of a link and have its
 * interface, hop limit and traffic class as options, so that sendmsg() needs no control messages
 * for these.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include "base/log.h"
#include "base/pool.h"
#include "link/udp_int.h"
#include "wire/be.h"

static void udp_tx_event(struct link_fd *fd, uint32_t events)
{
	struct udp_tx *tx = (struct udp_tx *)fd;
	struct epoll_event ev = { .events = 0, .data.ptr = &tx->ev };

	if (!tx->full || !(events & (EPOLLOUT | EPOLLERR)))
		return;
	tx->full = tx->stuck = false;
	sys_call(SYS_epoll_ctl, tx->ep->cfg.epfd, EPOLL_CTL_MOD, tx->fd, &ev);
	udp_flush(tx->ep);
	tx->ep->cfg.host->writable(&tx->ep->in);
}

bool udp_tx_wait(struct udp_tx *tx, ns_t ns)
{
	const struct udp_cfg *cfg = &tx->ep->cfg;

	if (!tx->full)
		return true;
	if (!cfg->wait_writable || tx->stuck)
		return false;
	if (cfg->wait_writable(tx->fd, ns))
		udp_tx_event(&tx->ev, EPOLLOUT);
	tx->stuck = tx->full;
	return !tx->full;
}

void udp_tx_full(struct udp_tx *tx)
{
	struct epoll_event ev = { .events = EPOLLOUT, .data.ptr = &tx->ev };

	tx->full = true;
	sys_call(SYS_epoll_ctl, tx->ep->cfg.epfd, EPOLL_CTL_MOD, tx->fd, &ev);
}

/*
 * Forbid fragmentation, allow broadcast (as kernel rxe, whose address vectors take 255.255.255.255); set interface, hop
 * limit and traffic class if they are known. 0 or -errno.
 */
static int udp_tx_options(const struct udp_tx *tx, int fd)
{
	int oif = (int)be32_of(tx->ifindex), ttl = tx->net.hop_limit, tos = tx->net.traffic_class;
	int ret;

	if (tx->v4)
		ret = udp_setopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	else
		ret = udp_setopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	if (!ret)
		ret = tx->v4 ? udp_setopt(fd, SOL_SOCKET, SO_BROADCAST, 1) :
			       udp_setopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (ret || !tx->net.hop_limit)
		return ret;
	if (tx->v4) {
		ret = udp_setopt(fd, IPPROTO_IP, IP_UNICAST_IF, oif);
		ret = ret ? ret : udp_setopt(fd, IPPROTO_IP, IP_TTL, ttl);
		return ret ? ret : udp_setopt(fd, IPPROTO_IP, IP_TOS, tos);
	}
	ret = udp_setopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, oif);
	ret = ret ? ret : udp_setopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl);
	return ret ? ret : udp_setopt(fd, IPPROTO_IPV6, IPV6_TCLASS, tos);
}

/* Open the socket for sending and bind it to a UDP source port of its own. 0 or -errno. */
static int udp_tx_open(struct udp_tx *tx)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr *sa = tx->v4 ? (void *)&a4 : (void *)&a6;
	socklen_t len = tx->v4 ? sizeof(a4) : sizeof(a6);
	int fd, ret;

	memcpy(&a4.sin_addr, tx->net.sgid + 12, 4);
	memcpy(&a6.sin6_addr, tx->net.sgid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&a6.sin6_addr))
		a6.sin6_scope_id = tx->ifindex;
	fd = sys_socket(tx->v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ret = udp_tx_options(tx, fd);
	if (!ret)
		ret = sys_bind(fd, sa, len);
	if (!ret)
		ret = (int)sys_call(SYS_getsockname, fd, sa, &len);
	if (ret) {
		sys_close(fd);
		return ret;
	}
	tx->fd = tx->ep->cfg.own_fd ? tx->ep->cfg.own_fd(fd) : fd;
	tx->port = get_be16(tx->v4 ? &a4.sin_port : &a6.sin6_port);
	return tx->fd < 0 ? tx->fd : 0;
}

static void udp_tx_init(struct udp_tx *tx, struct udp_ep *ep, const struct udp_path *path,
			const struct seg_net *net, bool v4)
{
	*tx = (struct udp_tx){ .ev.event = udp_tx_event, .ep = ep, .block = path->block, .v4 = v4,
			       .refs = 1 };
	if (!net)
		return;
	tx->ifindex = path->ifindex;
	memcpy(tx->net.sgid, net->sgid, 16);
	tx->net.hop_limit = net->hop_limit;
	tx->net.traffic_class = net->traffic_class;
}

struct udp_tx *udp_tx_get(struct udp_ep *ep, const struct udp_path *path,
			  const struct seg_net *net, bool v4)
{
	struct epoll_event ev = { 0 };
	struct udp_tx *tx, want;
	int ret;

	udp_tx_init(&want, ep, path, net, v4);
	list_for_each_entry(tx, &ep->tx, entry)
		if (tx->block == want.block && tx->v4 == v4 && tx->ifindex == want.ifindex &&
		    !memcmp(&tx->net, &want.net, sizeof(want.net))) {
			tx->refs++;
			return tx;
		}
	tx = pool_zalloc(sizeof(*tx));
	if (!tx)
		return NULL;
	*tx = want;
	ret = udp_tx_open(tx);
	if (ret && net) {
		/*
		 * The source address may be missing now and be added to the interface later: open a
		 * socket that is not bound to an address.
		 */
		udp_tx_init(tx, ep, path, NULL, v4);
		ret = udp_tx_open(tx);
	}
	if (ret) {
		log_warn("udp: cannot create the send socket: %s", strerrordesc_np(-ret));
		pool_free(tx, sizeof(*tx));
		return NULL;
	}
	ev.data.ptr = &tx->ev;
	sys_call(SYS_epoll_ctl, ep->cfg.epfd, EPOLL_CTL_ADD, tx->fd, &ev);
	list_add_tail(&tx->entry, &ep->tx);
	return tx;
}

void udp_tx_put(struct udp_tx *tx)
{
	if (!tx || --tx->refs)
		return;
	list_del(&tx->entry);
	tx->ep->cfg.own_close ? tx->ep->cfg.own_close(tx->fd) : (void)sys_close(tx->fd);
	pool_free(tx, sizeof(*tx));
}
