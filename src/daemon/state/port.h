/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UDP port 4791 of the host: an SO_REUSEPORT group of dual-stack sockets. A BPF program selects the
 * socket by the destination QP number, more precisely by its block: the 16384 numbers that rused
 * leases to a process at once (lease.h).
 *
 * A socket is identified by its index in the group, its slot. Slot 0 gets packets that belong to no
 * leased block. A leased block gets a free slot, or a new one. No socket leaves the group, as the
 * kernel would move the last member into its index.
 *
 * The group must survive rused. Therefore a copy of each socket's descriptor waits, sent but never
 * received, in a pair of Unix sockets: the park. Every process that got a socket with a lease holds
 * both ends. The park's first message carries the lock, an abstract Unix socket that keeps a second
 * rused of this network namespace from joining the group.
 */
#ifndef RUSE_DAEMON_STATE_PORT_H
#define RUSE_DAEMON_STATE_PORT_H

#include "loop/loop.h"

struct gsi;
struct lease_table;

#define PORT_SLOTS 256
#define PORT_RETRY NS_S
struct port {
	struct loop *loop;
	struct lease_table *leases;
	struct gsi *gsi;		/* gets the packets for QP1 */
	int lock, park[2];	/* -1 = not open */
	int slot[PORT_SLOTS];	/* descriptors of the sockets, by their index in the group (slot) */
	uint32_t nslots;	/* 0 = not open */
	struct loop_fd drop;	/* slot 0, as the event loop watches it */
	int err;		/* result of the last port_want() or port_lease(): 0 or -errno */
	struct timer retry;	/* armed while the port is wanted and closed */
	void (*opened)(struct port *p);	/* called after a retry that has opened the port */
};

/* Sets the state "not open". opened: see struct port. */
void port_init(struct port *p, struct loop *l, struct lease_table *leases, struct gsi *gsi,
	       void (*opened)(struct port *p));
void port_fini(struct port *p);
/*
 * Opens UDP port 4791 if it is closed, so that packets to QP1 arrive. 0, or -errno as for port_lease(); then the
 * failure is logged once, and the port is tried again every PORT_RETRY until it is open. Another rused may hold it for
 * a moment only: that of a container that has ended and whose processes the kernel still kills.
 */
int port_want(struct port *p);
/*
 * Returns the socket of a leased block of QP numbers. It is empty, and the block's packets are steered to it. It
 * stays owned by struct port. -EADDRINUSE: UDP port 4791 is used by kernel rxe or another rused; -EAGAIN: the park (see
 * above) is held by a process that has not reconnected to this rused yet; -ENOSPC, -EMFILE ...
 */
int port_lease(struct port *p, uint32_t block);
/* Updates the BPF program. Call after a block of QP numbers was leased or returned. */
void port_steer(struct port *p);
/*
 * If UDP port 4791 is closed in this rused, takes over the sockets and the lock of an earlier rused from the park
 * that a process holds (see above). Duplicates both descriptors. 0 or -errno.
 */
int port_adopt(struct port *p, const int park[2]);

#endif
