/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections to other hosts, over UDP port 4791. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_WIRE_H
#define RUSE_ENGINE_WIRE_H

#include "core/qp.h"
#include "engine/pollstate.h"
#include "ipc/ipc.h"
#include "ipc/pages.h"
#include "link/link.h"

struct udp_ep;

/* In struct engine. A forked child starts without an endpoint, because its descriptors are closed there. */
struct wire {
	struct udp_ep *ep;
	int park[2];		/* wire_park(); -1: none */
	int error;		/* why there is no endpoint, -errno; 0: there was no attempt */
	ns_t await_until;	/* no QP waits for a socket after this time; 0: none has waited (lease.c) */
	uint64_t sockets[QPN_BLOCKS / 64];	/* a bit per block of QP numbers: 1: it has a socket */
	struct pollstate_idle idle;	/* of the sockets, while there is no link to another host */
	uint32_t last_gid;	/* index of the GID to which the last packet for a UD QP was addressed */
};

/* Call before the other functions. */
void wire_begin(void);
/*
 * rused has answered the lease of a block of QP numbers. fds are the block's UDP socket and the two
 * ends of the park (wire_park()), or none: then l->wire_error says why. Takes ownership of fds.
 */
void wire_leased(uint32_t block, const struct ipc_lease *l, const int *fds, int nfds);
/* True: the block of QP numbers has no socket, and rused is to be asked for one. */
bool wire_wanted(uint32_t block);
/*
 * The two ends of the park, a pair of Unix sockets whose queue keeps the host's UDP sockets open
 * while no rused runs. attach.c sends them to a new rused. The caller must not close them. Returns
 * the number of descriptors: 2, or 0 if this process has no park.
 */
int wire_park(int fds[2]);

/*
 * The link of the QP's path, with a reference. 0 or -errno; -EINVAL: the path MTU does not fit the
 * interface; -ENETUNREACH and other errors of routing; or the reason why there is no endpoint.
 */
int wire_link(const struct qp *qp, struct link **link);
/*
 * rdev_ops.ah_route(): 0, or -ENETUNREACH or -EHOSTUNREACH if the host has no route to the destination, as
 * rdma_resolve_ip() of Linux 6.1 answers. An address of this host, a multicast group and RoCEv1 need none.
 */
int wire_ah_route(struct rdev *dev, const struct ib_uverbs_ah_attr *ah);
/* The link for UD packets to a block of QP numbers of any host. Each packet has its own addresses (seg.net). */
int wire_ud_link(const struct rdev *dev, uint32_t block, struct link **link);
/* Is there an endpoint? */
bool wire_up(void);

/* A packet for this process that another process of this host has received. */
void wire_handed(const struct seg *seg);
/* rdev_ops.mcast: join or leave the IP multicast group on the device's interface. 0 or -errno. */
int wire_mcast(struct rdev *dev, const uint8_t mgid[16], bool join);

/* Deliver what has arrived. Returns the number of segments. */
int wire_poll(int budget);
/* True: there is no traffic with other hosts, and no ACK is held back. */
bool wire_quiet(void);
/* Permit or forbid that ACKs wait for the program's next message: udp_hold() in link/udp.h. */
void wire_hold(bool may);
/* Is an ACK held back for the program's next message? */
bool wire_holds(void);
/* Send the ACKs that are held back. */
void wire_flush(void);
/* Send the held ACKs before the process ends. Unlike wire_flush(), waits for room if a socket is full. */
void wire_settle(void);
/* Send the ACKs that were held too long. Returns when to call again, or NS_NEVER. */
ns_t wire_flush_old(ns_t now);
/* want: arriving packets wake the progress thread. Not needed while the program polls. */
void wire_want_wakeup(bool want);
/* The destination address of a link of the wire (all 0: any). NULL: another kind of link. */
const uint8_t *wire_peer(const struct link *l);
/* Call fn for each link to another host. */
void wire_for_each(void (*fn)(struct link *l, void *arg), void *arg);
/* The link on which all packets from other hosts arrive. NULL: no endpoint. */
struct link *wire_in(void);

#endif
