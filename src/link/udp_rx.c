/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receiving: split trains (packets that the kernel delivers as one buffer, UDP_GRO) into packets, and join
 * consecutive packets of a message into segments, which saves most of the transport's work.
 *
 * A packet is parsed only if its ICRC is right. The ICRC covers the IPv4 id, which a socket does
 * not show. Within a train of ruse the ids are known (0, 1, 2, ...). The ICRC of another sender is
 * accepted if there is an id that makes it right.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include "base/log.h"
#include "base/pool.h"
#include "link/udp_int.h"
#include "wire/be.h"
#include "wire/psn.h"

#define CTL_SIZE 256

/* What is known of a datagram besides its payload. */
struct meta {
	struct seg_net net;
	uint16_t sport, size;	/* size: bytes of each packet but the last; 0: a single packet */
	bool has_dst, v4;
};

struct udp_rxbuf {
	struct mmsghdr msg[UDP_RX_VLEN];
	struct iovec iov[UDP_RX_VLEN];
	struct sockaddr_in6 name[UDP_RX_VLEN];
	struct meta meta[UDP_RX_VLEN];
	union {
		struct cmsghdr align;
		uint8_t buf[CTL_SIZE];
	} ctl[UDP_RX_VLEN];
	uint8_t data[UDP_RX_VLEN][UDP_RX_BUF];
};

/* Restore what the kernel has changed in the message header. */
static void udp_rx_rearm(struct udp_rxbuf *b, int i)
{
	b->iov[i] = (struct iovec){ b->data[i], UDP_RX_BUF };
	b->msg[i].msg_hdr = (struct msghdr){
		.msg_name = &b->name[i], .msg_namelen = sizeof(b->name[i]),
		.msg_iov = &b->iov[i], .msg_iovlen = 1,
		.msg_control = b->ctl[i].buf, .msg_controllen = CTL_SIZE,
	};
}

int udp_rxbuf_create(struct udp_ep *ep)
{
	ep->rxbuf = pool_alloc(sizeof(*ep->rxbuf));
	ep->txbuf = pool_alloc(UDP_TX_BUF);
	if (!ep->rxbuf || !ep->txbuf) {
		udp_rxbuf_destroy(ep);
		return -ENOMEM;
	}
	for (int i = 0; i < UDP_RX_VLEN; i++)
		udp_rx_rearm(ep->rxbuf, i);
	return 0;
}

void udp_rxbuf_destroy(struct udp_ep *ep)
{
	pool_free(ep->rxbuf, sizeof(*ep->rxbuf));
	pool_free(ep->txbuf, UDP_TX_BUF);
	ep->rxbuf = NULL;
	ep->txbuf = NULL;
}

static void udp_map_v4(uint8_t gid[16], const void *addr)
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, addr, 4);
}

static int udp_cmsg_int(const struct cmsghdr *h)
{
	int v = 0;

	memcpy(&v, CMSG_DATA(h), min((size_t)h->cmsg_len - CMSG_LEN(0), sizeof(v)));
	return v;
}

static void udp_meta_cmsg(struct meta *m, const struct cmsghdr *h)
{
	if (h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo p;

		memcpy(&p, CMSG_DATA(h), sizeof(p));
		memcpy(m->net.dgid, &p.ipi6_addr, 16);
		m->has_dst = true;
	} else if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo p;

		memcpy(&p, CMSG_DATA(h), sizeof(p));
		udp_map_v4(m->net.dgid, &p.ipi_addr);
		m->has_dst = true;
	} else if ((h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_TCLASS) ||
		   (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_TOS)) {
		m->net.traffic_class = (uint8_t)udp_cmsg_int(h);
	} else if ((h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_HOPLIMIT) ||
		   (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_TTL)) {
		m->net.hop_limit = (uint8_t)udp_cmsg_int(h);
	} else if (h->cmsg_level == SOL_UDP && h->cmsg_type == UDP_GRO) {
		m->size = (uint16_t)udp_cmsg_int(h);
	}
}

/* False: an address is missing, or the datagram was truncated. */
static bool udp_meta_read(struct meta *m, struct msghdr *h)
{
	const struct sockaddr_in6 *from = h->msg_name;
	struct sockaddr_in from4;

	memset(m, 0, sizeof(*m));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
		udp_meta_cmsg(m, c);
	if (from->sin6_family == AF_INET) {
		memcpy(&from4, from, sizeof(from4));
		udp_map_v4(m->net.sgid, &from4.sin_addr);
		m->sport = get_be16(&from4.sin_port);
	} else if (from->sin6_family == AF_INET6) {
		memcpy(m->net.sgid, &from->sin6_addr, 16);
		m->sport = get_be16(&from->sin6_port);
	} else {
		return false;
	}
	m->v4 = net_is_v4(&m->net);
	return m->has_dst && !(h->msg_flags & MSG_TRUNC);
}

/* Is the packet's ICRC right? p: len bytes from BTH to pad, followed by the ICRC. i: the packet's index in its train. */
static bool udp_icrc_right(struct udp_ep *ep, const struct meta *m, const uint8_t *p, uint32_t len,
			   uint32_t i)
{
	uint8_t hdr[IPUDP_MAX];
	size_t iplen = ipudp_put(hdr, &m->net, m->sport, ep->port, len + ICRC_LEN,
				 m->v4 ? (uint16_t)i : 0, IPUDP_DF);
	uint32_t got = icrc_get(p + len);
	uint16_t id;

	if (likely(ipudp_icrc(hdr, iplen, p, len) == got))
		return true;
	if (!m->v4)
		return false;
	/*
	 * The packet is not from a train (udp_tx.c) that ruse has sent: the sender counts its ids or does not set DF.
	 * Find an id that makes the ICRC right; behind it follow 14 bytes of IP header, UDP header and packet.
	 */
	ep->stats->other_id++;
	for (int df = 0; df < 2; df++) {
		iplen = ipudp_put(hdr, &m->net, m->sport, ep->port, len + ICRC_LEN, 0,
				  df ? 0 : IPUDP_DF);
		if (icrc_explain_id(ipudp_icrc(hdr, iplen, p, len), got, 14 + UDP_HDR_LEN + len,
				    &id))
			return true;
	}
	return false;
}

/* Deliver the joined segment. more: another one follows at once. */
static void udp_rx_deliver(struct udp_ep *ep, bool more)
{
	struct seg seg = ep->held;

	if (!ep->held.npkts)
		return;
	ep->held.npkts = 0;
	ep->in.more = more;
	ep->in.rx_segs++;
	ep->in.rx_bytes += seg.len;
	ep->in.host->input(&ep->in, &seg);
}

/*
 * The type of a message that has packets of type a and then of type b. -1: they belong to two
 * messages.
 */
static int udp_joint_type(uint8_t a, uint8_t b)
{
	if (a == b && (a == SEG_SEND || a == SEG_WRITE || a == SEG_READ_RESP))
		return a;
	if ((a == SEG_SEND && (b == SEG_SEND_IMM || b == SEG_SEND_INV)) ||
	    (a == SEG_WRITE && b == SEG_WRITE_IMM))
		return b;
	return -1;
}

/* Is b the packet after those in a, of the same message? */
static bool udp_rx_follows(const struct seg *a, const struct seg *b)
{
	return a->npkts && b->dqpn == a->dqpn && b->service == a->service &&
	       b->psn == psn_add(a->psn, a->npkts) && b->pkey == a->pkey &&
	       !(a->flags & (SEG_F_END | SEG_F_ACKREQ)) && !(b->flags & SEG_F_START) && b->len &&
	       a->niov == (int)a->npkts && a->niov < SEG_MAX_IOV &&
	       a->iov[a->niov - 1].iov_len == a->iov[0].iov_len && b->len <= a->iov[0].iov_len &&
	       udp_joint_type(a->type, b->type) >= 0 &&
	       (a->net == b->net || !memcmp(a->net, b->net, 2 * sizeof(a->net->sgid)));
}

static void udp_rx_hold(struct udp_ep *ep, const struct seg *b)
{
	struct seg *a = &ep->held;

	if (udp_rx_follows(a, b)) {
		a->type = (uint8_t)udp_joint_type(a->type, b->type);
		a->flags |= b->flags;
		if (b->flags & SEG_F_END) {
			a->imm = b->imm;
			a->syndrome = b->syndrome;
			a->msn = b->msn;
		}
		ep->iov[a->niov++] = b->iov[0];
		a->len += b->len;
		a->npkts++;
		return;
	}
	udp_rx_deliver(ep, true);
	*a = *b;
	ep->iov[0] = b->niov ? b->iov[0] : (struct iovec){ 0 };
	a->iov = ep->iov;
}

/* Handle a packet whose ICRC was checked, either here or by another process that received it for this one. */
static void udp_rx_packet(struct udp_ep *ep, const struct seg_net *net, const uint8_t *p,
			  uint32_t len)
{
	uint32_t dqpn = get_be24(p + 5);
	enum packet_drop drop;
	struct iovec iov;
	struct seg seg;

	if (unlikely(dqpn != MULTICAST_QPN && !ep->cfg.mine(ep, dqpn))) {
		udp_rx_deliver(ep, true);
		ep->stats->foreign++;
		ep->cfg.foreign(ep, net, dqpn, p, len);
		return;
	}
	if (unlikely(cnp_get(p, len, &dqpn))) {
		ep->stats->cnp_rcvd++;
		ep->cfg.congestion(ep, net, dqpn);
		return;
	}
	drop = packet_parse(p, len, &seg, &iov);
	if (unlikely(drop != PACKET_OK)) {
		ep->stats->malformed++;
		log_debug("udp: packet dropped: %s", packet_drop_name(drop));
		return;
	}
	if (unlikely((net->traffic_class & ECN_MASK) == ECN_CE))
		ep->stats->ce++;
	seg.net = net;
	udp_rx_hold(ep, &seg);
}

static void udp_rx_datagram(struct udp_ep *ep, const struct meta *m, const uint8_t *p, uint32_t len)
{
	uint32_t size = m->size ? m->size : len, i = 0;

	for (uint32_t off = 0; off < len; off += size, i++) {
		uint32_t n = min(size, len - off);

		ep->stats->rx_packets++;
		ep->stats->rx_bytes += n;
		if (unlikely(n < BTH_LEN + ICRC_LEN)) {
			ep->stats->malformed++;
			continue;
		}
		if (unlikely(!udp_icrc_right(ep, m, p + off, n - ICRC_LEN, i))) {
			ep->stats->bad_icrc++;
			continue;
		}
		udp_rx_packet(ep, &m->net, p + off, n - ICRC_LEN);
	}
}

void udp_handed(struct udp_ep *ep, const struct seg_net *net, const void *p, size_t len)
{
	if (len < BTH_LEN || len > PACKET_MAX)
		return;
	if (!ep->cfg.mine(ep, get_be24((const uint8_t *)p + 5)))
		return;
	udp_rx_packet(ep, net, p, (uint32_t)len);
	udp_rx_deliver(ep, false);
}

/*
 * Receive datagrams: small ones several at a time if several have arrived, trains (merged datagrams) one at a time, so
 * that a train is still in the nearest cache when it is handled.
 */
static int udp_rx_take(struct udp_rxbuf *b, struct udp_rx *rx)
{
	int n;

	if (rx->many) {
		n = (int)sys_call(SYS_recvmmsg, rx->fd, b->msg, UDP_RX_VLEN, MSG_DONTWAIT, NULL);
		rx->many = n > 1;
		return n;
	}
	n = (int)sys_recvmsg(rx->fd, &b->msg[0].msg_hdr, MSG_DONTWAIT);
	if (n < 0) {
		rx->once = false;
		return n;
	}
	b->msg[0].msg_len = (uint32_t)n;
	/*
	 * Use recvmmsg() if this read and the one before found a datagram, and this one is small: a
	 * recvmmsg() that finds nothing is expensive.
	 */
	rx->many = rx->once && n <= PACKET_MAX;
	rx->once = true;
	return 1;
}

int udp_rx_read(struct udp_ep *ep, struct udp_rx *rx, int budget)
{
	struct udp_rxbuf *b = ep->rxbuf;
	uint64_t before = ep->in.rx_segs;
	int n, trains = 0;
	bool more;

	do {
		n = udp_rx_take(b, rx);
		for (int i = 0; i < n; i++) {
			struct meta *m = &b->meta[i];

			trains += b->msg[i].msg_len > PACKET_MAX;
			if (likely(udp_meta_read(m, &b->msg[i].msg_hdr)))
				udp_rx_datagram(ep, m, b->data[i], b->msg[i].msg_len);
			else
				ep->stats->malformed++;
			udp_rx_rearm(b, i);
		}
		more = n == UDP_RX_VLEN || (n > 0 && trains);
		/*
		 * Deliver after each batch, so that the ACKs of a stream do not wait for its end.
		 */
		udp_rx_deliver(ep, more && trains % UDP_RX_VLEN);
	} while (more && ep->in.rx_segs - before < (uint64_t)budget);
	return (int)(ep->in.rx_segs - before);
}
