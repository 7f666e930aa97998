/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MADs as RoCEv2 packets (IBA 9.8.3, A17.4): UD SENDs from QP1 to QP1; MADs of programs (umad) may
 * go to any QP.
 *
 * The sending socket is bound to the source port that kernel rxe uses, if that port is free. UDP
 * port 4791 has several sockets (daemon/state/port.h): packets to QP1, and to QP numbers that no process has
 * leased, arrive at that of slot 0. gsi_wire_packet_in() checks headers and ICRC. Of the other packets that
 * arrive there, requests are told to the owner of the GSI.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "gsi/fault.h"
#include "gsi/gsi.h"
#include "link/udp_ctl.h"
#include "wire/be.h"
#include "wire/frame.h"
#include "wire/ipudp.h"
#include "wire/packet.h"

#define PACKET_LEN (BTH_LEN + DETH_LEN + CM_MAD_LEN)
#define RCVBUF (4 << 20)	/* bytes, for many peers that connect at once */
#define BATCH 64

static int gsi_wire_set(int fd, int level, int opt, int v)
{
	return setsockopt(fd, level, opt, &v, sizeof(v)) ? -errno : 0;
}

int gsi_wire_prepare(int fd)
{
	int family = 0;
	socklen_t len = sizeof(family);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len))
		return -errno;
	if (gsi_wire_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF))
		gsi_wire_set(fd, SOL_SOCKET, SO_RCVBUF, RCVBUF);
	/* Kernel rxe sends without a UDP checksum, since there is an ICRC. */
	gsi_wire_set(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);
	return family == AF_INET ? gsi_wire_set(fd, IPPROTO_IP, IP_PKTINFO, 1) :
				   gsi_wire_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
}

/*
 * Opens the sending socket. The ICRC covers the IPv4 id field, so the sender must know its value:
 * the kernel sets it to 0 if the socket is unconnected and sets DF. 0 or -errno.
 */
static int gsi_wire_tx_open(struct gsi *g, bool v6)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr *sa = v6 ? (void *)&a6 : (void *)&a4;
	socklen_t len = v6 ? sizeof(a6) : sizeof(a4);
	uint16_t *port = v6 ? &a6.sin6_port : &a4.sin_port;
	int fd, rc;

	fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = v6 ? gsi_wire_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) :
		  gsi_wire_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	if (!rc && v6)
		rc = gsi_wire_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	*port = be16_of(frame_sport(0, GSI_QPN, 0));
	if (!rc && bind(fd, sa, len)) {
		*port = 0;
		rc = bind(fd, sa, len) ? -errno : 0;
	}
	if (!rc)
		rc = getsockname(fd, sa, &len) ? -errno : 0;
	if (rc) {
		close(fd);
		return rc;
	}
	g->tx[v6] = fd;
	g->sport[v6] = get_be16(port);
	return 0;
}

void gsi_wire_fini(struct gsi *g)
{
	for (int i = 0; i < 2; i++) {
		if (g->tx[i] >= 0)
			close(g->tx[i]);
		g->tx[i] = -1;
	}
}

static void gsi_wire_build(struct gsi_port *p, const struct seg_net *net, uint32_t qpn,
			   uint16_t sport,
			   const uint8_t *mad, uint8_t packet[PACKET_LEN + ICRC_LEN])
{
	struct bth bth = { .opcode = (uint8_t)opcode_of(SEG_UD, SEG_SEND, true, true),
			   .pkey = GSI_PKEY, .dqpn = qpn & 0xffffff, .ackreq = true,
			   .psn = p->psn };
	struct deth deth = { .qkey = GSI_QKEY, .sqpn = GSI_QPN };
	uint8_t hdr[IPUDP_MAX];
	size_t iplen;

	p->psn = (p->psn + 1) & 0xffffff;
	bth_put(packet, &bth);
	deth_put(packet + BTH_LEN, &deth);
	memcpy(packet + BTH_LEN + DETH_LEN, mad, CM_MAD_LEN);
	iplen = ipudp_put(hdr, net, sport, ROCE_PORT, PACKET_LEN + ICRC_LEN, 0, IPUDP_DF);
	icrc_put(packet + PACKET_LEN, ipudp_icrc(hdr, iplen, packet, PACKET_LEN));
}

/* Network header fields of a MAD from p. */
static struct seg_net gsi_wire_net(const struct gsi_port *p, const struct mad_addr *to)
{
	struct seg_net net = { .traffic_class = to->tclass,
			       .hop_limit = net_hop_limit(to->gid, to->hop_limit) };

	memcpy(net.sgid, p->gsi->page->dev[p->slot].gid[to->sgid_index % HOST_MAX_GIDS].raw, 16);
	memcpy(net.dgid, to->gid, 16);
	return net;
}

void gsi_wire_show(struct gsi_port *p, const struct mad_addr *to, const uint8_t mad[CM_MAD_LEN],
		   const char *note)
{
	uint16_t sport = frame_sport(0, GSI_QPN, 0);
	uint8_t packet[PACKET_LEN + ICRC_LEN];
	struct seg_net net = gsi_wire_net(p, to);

	gsi_wire_build(p, &net, to->qpn, sport, mad, packet);
	capture_out(p->gsi->capture, p->gsi->page->dev[p->slot].name, &net, sport, packet,
		    PACKET_LEN, false, note);
}

int gsi_wire_send(struct gsi_port *p, const struct mad_addr *to, const uint8_t mad[CM_MAD_LEN])
{
	const struct host_dev *d = &p->gsi->page->dev[p->slot];
	struct gsi *g = p->gsi;
	uint8_t packet[PACKET_LEN + ICRC_LEN];
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = be16_of(ROCE_PORT) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = be16_of(ROCE_PORT) };
	struct iovec iov = { packet, sizeof(packet) };
	struct seg_net net = gsi_wire_net(p, to);
	struct udp_ctl ctl = { .len = 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	bool v6;

	v6 = !net_is_v4(&net);
	if (g->tx[v6] < 0) {
		int rc = gsi_wire_tx_open(g, v6);

		if (rc)
			return rc;
	}
	gsi_wire_build(p, &net, to->qpn, g->sport[v6], mad, packet);
	/* Link-local addresses need an interface. */
	udp_ctl_source(&ctl, &net, net.sgid[0] == 0xfe ? d->ifindex : 0);
	udp_ctl_hops(&ctl, &net);
	udp_ctl_class(&ctl, &net);
	memcpy(&a4.sin_addr, net.dgid + 12, 4);
	memcpy(&a6.sin6_addr, net.dgid, 16);
	if (net.dgid[0] == 0xfe)
		a6.sin6_scope_id = d->ifindex;
	m.msg_name = v6 ? (void *)&a6 : (void *)&a4;
	m.msg_namelen = v6 ? sizeof(a6) : sizeof(a4);
	m.msg_control = ctl.buf;
	m.msg_controllen = ctl.len;
	capture_out(p->gsi->capture, d->name, &net, g->sport[v6], packet, PACKET_LEN, false, NULL);
	/* Like a packet lost on the way: the CM repeats it. */
	if (sendmsg(g->tx[v6], &m, MSG_NOSIGNAL) < 0)
		log_debug("%s: cannot send a MAD: %m", d->name);
	return 0;
}

static void gsi_wire_map_v4(uint8_t gid[16], const void *addr)
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, addr, 4);
}

/*
 * Gets the addresses of a received message: one datagram, or several that GRO has merged. *size:
 * length of each merged datagram; 0 if the message is a single one. False: the control messages are
 * incomplete.
 */
static bool gsi_wire_addresses(struct msghdr *m, struct seg_net *net, uint16_t *sport, size_t *size)
{
	const struct sockaddr_in6 *from = m->msg_name;
	struct sockaddr_in from4;
	bool has = false;

	memset(net, 0, sizeof(*net));
	*size = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct in6_pktinfo p6;
		struct in_pktinfo p4;

		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&p6, CMSG_DATA(c), sizeof(p6));
			memcpy(net->dgid, &p6.ipi6_addr, 16);
			has = true;
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&p4, CMSG_DATA(c), sizeof(p4));
			gsi_wire_map_v4(net->dgid, &p4.ipi_addr);
			has = true;
		} else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			uint16_t n;

			memcpy(&n, CMSG_DATA(c), sizeof(n));
			*size = n;
		}
	}
	if (from->sin6_family == AF_INET) {
		memcpy(&from4, from, sizeof(from4));
		gsi_wire_map_v4(net->sgid, &from4.sin_addr);
		*sport = get_be16(&from4.sin_port);
	} else {
		memcpy(net->sgid, &from->sin6_addr, 16);
		*sport = get_be16(&from->sin6_port);
	}
	return has && !(m->msg_flags & MSG_TRUNC);
}

/* The ICRC covers the IPv4 id, which the socket does not report: the ICRC is right if it fits any id. */
/* p: len bytes from the BTH, followed by the ICRC. */
static bool gsi_wire_icrc_right(const struct seg_net *net, uint16_t sport, const uint8_t *p,
				uint32_t len)
{
	uint8_t hdr[IPUDP_MAX];
	uint32_t got = icrc_get(p + len);
	uint16_t id;

	for (int df = 1; df >= 0; df--) {
		size_t iplen = ipudp_put(hdr, net, sport, ROCE_PORT, len + ICRC_LEN, 0,
					 df ? IPUDP_DF : 0);
		uint32_t crc = ipudp_icrc(hdr, iplen, p, len);

		if (crc == got)
			return true;
		if (!net_is_v4(net))
			return false;
		if (icrc_explain_id(crc, got, 14 + UDP_HDR_LEN + len, &id))
			return true;
	}
	return false;
}

/* A packet for a QP number that no process has. Late answers to a process that has ended are usual: not told. */
static void gsi_wire_stray(struct gsi *g, const uint8_t *p, uint32_t len, const struct seg_net *net,
			   uint16_t sport)
{
	struct iovec iov;
	struct seg seg;
	uint16_t index;

	if (g->stray && packet_parse(p, len, &seg, &iov) == PACKET_OK && !seg_is_answer(&seg) &&
	    gsi_find_gid(g, net->dgid, &index) && gsi_wire_icrc_right(net, sport, p, len))
		g->stray(g->ctx, net->sgid, seg.dqpn);
}

/* Checks of IBA 9.6.1 and 9.8.3.1 for QP1. Packets that fail are dropped silently. */
static void gsi_wire_packet_in(struct gsi *g, const uint8_t *p, uint32_t len,
			       const struct seg_net *net, uint16_t sport)
{
	struct mad_addr from = { .qp = GSI_QPN, .grh = true, .hop_limit = HOP_LIMIT_DEFAULT };
	const char *note = NULL;
	enum gsi_fate fate;
	struct gsi_port *to;
	struct deth deth;
	struct bth bth;
	uint16_t index;

	bth_get(p, &bth);
	if (bth.dqpn != GSI_QPN) {
		gsi_wire_stray(g, p, len, net, sport);
		return;
	}
	if (len != PACKET_LEN)
		return;
	deth_get(p + BTH_LEN, &deth);
	if (bth.opcode != opcode_of(SEG_UD, SEG_SEND, true, true) || bth.tver || bth.pad ||
	    (bth.pkey & 0x7fff) != (GSI_PKEY & 0x7fff) || deth.qkey != GSI_QKEY)
		return;
	to = gsi_find_gid(g, net->dgid, &index);
	if (!to || !gsi_wire_icrc_right(net, sport, p, len))
		return;
	from.sgid_index = (uint8_t)index;
	from.qpn = deth.sqpn;
	memcpy(from.gid, net->sgid, 16);
	memcpy(from.lgid, net->dgid, 16);
	fate = gsi_fault_cm(to, &from, p + BTH_LEN + DETH_LEN, FAULT_IN, &note);
	capture_out(g->capture, g->page->dev[to->slot].name, net, sport, p, PACKET_LEN, true, note);
	if (unlikely(fate != GSI_PASS))
		return;
	for (uint32_t n = gsi_fault(to, net->sgid, deth.sqpn, bth.psn, FAULT_INGRESS); n; n--)
		gsi_deliver(to, &from, p + BTH_LEN + DETH_LEN);
}

void gsi_wire_input(struct gsi *g, int fd)
{
	union {
		struct cmsghdr align;
		uint8_t buf[128];
	} ctl;
	static uint8_t train[65536];

	for (int i = 0; i < BATCH; i++) {
		struct iovec iov = { train, sizeof(train) };
		struct sockaddr_in6 from;
		struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov,
				    .msg_iovlen = 1, .msg_control = &ctl,
				    .msg_controllen = sizeof(ctl) };
		ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);
		struct seg_net net;
		uint16_t sport;
		size_t size;

		if (n < 0)
			return;
		if (!gsi_wire_addresses(&m, &net, &sport, &size))
			continue;
		size = size ? size : (size_t)n;
		for (size_t at = 0; at < (size_t)n; at += size) {
			size_t len = min((size_t)n - at, size);

			if (len >= BTH_LEN + ICRC_LEN)
				gsi_wire_packet_in(g, train + at, (uint32_t)len - ICRC_LEN, &net,
						   sport);
		}
	}
}
