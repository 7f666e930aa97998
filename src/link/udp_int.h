/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the udp link. */
#ifndef RUSE_LINK_UDP_INT_H
#define RUSE_LINK_UDP_INT_H

#include <netinet/in.h>
#include "base/list.h"
#include "base/sys.h"
#include "link/udp.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/ipudp.h"
#include "wire/packet.h"

/* A receiving socket: a member of the SO_REUSEPORT group of port 4791, or joined to an IP multicast group. */
struct udp_rx {
	struct link_fd ev;	/* first */
	struct list_head entry;	/* in udp_ep.rx */
	struct udp_ep *ep;
	int fd;
	uint8_t mgid[16];	/* all zero: no multicast group, but the SO_REUSEPORT group */
	uint32_t ifindex, joins;
	/* once: the last recvmsg() found a datagram. many: the next read is a recvmmsg(). */
	bool once, many;
};

/* A socket that sends to one block of destination QP numbers, over IPv4 or IPv6, from one address or any. Nothing arrives on it. */
struct udp_tx {
	struct link_fd ev;	/* first */
	struct list_head entry;	/* in udp_ep.tx */
	struct udp_ep *ep;
	int fd;
	uint32_t block, refs;
	struct seg_net net;	/* source, hop limit and traffic class set on the socket, or 0 */
	uint32_t ifindex;	/* interface set as a socket option, or 0 */
	uint16_t port;		/* host order */
	bool v4, full;		/* full: refused a packet and waits for EPOLLOUT */
	bool stuck;		/* a wait for room failed; the next one is skipped */
};

struct udp_link {
	struct link l;		/* first */
	struct list_head entry;	/* in udp_ep.links */
	struct udp_ep *ep;
	struct udp_path path;
	struct udp_tx *tx4, *tx6;	/* created when needed */
	ns_t cnp_at;		/* time of the last CNP */
	/* State of udp_hold.c. */
	struct seg held;	/* the ACK that is held for the program's next message */
	bool holds;
	uint32_t answered;	/* ACKs in a row that a message has followed in time */
	ns_t acked_at;		/* time of the first ACK that no message has followed; 0: there is none */
};

/* Datagrams per recvmmsg(). */
#define UDP_RX_VLEN 8
#define UDP_RX_BUF 65536
/* Room for the packets of a segment and for one packet without payload, a held ACK. */
#define UDP_TX_BUF (UDP_MAX_SEG + (UDP_MAX_PKTS + 1) * (PACKET_HDR_MAX + ICRC_LEN + 4))

struct udp_ep {
	struct udp_cfg cfg;
	struct link in;
	struct list_head links, rx, tx;
	uint32_t nlinks;
	uint16_t port;		/* of the peers, host order */
	bool watched;		/* arriving packets wake the engine */
	bool no_gso;		/* the kernel cannot segment (UDP_SEGMENT) */
	bool polling;
	bool may_hold;		/* udp_hold() */
	uint32_t nheld;		/* links that hold an ACK */
	struct udp_stats *stats, own_stats;
	/* A segment joined from packets, not delivered yet. */
	struct seg held;
	struct iovec iov[SEG_MAX_IOV];
	struct udp_rxbuf *rxbuf;
	uint8_t *txbuf;
};

/* udp_sock.c */
/*
 * The sending socket for a path, with a reference; NULL: failed. net: addresses that all packets of
 * the path have, or NULL.
 */
struct udp_tx *udp_tx_get(struct udp_ep *ep, const struct udp_path *path,
			  const struct seg_net *net, bool v4);
/* Drop a reference; the last one closes the socket. tx may be NULL. */
void udp_tx_put(struct udp_tx *tx);
/* The socket has refused a packet: when it has room again, flush held ACKs and call link_user_ops.writable(). */
void udp_tx_full(struct udp_tx *tx);
/* Sleep until the socket is writable, for at most ns. Returns whether it is. */
bool udp_tx_wait(struct udp_tx *tx, ns_t ns);

/* udp_tx.c */
/* link_ops.send and link_ops.wait_room. */
int udp_send(struct link *l, const struct seg *seg);
bool udp_wait_room(struct link *l);
/*
 * Send the segment without holding it. also: a held ACK to send in the same call, or NULL.
 * Responses keep their order: a response goes after the held ACK, other segments before it.
 */
int udp_send_now(struct udp_link *ul, const struct seg *seg, const struct seg *also);

/* udp_hold.c */
/* Hold the segment if it is an ACK that may wait. True: it is held. */
bool udp_held(struct udp_link *ul, const struct seg *seg);
/* Forget the held ACK without sending it. */
void udp_unheld(struct udp_link *ul);
/* Send the held ACK before the link or the program ends; waits for room if the socket is full. */
void udp_settle_link(struct udp_link *ul);

/* udp_rx.c */
int udp_rxbuf_create(struct udp_ep *ep);
void udp_rxbuf_destroy(struct udp_ep *ep);
/* Read a socket and deliver. Returns the number of segments. */
int udp_rx_read(struct udp_ep *ep, struct udp_rx *rx, int budget);

static inline int udp_setopt(int fd, int level, int name, int v)
{
	return (int)sys_call(SYS_setsockopt, fd, level, name, &v, sizeof(v));
}

#endif
