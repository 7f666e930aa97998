/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending: a segment becomes packets, packets of one size become a train.
 *
 * The kernel cuts a train (UDP_SEGMENT) into datagrams of one length, of which
 * only the last may be shorter. A message's first packet has longer headers
 * than its middle ones, and its last may be longer too, so a segment is at most
 * a few trains; one sendmmsg() takes them all.
 *
 * The ICRC covers the IPv4 id, which the kernel chooses: 0 on an unconnected
 * socket with DF, and 0, 1, 2 ... within a train (design 2.4, item 21).
 */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include "base/log.h"
#include "link/udp_int.h"
#include "wire/be.h"

#define TRAIN_BYTES 65507u	/* what one datagram over IPv4 may have, cut or not */
#define TRAIN_PKTS 64u
#define CNP_NS (50 * NS_US)
#define TTL_DEFAULT 64

struct train {
	uint32_t off, len, size, n;	/* n packets of size bytes, the last perhaps shorter */
};

/* What the kernel is told beside the payload: source address and interface, TTL, TOS, train. */
struct tx_ctl {
	union {
		struct cmsghdr align;
		uint8_t buf[CMSG_SPACE(sizeof(struct in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int)) +
			    CMSG_SPACE(sizeof(uint16_t))];
	};
	size_t len;
};

static void ctl_add(struct tx_ctl *c, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *h = (struct cmsghdr *)(c->buf + c->len);

	memset(h, 0, CMSG_SPACE(len));
	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(h), data, len);
	c->len += CMSG_SPACE(len);
}

static void ctl_build(struct tx_ctl *c, const struct seg_net *net, uint32_t ifindex, bool v4)
{
	struct in6_pktinfo p6 = { .ipi6_ifindex = ifindex };
	struct in_pktinfo p4 = { .ipi_ifindex = (int)ifindex };
	int ttl = net->hop_limit, tos = net->traffic_class;

	c->len = 0;
	if (v4) {
		memcpy(&p4.ipi_spec_dst, net->sgid + 12, 4);
		ctl_add(c, IPPROTO_IP, IP_PKTINFO, &p4, sizeof(p4));
		ctl_add(c, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
		ctl_add(c, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	} else {
		memcpy(&p6.ipi6_addr, net->sgid, 16);
		ctl_add(c, IPPROTO_IPV6, IPV6_PKTINFO, &p6, sizeof(p6));
		ctl_add(c, IPPROTO_IPV6, IPV6_HOPLIMIT, &ttl, sizeof(ttl));
		ctl_add(c, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
	}
}

static void tx_event(struct link_fd *fd, uint32_t events)
{
	struct udp_tx *tx = (struct udp_tx *)fd;
	struct epoll_event ev = { .events = 0, .data.ptr = &tx->ev };

	if (!tx->full || !(events & (EPOLLOUT | EPOLLERR)))
		return;
	tx->full = false;
	sys_call(SYS_epoll_ctl, tx->ep->cfg.epfd, EPOLL_CTL_MOD, tx->fd, &ev);
	tx->ep->cfg.host->writable(&tx->ep->in);
}

static void tx_full(struct udp_tx *tx)
{
	struct epoll_event ev = { .events = EPOLLOUT, .data.ptr = &tx->ev };

	tx->full = true;
	sys_call(SYS_epoll_ctl, tx->ep->cfg.epfd, EPOLL_CTL_MOD, tx->fd, &ev);
}

/* Bound to a port of its own, with fragmentation forbidden. Port in host order, or -errno. */
static int tx_socket(bool v4, uint16_t *port)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr *sa = v4 ? (void *)&a4 : (void *)&a6;
	socklen_t len = v4 ? sizeof(a4) : sizeof(a6);
	int fd, ret;

	fd = sys_socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ret = v4 ? udp_setopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) :
		   udp_setopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	if (!ret && !v4)
		ret = udp_setopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (!ret)
		ret = sys_bind(fd, sa, len);
	if (!ret)
		ret = (int)sys_call(SYS_getsockname, fd, sa, &len);
	if (ret) {
		sys_close(fd);
		return ret;
	}
	/* The program's datagrams wait in the peer's buffer, not in ours: a train or two is enough. */
	*port = get_be16(v4 ? &a4.sin_port : &a6.sin6_port);
	return fd;
}

struct udp_tx *udp_tx_get(struct udp_ep *ep, uint32_t block, bool v4)
{
	struct epoll_event ev = { 0 };
	struct udp_tx *tx;

	list_for_each_entry(tx, &ep->tx, entry)
		if (tx->block == block && tx->v4 == v4) {
			tx->refs++;
			return tx;
		}
	tx = calloc(1, sizeof(*tx));
	if (!tx)
		return NULL;
	tx->fd = tx_socket(v4, &tx->port);
	if (tx->fd >= 0 && ep->cfg.own_fd)
		tx->fd = ep->cfg.own_fd(tx->fd);
	if (tx->fd < 0) {
		log_warn("udp: no socket to send from: %s", strerrordesc_np(-tx->fd));
		free(tx);
		return NULL;
	}
	tx->ev.event = tx_event;
	tx->ep = ep;
	tx->block = block;
	tx->v4 = v4;
	tx->refs = 1;
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
	free(tx);
}

static struct udp_tx *link_tx(struct udp_link *ul, bool v4)
{
	struct udp_tx **tx = v4 ? &ul->tx4 : &ul->tx6;

	if (unlikely(!*tx))
		*tx = udp_tx_get(ul->ep, ul->path.block, v4);
	return *tx;
}

/* Packets that go in one train with what is there: same size, until one is shorter. */
static bool train_takes(const struct train *t, uint32_t size, bool gso)
{
	return gso && t->n < TRAIN_PKTS && t->len == t->n * t->size && size <= t->size &&
	       t->len + size <= TRAIN_BYTES;
}

/* Writes the packets of the segment and their ICRCs. Number of trains, or as link_ops.send. */
static int build(struct udp_ep *ep, const struct seg *seg, const struct seg_net *net,
		 uint16_t sport, struct train *trains, bool gso)
{
	uint32_t count = packet_count(seg), off = 0;
	uint8_t hdr[IPUDP_MAX];
	int n = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = ep->txbuf + off;
		int len = packet_build(seg, i, p, UDP_TX_BUF - off - ICRC_LEN, ep->cfg.host->copy);
		struct train *t = &trains[n ? n - 1 : 0];
		uint32_t size;
		size_t iplen;

		if (unlikely(len < 0))
			return len == -EFAULT ? len : -EINVAL;
		size = (uint32_t)len + ICRC_LEN;
		if (!n || !train_takes(t, size, gso)) {
			t = &trains[n++];
			*t = (struct train){ .off = off, .size = size };
		}
		iplen = ipudp_put(hdr, net, sport, ep->port, size, (uint16_t)t->n, IPUDP_DF);
		icrc_put(p + len, ipudp_icrc(hdr, iplen, p, (size_t)len));
		if (unlikely(seg->damage))
			p[len - 1] ^= 1;
		t->n++;
		t->len += size;
		off += size;
	}
	return n;
}

/* The socket has refused: 0 lost, -EAGAIN, or -EINVAL: not as a train. */
static int refused(struct udp_tx *tx, int err, bool gso)
{
	static bool told;

	switch (-err) {
	case EAGAIN:
	case ENOBUFS:
		tx_full(tx);
		return -EAGAIN;
	case EINVAL:
	case EIO:
	case EOPNOTSUPP:
	case ENOPROTOOPT:
		if (gso)
			return -EINVAL;
		break;
	case EMSGSIZE:
		if (!told)
			log_err("udp: a packet is longer than the interface's MTU allows; use a smaller "
				"path MTU (ibv_rc_pingpong -m, perftest -m), or raise the interface's");
		told = true;
		break;
	}
	if (!tx->ep->stats->lost_tx++)
		log_warn("udp: a packet is lost: %s; ruse status counts them",
			 strerrordesc_np(-err));
	return 0;
}

/* Hands the trains over. 0; -EAGAIN; -EINVAL: the kernel cannot cut them. */
static int transmit(struct udp_link *ul, struct udp_tx *tx, const struct seg_net *net,
		    const struct train *trains, int n)
{
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = be16_of(tx->ep->port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = be16_of(tx->ep->port) };
	struct mmsghdr msg[UDP_MAX_PKTS];
	struct iovec iov[UDP_MAX_PKTS];
	struct tx_ctl plain, cut[4];
	int ncut = 0, done = 0;
	bool gso = false;

	memcpy(&to4.sin_addr, net->dgid + 12, 4);
	memcpy(&to6.sin6_addr, net->dgid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&to6.sin6_addr) || net->dgid[0] == 0xff)
		to6.sin6_scope_id = ul->path.ifindex;
	ctl_build(&plain, net, ul->path.ifindex, tx->v4);
	for (int i = 0; i < n; i++) {
		struct tx_ctl *c = &plain;

		iov[i] = (struct iovec){ tx->ep->txbuf + trains[i].off, trains[i].len };
		if (trains[i].n > 1) {
			uint16_t size = (uint16_t)trains[i].size;

			if (ncut == ARRAY_SIZE(cut))
				return -EINVAL;
			c = &cut[ncut++];
			*c = plain;
			ctl_add(c, SOL_UDP, UDP_SEGMENT, &size, sizeof(size));
			gso = true;
		}
		msg[i].msg_hdr = (struct msghdr){
			.msg_name = tx->v4 ? (void *)&to4 : (void *)&to6,
			.msg_namelen = tx->v4 ? sizeof(to4) : sizeof(to6),
			.msg_iov = &iov[i], .msg_iovlen = 1,
			.msg_control = c->buf, .msg_controllen = c->len,
		};
	}
	while (done < n) {
		int r = (int)sys_call(SYS_sendmmsg, tx->fd, msg + done, n - done,
				      MSG_DONTWAIT | MSG_NOSIGNAL);

		if (likely(r > 0)) {
			done += r;
			continue;
		}
		r = refused(tx, r, gso);
		if (r)
			return r;
		done++;
	}
	return 0;
}

/* What a unicast route would say where the address does not (kernel: ib_resolve_eth_dmac() sets the route's). */
static void net_complete(struct seg_net *net)
{
	bool group = net->dgid[0] == 0xff || (net_is_v4(net) && (net->dgid[12] & 0xf0) == 0xe0);

	if (net->hop_limit <= 1 && !group)
		net->hop_limit = TTL_DEFAULT;
}

static int send_as(struct udp_link *ul, struct udp_tx *tx, const struct seg *seg,
		   const struct seg_net *net, bool gso)
{
	struct train trains[UDP_MAX_PKTS];
	int n = build(ul->ep, seg, net, tx->port, trains, gso);

	return n < 0 ? n : transmit(ul, tx, net, trains, n);
}

int udp_send(struct link *l, const struct seg *seg)
{
	struct udp_link *ul = container_of(l, struct udp_link, l);
	struct udp_ep *ep = ul->ep;
	struct seg_net net = seg->net ? *seg->net : ul->path.net;
	struct udp_tx *tx = link_tx(ul, net_is_v4(&net));
	int ret;

	if (BUG_ON(seg->len > UDP_MAX_SEG || packet_count(seg) > UDP_MAX_PKTS))
		return -EFAULT;
	if (unlikely(!tx)) {
		ep->stats->lost_tx++;
		return 0;
	}
	if (unlikely(tx->full))
		return -EAGAIN;
	net_complete(&net);
	ret = send_as(ul, tx, seg, &net, !ep->no_gso);
	if (unlikely(ret == -EINVAL && !ep->no_gso && packet_count(seg) > 1)) {
		ret = send_as(ul, tx, seg, &net, false);
		if (!ret && !ep->no_gso) {
			log_info("udp: packets go out one by one: the machine cannot cut them");
			ep->no_gso = true;
		}
	}
	if (unlikely(ret))
		return ret;
	l->tx_segs++;
	l->tx_bytes += seg->len;
	ep->stats->tx_packets += packet_count(seg);
	ep->stats->tx_bytes += seg->len;
	return 0;
}

void udp_cnp(struct link *l, uint16_t pkey, uint32_t dqpn, ns_t now)
{
	struct udp_link *ul = container_of(l, struct udp_link, l);
	struct seg_net net = ul->path.net;
	struct udp_tx *tx = link_tx(ul, net_is_v4(&net));
	struct train t = { .len = CNP_LEN + ICRC_LEN, .size = CNP_LEN + ICRC_LEN, .n = 1 };
	uint8_t hdr[IPUDP_MAX];
	size_t iplen;

	if (!tx || now < ul->cnp_at + CNP_NS)
		return;
	ul->cnp_at = now;
	net_complete(&net);
	cnp_put(ul->ep->txbuf, pkey, dqpn);
	iplen = ipudp_put(hdr, &net, tx->port, ul->ep->port, t.len, 0, IPUDP_DF);
	icrc_put(ul->ep->txbuf + CNP_LEN, ipudp_icrc(hdr, iplen, ul->ep->txbuf, CNP_LEN));
	if (!transmit(ul, tx, &net, &t, 1))
		ul->ep->stats->cnp_sent++;
}
