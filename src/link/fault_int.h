/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between fault.c, which judges, and fault_queue.c, which holds. */
#ifndef RUSE_LINK_FAULT_INT_H
#define RUSE_LINK_FAULT_INT_H

#include "link/fault.h"

/* What stands in the place of a link's ops and host. */
struct fault {
	struct link_ops ops;
	struct link_host host;
	const struct link_ops *under;
	const struct link_host *above;
	struct faults *f;
	enum fault_side side;
	uint32_t max_pkts;	/* the link's */
};

/* A packet that waits, with its payload. */
struct fault_held {
	struct list_head entry;
	struct link *link;	/* a reference */
	bool in;
	uint32_t overtake;	/* so many packets must pass it; 0: only due counts */
	ns_t due;
	const char *note;
	size_t size;		/* of the block */
	struct seg seg;
	struct seg_net net;
	struct iovec iov;
	uint8_t data[];
};

static inline struct fault *fault_of(const struct link *l)
{
	return container_of(l->ops, struct fault, ops);
}

/*
 * Copies the packet and holds it until due, or until overtake packets have
 * passed. 0, also when there was no room: then it is lost; -EFAULT: the payload
 * cannot be read.
 */
int fault_hold(struct link *l, const struct seg *seg, bool in, ns_t due, uint32_t overtake,
	       const char *note);
/* A packet has passed on this link: who has waited for it goes. */
void fault_passed(struct link *l, bool in);
/* All that is held of this link goes. */
void fault_release(struct link *l);

#endif
