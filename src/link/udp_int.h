/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the udp link share. */
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

/* A socket that receives: a member of the group, or one that has joined a multicast group. */
struct udp_rx {
	struct link_fd ev;	/* first */
	struct list_head entry;	/* in udp_ep.rx */
	int fd;
	uint8_t mgid[16];	/* all zero: a member of the group */
	uint32_t ifindex, joins;
	bool once, many;	/* the last call found something; several were there at a time, lately */
};

/* A socket that sends to one block, over IPv4 or IPv6, from one address or any. Nothing ever arrives at it. */
struct udp_tx {
	struct link_fd ev;	/* first */
	struct list_head entry;	/* in udp_ep.tx */
	struct udp_ep *ep;
	int fd;
	uint32_t block, refs;
	struct seg_net net;	/* what it says by itself: source, hop limit, traffic class; else 0 */
	uint32_t ifindex;	/* where it leaves by itself, or 0 */
	uint16_t port;		/* host order */
	bool v4, full;		/* full: refused something, waits for EPOLLOUT */
	bool stuck;		/* was waited for in vain; once is enough */
};

/* What share of the last answers came at once (udp_hold.c). */
#define RIDE_ALL 1024
#define RIDE_UNKNOWN (RIDE_ALL / 2)

struct udp_link {
	struct link l;		/* first */
	struct list_head entry;	/* in udp_ep.links */
	struct udp_ep *ep;
	struct udp_path path;
	struct udp_tx *tx4, *tx6;	/* made when they are needed */
	ns_t cnp_at;		/* the last one sent */
	/* udp_hold.c */
	struct seg held;	/* an ACK that waits for company */
	bool holds;
	int soon;		/* share of the answers that follow an ACK at once, of RIDE_ALL */
	ns_t acked_at;		/* the first ACK that no answer has followed; 0 */
};

/* Datagrams taken by one call. */
#define UDP_RX_VLEN 8
#define UDP_RX_BUF 65536
/* A segment, and a packet without payload. */
#define UDP_TX_BUF (UDP_MAX_SEG + (UDP_MAX_PKTS + 1) * (PACKET_HDR_MAX + ICRC_LEN + 4))

struct udp_ep {
	struct udp_cfg cfg;
	struct link in;
	struct list_head links, rx, tx;
	uint32_t nlinks;
	uint16_t port;		/* the peers', host order */
	bool watched;		/* the sockets wake the engine */
	bool no_gso;		/* the machine cannot */
	bool polling;
	bool may_hold;		/* udp_hold() */
	uint32_t nheld;		/* links that hold an ACK */
	ns_t ack_at;		/* the last one's time */
	ns_t send_ns;		/* what it takes to send one, lately */
	struct udp_stats *stats, own_stats;
	/* What the last packets of a train have become, still to be delivered. */
	struct seg held;
	struct iovec iov[SEG_MAX_IOV];
	struct udp_rxbuf *rxbuf;
	uint8_t *txbuf;
};

/* udp.c */
struct udp_rx *udp_rx_add(struct udp_ep *ep, int fd);
/* What every socket of ours needs that sends or receives. 0 or -errno. */
int udp_socket_receives(int fd, bool v4);

/* udp_sock.c */
/* net: what the path's packets say, if that is always the same; else NULL. */
struct udp_tx *udp_tx_get(struct udp_ep *ep, const struct udp_path *path,
			  const struct seg_net *net, bool v4);
void udp_tx_put(struct udp_tx *tx);
/* It has refused something: the host is told when there is room. */
void udp_tx_full(struct udp_tx *tx);
/* Sleeps until it takes something again, at most ns. True: it does. */
bool udp_tx_wait(struct udp_tx *tx, ns_t ns);

/* udp_tx.c */
int udp_send(struct link *l, const struct seg *seg);
bool udp_wait_room(struct link *l);
/* The same, and also in one go with it, if not NULL, before or behind it. */
int udp_send_now(struct udp_link *ul, const struct seg *seg, const struct seg *also);

/* udp_hold.c */
/* Comes from the responder: order among these stays. */
bool udp_answers(const struct seg *seg);
/* Looks at what is to be sent. True: it waits. */
bool udp_held(struct udp_link *ul, const struct seg *seg);
/* A segment has been sent that was not held. */
void udp_sent(struct udp_link *ul, const struct seg *seg);
/* What the link holds has been sent, or is void. */
void udp_unheld(struct udp_link *ul);
void udp_flush_link(struct udp_link *ul);
/* The same, and where there is no room waits for it: the link or its program goes. */
void udp_settle_link(struct udp_link *ul);

/* udp_rx.c */
int udp_rxbuf_create(struct udp_ep *ep);
void udp_rxbuf_destroy(struct udp_ep *ep);
int udp_rx_read(struct udp_ep *ep, struct udp_rx *rx, int budget);

static inline int udp_setopt(int fd, int level, int name, int v)
{
	return (int)sys_call(SYS_setsockopt, fd, level, name, &v, sizeof(v));
}

#endif
