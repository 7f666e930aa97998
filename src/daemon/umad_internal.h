/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between umad.c, umad_node.c and umad_ring.c. */
#ifndef RUSE_DAEMON_UMAD_INTERNAL_H
#define RUSE_DAEMON_UMAD_INTERNAL_H

#include "daemon/loop.h"
#include "daemon/umad.h"
#include "ipc/umad_shm.h"

struct umad_node {
	struct rused *r;
	struct umad_view *view;
	uint32_t number;
	struct umad_desc desc;
	char ibdev[64];
	struct umad_port port;
};

struct umad_fd {
	struct list_head node;	/* only when it is freed */
	struct umad_node *of;
	struct loop_fd f;
	struct umad_file *file;	/* NULL: issmN */
	struct umad_sm sm;
	uint32_t number;
	uint32_t seq;		/* of the last long packet */
	bool marked;		/* that is next, and its number is in the ring */
	bool held;		/* and was given out, not taken yet */

	/* umad_ring.c */
	struct umad_shm *shm;	/* NULL: issmN */
	struct loop_fd kick;	/* eventfd: something has been written there */
	struct list_head ring;	/* umads.rings, looked at while we are awake; else empty */
	bool watched;		/* the programs know that */
	uint32_t rx, tx;	/* our positions */
	bool full;		/* something waits for room */
	bool fetched, begun;	/* a MAD of the ring is being sent, and has been begun */
};

_Static_assert(offsetof(struct umad_fd, node) == 0, "freed by its node");

/* Closes what is open of a node, whose port has been removed. */
void umad_close_node(struct umad_node *n);

/* The memory of a file: 0, its descriptor, the caller's, and that of u->kick, ours; or -errno. */
int umad_ring_open(struct umad_fd *u, int fds[2]);
/* Of a file that ends. Twice is harmless. */
void umad_ring_close(struct umad_fd *u);
/* Sends what was posted before now, as many as the ring holds at most. */
void umad_ring_send(struct umad_fd *u);
/* Shows what is to be read, as far as there is room. */
void umad_ring_show(struct umad_fd *u);
/* The long packet that is shown has been read. */
void umad_ring_unmark(struct umad_fd *u);
/* cmd has been done with arg: agents, and the length of headers, may be others now. */
void umad_ring_agents(struct umad_fd *u, uint32_t cmd, const void *arg);

#endif
