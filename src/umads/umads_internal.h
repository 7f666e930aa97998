/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of this room. */
#ifndef RUSE_UMADS_INTERNAL_H
#define RUSE_UMADS_INTERNAL_H

#include "loop/loop.h"
#include "umads/umads.h"
#include "ipc/umad_shm.h"

struct umad_node {
	struct umads *us;
	struct umad_view *view;
	uint32_t number;
	struct umad_desc desc;
	char ibdev[64];
	struct umad_port port;
};

struct umad_fd {
	struct list_head node;	/* only for freeing */
	struct umad_node *of;
	struct loop_fd f;
	struct umad_file *file;	/* NULL: issmN */
	struct umad_sm sm;
	uint32_t number;
	int pid;		/* of the process that has opened it */
	uint32_t seq;		/* number of the last packet that was too long for the ring */
	bool marked;		/* a packet that is too long is next; the ring has its number */
	bool held;		/* that packet was copied by a READ, but not taken yet */

	/* Used by ring.c. */
	struct umad_shm *shm;	/* NULL: issmN */
	struct inbox_writer box;	/* of shm->inbox */
	bool posted, begun;	/* posted: umad_write() runs for a posted MAD; begun: for this MAD, umad_fd_begun() was called */
};

_Static_assert(offsetof(struct umad_fd, node) == 0, "freed by its node");

/* Closes the open umadN and issmN of a node whose device port was removed. */
void umad_close_node(struct umad_node *n);

/* Creates the shared memory. *fd: its memfd, owned by the caller. 0 or -errno. */
int umad_ring_open(struct umad_fd *u, int *fd);
/* Tells programs that the file is gone and unmaps its shared memory. No effect if there is none. */
void umad_ring_close(struct umad_fd *u);
/* Sends a posted MAD: the bytes of a write(). */
void umad_ring_send(struct umad_fd *u, const uint8_t *data, size_t len);
/* Moves received packets to the ring while there is room. */
void umad_ring_show(struct umad_fd *u);
/* Call after the program has taken the packet that was too long for the ring: frees the slot of the ring that had its number. */
void umad_ring_unmark(struct umad_fd *u);
/* After an ioctl: updates the agents and the header length in the memory. */
void umad_ring_agents(struct umad_fd *u, uint32_t cmd, const void *arg);

#endif
