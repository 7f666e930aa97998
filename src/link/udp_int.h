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
};

/* A socket that sends to one block, over IPv4 or IPv6. Nothing ever arrives at it. */
struct udp_tx {
	struct link_fd ev;	/* first */
	struct list_head entry;	/* in udp_ep.tx */
	struct udp_ep *ep;
	int fd;
	uint32_t block, refs;
	uint16_t port;		/* host order */
	bool v4, full;		/* full: refused something, waits for EPOLLOUT */
};

struct udp_link {
	struct link l;		/* first */
	struct list_head entry;	/* in udp_ep.links */
	struct udp_ep *ep;
	struct udp_path path;
	struct udp_tx *tx4, *tx6;	/* made when they are needed */
	ns_t cnp_at;		/* the last one sent */
};

/* Datagrams taken by one call. */
#define UDP_RX_VLEN 8
#define UDP_RX_BUF 65536
#define UDP_TX_BUF (UDP_MAX_SEG + UDP_MAX_PKTS * (PACKET_HDR_MAX + ICRC_LEN + 4))

struct udp_ep {
	struct udp_cfg cfg;
	struct link in;
	struct list_head links, rx, tx;
	uint32_t nlinks;
	uint16_t port;		/* the peers', host order */
	bool watched;		/* the sockets wake the engine */
	bool no_gso;		/* the machine cannot */
	bool polling;
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

/* udp_tx.c */
struct udp_tx *udp_tx_get(struct udp_ep *ep, uint32_t block, bool v4);
void udp_tx_put(struct udp_tx *tx);
int udp_send(struct link *l, const struct seg *seg);

/* udp_rx.c */
int udp_rxbuf_create(struct udp_ep *ep);
void udp_rxbuf_destroy(struct udp_ep *ep);
int udp_rx_read(struct udp_ep *ep, struct udp_rx *rx, int budget);

static inline int udp_setopt(int fd, int level, int name, int v)
{
	return (int)sys_call(SYS_setsockopt, fd, level, name, &v, sizeof(v));
}

#endif
