/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UDP port 4791 of a host: one SO_REUSEPORT group of dual-stack sockets, in
 * which a BPF program picks the member by the block of the destination QP
 * number (design 2.4, item 19).
 *
 * A member is known by its place in the group, its slot. Slot 0 takes what is
 * for nobody; a leased block gets a slot that is free, or a new one. Nothing
 * ever leaves the group: the kernel would put its last member in the gap.
 * So that the group survives rused, each socket also lies, in flight, in a
 * pair of Unix sockets that every lessee holds: the park. The first thing in
 * it is the lock: an abstract Unix socket that keeps a second rused of this
 * user and network namespace from joining the group.
 */
#ifndef RUSE_DAEMON_PORT_H
#define RUSE_DAEMON_PORT_H

#include "daemon/loop.h"

struct rused;

#define PORT_SLOTS 256
struct port {
	int lock, park[2];	/* -1 = not open */
	int slot[PORT_SLOTS];	/* the group, in its order */
	uint32_t nslots;	/* 0 = not open */
	struct loop_fd drop;	/* slot 0: QP1's, and what is for nobody */
	int err;		/* why it could not be opened, 0 */
};

/* As if no port were open. */
void port_init(struct port *p);
void port_fini(struct rused *r);
/* Opens the port if it is not: for packets to QP1. 0 or -errno, as port_lease(). */
int port_want(struct rused *r);
/*
 * The socket of a leased block: its own from now on, steered to, emptied. A
 * descriptor that stays the port's. -EADDRINUSE: somebody else has the port
 * (kernel rxe, another user's or directory's rused); -EAGAIN: a process that
 * has not come back yet holds the park; -ENOSPC, -EMFILE ...
 */
int port_lease(struct rused *r, uint32_t block);
/* A block changed hands. */
void port_steer(struct rused *r);
/* A process of a former rused brings the park: ours, unless we have one. Takes neither descriptor. 0 or -errno. */
int port_adopt(struct rused *r, const int park[2]);

/* The program, for its test: n pairs of block and slot, in any order. Returns its length, 0: no room. */
struct sock_filter;
struct port_steering {
	uint32_t block, slot;
};
uint32_t port_program(const struct port_steering *s, uint32_t n, struct sock_filter *prog,
		      uint32_t room);

#endif
