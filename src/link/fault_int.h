/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by fault.c, which judges packets, and fault_queue.c, which holds them. */
#ifndef RUSE_LINK_FAULT_INT_H
#define RUSE_LINK_FAULT_INT_H

#include "link/fault.h"

/* Replaces a link's ops and host. */
struct fault {
	struct link_ops ops;
	struct link_host host;
	const struct link_ops *under;
	const struct link_host *above;
	struct faults *f;
	enum fault_side side;
	uint32_t max_pkts;	/* the link's own value */
	bool lossy;		/* the link's own value */
};

/* A held packet with its payload. */
struct fault_held {
	struct list_head entry;
	struct link *link;	/* a reference */
	bool in;
	uint32_t overtake;	/* packets that must still overtake this one; 0: it waits for `due` only */
	ns_t due;
	const char *note;
	size_t size;		/* of this allocation */
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
 * Copy a packet and hold it until due, or until `overtake` packets have passed (0: until due only).
 * 0; also 0 if too many packets are held or memory is short, and the packet is lost. -EFAULT: the
 * payload is unreadable.
 */
int fault_hold(struct link *l, const struct seg *seg, bool in, ns_t due, uint32_t overtake,
	       const char *note);
/* A packet has passed on this link: count it for the packets that are to be overtaken. */
void fault_passed(struct link *l, bool in);
/* Pass on all held packets of this link. */
void fault_release(struct link *l);

#endif
