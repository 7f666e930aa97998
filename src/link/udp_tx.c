/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending: a segment becomes packets, and packets of one size become a train.
 *
 * A train is one buffer, which the kernel cuts into datagrams of one length (UDP_SEGMENT); only the last may be shorter.
 * The first packet of a message has longer headers than the others, and the last may be longer too,
 * so a segment is a few trains at most. One sendmmsg() sends them all.
 *
 * The ICRC covers the IPv4 id, which the kernel chooses: 0 on an unconnected socket with DF, and 0,
 * 1, 2, ... within a train.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include "base/log.h"
#include "link/udp_ctl.h"
#include "link/udp_int.h"
#include "wire/be.h"
#include "wire/ipudp.h"

#define TRAIN_BYTES 65507u	/* maximum bytes of a train: the kernel's limit for the payload of an IPv4 datagram */
#define TRAIN_PKTS 64u
#define CNP_NS (50 * NS_US)
#define ROOM_NS (500 * NS_MS)	/* limit of a wait for a socket that is full, for a segment that cannot be sent later */

struct train {
	uint32_t off, len, size, n;	/* n packets of size bytes; the last may be shorter */
};

/* The sending socket for these addresses. own: they are those of the link's path. */
static struct udp_tx *udp_link_tx(struct udp_link *ul, const struct seg_net *net, bool own)
{
	bool v4 = net_is_v4(net);
	struct udp_tx **tx = v4 ? &ul->tx4 : &ul->tx6;

	if (unlikely(!*tx))
		*tx = udp_tx_get(ul->ep, &ul->path, own ? net : NULL, v4);
	return *tx;
}

/*
 * Does a packet of this size fit into the train? All have the train's size; after a shorter one the
 * train is complete.
 */
static bool udp_train_takes(const struct train *t, uint32_t size, bool gso)
{
	return gso && t->n < TRAIN_PKTS && t->len == t->n * t->size && size <= t->size &&
	       t->len + size <= TRAIN_BYTES;
}

/* Packets under construction. */
struct batch {
	struct udp_ep *ep;
	const struct seg_net *net;
	struct train trains[UDP_MAX_PKTS + 1];
	int n;			/* number of trains */
	uint32_t off;		/* bytes used in txbuf */
	uint16_t sport;
	bool gso;
};

/* The train for a packet of size bytes, at the end of the buffer. */
static struct train *udp_train_for(struct batch *b, uint32_t size)
{
	struct train *t = &b->trains[b->n ? b->n - 1 : 0];

	if (!b->n || !udp_train_takes(t, size, b->gso)) {
		t = &b->trains[b->n++];
		*t = (struct train){ .off = b->off, .size = size };
	}
	return t;
}

/* Write the packets of the segment and their ICRCs. 0, or an error of link_ops.send. */
static int udp_tx_build(struct batch *b, const struct seg *seg)
{
	const struct link_user_ops *host = b->ep->cfg.host;
	uint32_t count = packet_count(seg);
	uint8_t hdr[IPUDP_MAX];

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *p = b->ep->txbuf + b->off;
		struct packet_part part;
		uint32_t len, size, crc;
		struct train *t;
		size_t iplen;
		int err;

		if (BUG_ON(b->off + PACKET_HDR_MAX > UDP_TX_BUF) ||
		    unlikely(packet_headers(seg, i, p, &part)))
			return -EINVAL;
		len = part.hdr_len + part.len + part.pad;
		size = len + ICRC_LEN;
		if (BUG_ON(b->off + size > UDP_TX_BUF))
			return -EINVAL;
		t = udp_train_for(b, size);
		iplen = ipudp_put(hdr, b->net, b->sport, b->ep->port, size, (uint16_t)t->n,
				  IPUDP_DF);
		crc = ipudp_icrc(hdr, iplen, p, part.hdr_len);
		err = packet_payload(seg, &part, p + part.hdr_len, host->copy, host->copy_crc,
				     &crc);
		if (unlikely(err))
			return err == -EFAULT ? err : -EINVAL;
		icrc_put(p + len, crc);
		if (unlikely(seg->bad_icrc))
			p[len - 1] ^= 1;
		t->n++;
		t->len += size;
		b->off += size;
	}
	return 0;
}

/*
 * Handle an error of the socket. 0: the packet is lost; -EAGAIN; -EINVAL: the kernel cannot cut
 * trains.
 */
static int udp_tx_refused(struct udp_tx *tx, int err, bool gso)
{
	static bool told;

	switch (-err) {
	case EAGAIN:
	case ENOBUFS:
		udp_tx_full(tx);
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
			log_err("udp: a packet exceeds the interface's MTU; use a smaller "
				"path MTU (ibv_rc_pingpong -m, perftest -m), or raise the interface's MTU");
		told = true;
		break;
	}
	if (!tx->ep->stats->lost_tx++)
		log_warn("udp: cannot send a packet: %s; `ruse status` counts lost packets",
			 strerrordesc_np(-err));
	return 0;
}

/* sendmmsg(2), or sendmsg(2), which is cheaper for one message. */
static int udp_tx_hand_over(int fd, struct mmsghdr *msg, int n)
{
	long r;

	if (n > 1)
		return (int)sys_call(SYS_sendmmsg, fd, msg, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	r = sys_sendmsg(fd, &msg->msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? (int)r : 1;
}

/* Send the trains. 0; -EAGAIN; -EINVAL: the kernel cannot cut them. */
static int udp_tx_transmit(struct udp_link *ul, struct udp_tx *tx, const struct seg_net *net,
			   const struct train *trains, int n)
{
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = be16_of(tx->ep->port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = be16_of(tx->ep->port) };
	struct mmsghdr msg[UDP_MAX_PKTS + 1];
	struct iovec iov[UDP_MAX_PKTS + 1];
	struct udp_ctl plain = { .len = 0 }, cut[4];
	int ncut = 0, done = 0, error = 0;
	bool gso = false;

	memcpy(&to4.sin_addr, net->dgid + 12, 4);
	memcpy(&to6.sin6_addr, net->dgid, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&to6.sin6_addr) || net->dgid[0] == 0xff)
		to6.sin6_scope_id = ul->path.ifindex;
	/* Control messages are expensive, so what the socket's options say is left out. */
	if (memcmp(net->sgid, tx->net.sgid, 16) || ul->path.ifindex != tx->ifindex)
		udp_ctl_source(&plain, net, ul->path.ifindex);
	if (net->hop_limit != tx->net.hop_limit)
		udp_ctl_hops(&plain, net);
	if (net->traffic_class != tx->net.traffic_class)
		udp_ctl_class(&plain, net);
	for (int i = 0; i < n; i++) {
		struct udp_ctl *c = &plain;

		iov[i] = (struct iovec){ tx->ep->txbuf + trains[i].off, trains[i].len };
		if (trains[i].n > 1) {
			uint16_t size = (uint16_t)trains[i].size;

			if (ncut == ARRAY_SIZE(cut))
				return -EINVAL;
			c = &cut[ncut++];
			*c = plain;
			udp_ctl_add(c, SOL_UDP, UDP_SEGMENT, &size, sizeof(size));
			gso = true;
		}
		msg[i].msg_hdr = (struct msghdr){
			.msg_name = tx->v4 ? (void *)&to4 : (void *)&to6,
			.msg_namelen = tx->v4 ? sizeof(to4) : sizeof(to6),
			.msg_iov = &iov[i], .msg_iovlen = 1,
			.msg_control = c->len ? c->buf : NULL, .msg_controllen = c->len,
		};
	}
	while (done < n) {
		int r = udp_tx_hand_over(tx->fd, msg + done, n - done);

		if (likely(r > 0)) {
			done += r;
			continue;
		}
		error = r;
		r = udp_tx_refused(tx, r, gso);
		if (r)
			return r;
		done++;
	}
	ul->l.error = error;
	return 0;
}

static int udp_send_as(struct udp_link *ul, struct udp_tx *tx, const struct seg *const segs[2],
		       int n, const struct seg_net *net, bool gso)
{
	struct batch b;
	int ret = 0;

	b.ep = ul->ep;
	b.net = net;
	b.n = 0;
	b.off = 0;
	b.sport = tx->port;
	b.gso = gso;
	for (int i = 0; i < n && !ret; i++)
		ret = udp_tx_build(&b, segs[i]);
	return ret ? ret : udp_tx_transmit(ul, tx, net, b.trains, b.n);
}

int udp_send_now(struct udp_link *ul, const struct seg *seg, const struct seg *also)
{
	struct udp_ep *ep = ul->ep;
	const struct seg_net *net = seg->net ? seg->net : &ul->path.net;
	struct udp_tx *tx = udp_link_tx(ul, net, !seg->net);
	bool first = also && seg_is_answer(seg);
	const struct seg *segs[2] = { first ? also : seg, first ? seg : also };
	int n = also ? 2 : 1, ret;
	uint64_t lost = ep->stats->lost_tx;

	if (unlikely(!tx)) {
		ep->stats->lost_tx++;
		return 0;
	}
	if (unlikely(tx->full))
		return -EAGAIN;
	ret = udp_send_as(ul, tx, segs, n, net, !ep->no_gso);
	if (unlikely(ret == -EINVAL && !ep->no_gso && (also || packet_count(seg) > 1))) {
		ret = udp_send_as(ul, tx, segs, n, net, false);
		if (!ret && lost == ep->stats->lost_tx) {
			log_info("udp: sending packets one by one: no segmentation offload (UDP_SEGMENT)");
			ep->no_gso = true;
		}
	}
	if (unlikely(ret))
		return ret;
	for (int i = 0; i < n; i++) {
		ul->l.tx_segs++;
		ul->l.tx_bytes += segs[i]->len;
		ep->stats->tx_packets += packet_count(segs[i]);
		ep->stats->tx_bytes += segs[i]->len;
	}
	return 0;
}

bool udp_wait_room(struct link *l)
{
	struct udp_link *ul = container_of(l, struct udp_link, l);
	struct udp_tx *tx = net_is_v4(&ul->path.net) ? ul->tx4 : ul->tx6;

	return !tx || udp_tx_wait(tx, ROOM_NS);
}

int udp_send(struct link *l, const struct seg *seg)
{
	struct udp_link *ul = container_of(l, struct udp_link, l);
	bool held;
	int ret;

	if (BUG_ON(seg->len > UDP_MAX_SEG || packet_count(seg) > UDP_MAX_PKTS))
		return -EFAULT;
	if (udp_held(ul, seg))
		return 0;
	held = ul->holds && !seg->net;
	ret = udp_send_now(ul, seg, held ? &ul->held : NULL);
	if (held && !ret)
		udp_unheld(ul);
	return ret;
}

void udp_cnp(struct link *l, uint16_t pkey, uint32_t dqpn, ns_t now)
{
	struct udp_link *ul = container_of(l, struct udp_link, l);
	const struct seg_net *net = &ul->path.net;
	struct udp_tx *tx = udp_link_tx(ul, net, true);
	struct train t = { .len = CNP_LEN + ICRC_LEN, .size = CNP_LEN + ICRC_LEN, .n = 1 };
	uint8_t hdr[IPUDP_MAX];
	size_t iplen;

	if (!tx || now < ul->cnp_at + CNP_NS)
		return;
	ul->cnp_at = now;
	cnp_put(ul->ep->txbuf, pkey, dqpn);
	iplen = ipudp_put(hdr, net, tx->port, ul->ep->port, t.len, 0, IPUDP_DF);
	icrc_put(ul->ep->txbuf + CNP_LEN, ipudp_icrc(hdr, iplen, ul->ep->txbuf, CNP_LEN));
	if (!udp_tx_transmit(ul, tx, net, &t, 1))
		ul->ep->stats->cnp_sent++;
}
