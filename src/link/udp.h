/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * udp: links to other hosts, RoCEv2 (IBA annex A17) over UDP sockets.
 *
 * A process has one endpoint. It receives on the sockets that rused gave it, one per leased block
 * of QP numbers (daemon/state/lease.h). They are members of the host's SO_REUSEPORT group on port 4791,
 * in which a BPF program selects the socket by destination QP number. The endpoint sends from other
 * sockets, one per destination block. GRO at the receiving host merges packets with the same source
 * port before that selection; with a socket per block it never merges packets for two blocks.
 *
 * A train is a run of packets that the kernel gets as one buffer and cuts into datagrams of one
 * length (UDP_SEGMENT); only the last may be shorter.
 *
 * A link is a path: addresses, traffic class and destination block. All packets arrive on one link
 * of the endpoint, the in-link, with seg->net set; its host (engine/wire.c) finds the QP and the
 * link for the answers. send() copies the payload, so a sent segment never refers to the program's
 * memory and revoke() has nothing to do. The wire loses, repeats and reorders packets.
 *
 * The caller of all functions holds the engine lock.
 */
#ifndef RUSE_LINK_UDP_H
#define RUSE_LINK_UDP_H

#include "link/link.h"

struct udp_ep;

#define UDP_MAX_SEG (64u << 10)
#define UDP_MAX_PKTS 64u

/*
 * Numbers of packets and drops, in the order of enum proc_wire (ipc/pages.h). lost_tx: could not be
 * sent. ce: arrived with the ECN mark CE (congestion). other_id: arrived over IPv4 with an ICRC that
 * does not match the id and DF bit that ruse sends. The ICRC is then compared with all other ids and
 * without DF, and the packet is bad_icrc only if none matches.
 */
struct udp_stats {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t bad_icrc, malformed, foreign, lost_tx, ce, cnp_sent, cnp_rcvd, other_id;
};

struct udp_cfg {
	struct udp_stats *stats;	/* where to count; NULL: in the endpoint */
	const struct link_user_ops *host;	/* link.host of all links, also of that on which packets arrive (udp_in()) */
	void *host_arg;
	uint16_t port;		/* UDP port of the peers; 0: 4791 */
	int epfd;		/* epoll set to which the sockets are added, with data.ptr = struct link_fd * */
	/* As in struct shm_cfg. */
	int (*own_fd)(int fd);
	void (*own_close)(int fd);
	/* Has this process leased the block of QP numbers that contains dqpn? */
	bool (*mine)(struct udp_ep *ep, uint32_t dqpn);
	/*
	 * A packet (BTH to pad, ICRC checked) to a QP number in a block of another process: pass it
	 * on to that process. It arrives here if the sender uses one source port for several
	 * blocks, so that GRO merged packets for different processes.
	 */
	void (*foreign)(struct udp_ep *ep, const struct seg_net *net, uint32_t dqpn,
			const void *packet, size_t len);
	/* A congestion notification for this QP of this process. */
	void (*congestion)(struct udp_ep *ep, const struct seg_net *net, uint32_t dqpn);
	/*
	 * Sleep until the socket is writable, for at most ns. Returns whether it is. NULL: never
	 * waits.
	 */
	bool (*wait_writable)(int fd, ns_t ns);
	/* A socket is readable, an event of the epoll set; udp_poll() takes the packets in. NULL: not called. */
	void (*readable)(struct udp_ep *ep);
	/* The time, for udp_hold(). NULL: ACKs are never held. */
	ns_t (*now)(void);
};

/* The path of a link. */
struct udp_path {
	struct seg_net net;	/* for segments without addresses of their own */
	uint32_t ifindex;	/* interface of the device, by which packets leave */
	uint32_t block;		/* of the destination QP numbers */
};

/* Create the endpoint, without sockets. 0, -ENOMEM. */
int udp_ep_create(const struct udp_cfg *cfg, struct udp_ep **ep);
/* Set the socket options of a receiving socket. 0 or -errno. */
int udp_ep_prepare_socket(int fd);
/* Add a receiving socket. Takes ownership, also on failure. 0 or -errno. */
int udp_ep_add_socket(struct udp_ep *ep, int fd);

/* The link of this path, created if there is none. *l gets a reference. 0, -ENOMEM. */
int udp_link(struct udp_ep *ep, const struct udp_path *path, struct link **l);
/* The path of a udp link; NULL: another kind of link. */
const struct udp_path *udp_link_path(const struct link *l);
/* The link on which all packets arrive. */
struct link *udp_in(struct udp_ep *ep);
/*
 * Is there a route from sgid to dgid? 0; -ENETUNREACH: none; -EHOSTUNREACH, -EINVAL, -EACCES: one of the type unreachable,
 * blackhole or prohibit; other errors are those of sockets.
 */
int udp_route(const struct udp_path *path);

/* Receive datagrams to mgid on the interface. 0 or -errno. udp_leave() undoes one join. */
int udp_join(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex);
void udp_leave(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex);

/* Send a congestion notification to the peer's QP, at most one per 50 us and link. */
void udp_cnp(struct link *l, uint16_t pkey, uint32_t dqpn, ns_t now);
/* Handle a packet that another process of this host has received for this one. */
void udp_handed(struct udp_ep *ep, const struct seg_net *net, const void *packet, size_t len);

/*
 * Permit or forbid the delay of ACKs until the program's next message (udp_hold.c). If ACKs are held,
 * the caller must call udp_flush() at the end of the program's next call (a message that the call
 * sends takes the ACK along), and udp_flush_old() regularly until then.
 */
void udp_hold(struct udp_ep *ep, bool may);
/* Is an ACK held, to be sent with the program's next message? */
bool udp_holds(const struct udp_ep *ep);
/* Send the held ACKs. */
void udp_flush(struct udp_ep *ep);
/* Send the held ACKs before the process ends; waits for room if a socket is full. */
void udp_settle(struct udp_ep *ep);
/* Send the ACKs that were held too long. Returns when to call again, or NS_NEVER. */
ns_t udp_flush_old(struct udp_ep *ep, ns_t now);

/* Deliver what has arrived, about `budget` packets at most. Returns the number of segments. */
int udp_poll(struct udp_ep *ep, int budget);
/* Are there links to other hosts? If not, the sockets need to be read only now and then. */
bool udp_busy(const struct udp_ep *ep);
/* want: arriving packets wake the engine by epoll. Not needed while the program polls. */
void udp_want_wakeup(struct udp_ep *ep, bool want);

/* Call fn for each link. */
void udp_for_each(struct udp_ep *ep, void (*fn)(struct link *l, void *arg), void *arg);

#endif
