/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * udp: links to other hosts, RoCEv2 (IBA annex A17) over UDP sockets.
 *
 * An endpoint (one a process) receives on the sockets that rused gave it, one a
 * leased block of QP numbers, members of the host's SO_REUSEPORT group on port
 * 4791 that a BPF program steers by destination QP number (design 2.4, items
 * 19 to 22). It sends from sockets of its own, one a destination block: GRO
 * merges by source port before anything steers, and so never mixes two blocks.
 *
 * A link is a path: addresses, traffic class, destination block. What arrives
 * has no link yet: it comes through the endpoint's in-link, with seg->net set,
 * and the host finds QP and link. Payload is copied at send(); nothing is ever
 * revoked. The wire loses, repeats and reorders.
 *
 * All functions hold the engine's lock.
 */
#ifndef RUSE_LINK_UDP_H
#define RUSE_LINK_UDP_H

#include "link/link.h"

struct udp_ep;

#define UDP_MAX_SEG (64u << 10)
#define UDP_MAX_PKTS 64u

/* What was dropped, and why; plain counters, in the order of enum proc_wire (ipc/pages.h). */
struct udp_stats {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes;
	uint64_t bad_icrc, malformed, foreign, lost_tx, ce, cnp_sent, cnp_rcvd, other_id;
};

struct udp_cfg {
	struct udp_stats *stats;	/* where to count; NULL: nobody looks */
	const struct link_host *host;	/* of the in-link and of all links */
	void *host_arg;
	uint16_t port;		/* where peers receive; 0: 4791 */
	int epfd;		/* gets the sockets with data.ptr = struct link_fd * */
	/* As in struct shm_cfg. */
	int (*own_fd)(int fd);
	void (*own_close)(int fd);
	/* Is the block of this destination QP number ours? */
	bool (*mine)(struct udp_ep *ep, uint32_t dqpn);
	/*
	 * A packet (BTH to pad, ICRC checked) for somebody else's block: a foreign
	 * sender's train was merged. The host hands it over.
	 */
	void (*foreign)(struct udp_ep *ep, const struct seg_net *net, uint32_t dqpn,
			const void *packet, size_t len);
	/* A congestion notification for this QP of ours. */
	void (*congestion)(struct udp_ep *ep, const struct seg_net *net, uint32_t dqpn);
	/* Sleeps until the socket takes something, at most ns: does it? NULL: never waits. */
	bool (*wait_writable)(int fd, ns_t ns);
	/* The time, for udp_hold(). NULL: no ACK ever waits. */
	ns_t (*now)(void);
};

/* Where a link goes. */
struct udp_path {
	struct seg_net net;	/* for segments without their own */
	uint32_t ifindex;	/* of the device's interface: packets leave there */
	uint32_t block;		/* of the destination QP numbers */
};

int udp_ep_create(const struct udp_cfg *cfg, struct udp_ep **ep);
void udp_ep_destroy(struct udp_ep *ep);
/* Sets what a socket of the group needs to be one of ours. 0 or -errno. */
int udp_ep_prepare_socket(int fd);
/* Takes the socket, also when it fails. 0 or -errno. */
int udp_ep_add_socket(struct udp_ep *ep, int fd);
const struct udp_stats *udp_ep_stats(const struct udp_ep *ep);

/* The link of this path, found or made; takes a reference. -ENOMEM, or the errno of socket(). */
int udp_link(struct udp_ep *ep, const struct udp_path *path, struct link **l);
/* The path of a link of this kind; NULL: it is of another. */
const struct udp_path *udp_link_path(const struct link *l);
/* The link that everything arrives by. */
struct link *udp_in(struct udp_ep *ep);
/*
 * Is there a way to dgid from sgid, by this interface? Asks the routing table.
 * 0, -ENETUNREACH, -EHOSTUNREACH, -EADDRNOTAVAIL ...
 */
int udp_route(const struct udp_path *path);

/* Multicast: this process receives what is sent to mgid on the interface. 0 or -errno; leave takes back one join. */
int udp_join(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex);
void udp_leave(struct udp_ep *ep, const uint8_t mgid[16], uint32_t ifindex);

/* Tells the peer's QP that its packets meet congestion; at most one per 50 us and link. */
void udp_cnp(struct link *l, uint16_t pkey, uint32_t dqpn, ns_t now);
/* A packet that another process handed over: as if it had arrived here. */
void udp_handed(struct udp_ep *ep, const struct seg_net *net, const void *packet, size_t len);

/*
 * From now on, may an ACK wait for what the program sends next (udp_hold.c)?
 * Whoever lets it calls udp_flush() when the program does something else, and
 * udp_flush_old() when it does nothing.
 */
void udp_hold(struct udp_ep *ep, bool may);
bool udp_holds(const struct udp_ep *ep);
/* Sends what waits. */
void udp_flush(struct udp_ep *ep);
/* The same, and waits for room where there is none: nobody will call again. */
void udp_settle(struct udp_ep *ep);
/* Sends what has waited too long; when it wants to be called again, or NS_NEVER. */
ns_t udp_flush_old(struct udp_ep *ep, ns_t now);

/* Delivers what has arrived, at most about budget packets; returns how many segments. */
int udp_poll(struct udp_ep *ep, int budget);
/* Is there a link that somebody refers to? Else a look now and then is enough. */
bool udp_busy(const struct udp_ep *ep);
/* Wakes the engine by epoll from now on, or no longer (somebody polls). */
void udp_want_wakeup(struct udp_ep *ep, bool want);

void udp_for_each(struct udp_ep *ep, void (*fn)(struct link *l, void *arg), void *arg);

#endif
