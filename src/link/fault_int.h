/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by fault.c, which judges packets, fault_queue.c, which holds them, fault_rule.c, which keeps the rules, and fault_wr.c. */
#ifndef RUSE_LINK_FAULT_INT_H
#define RUSE_LINK_FAULT_INT_H

#include "link/fault.h"
#include "link/kept.h"

/* Replaces a link's ops and host. */
struct fault {
	struct link_ops ops;
	struct link_user_ops host;
	const struct link_ops *under;
	const struct link_user_ops *above;
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
	struct seg_kept kept;
	uint8_t data[];
};

static inline struct fault *fault_of(const struct link *l)
{
	return container_of(l->ops, struct fault, ops);
}

/* Does the rule, which has matched (st->matched), act? */
bool faults_acts(const struct fault_rule *r, struct fault_state *st);
/* Publish the counts of matches and actions; those since the last call are about these QPs (struct fault_act). */
void faults_show(struct faults *f, uint32_t qpn, uint32_t peer_qpn);

/*
 * fault_wr.c, for a packet to send: 0: no rule makes its work request fail. *sent: it was passed on, with this result of
 * send(). Else the result of send().
 */
int fault_wr_send(struct link *l, const struct seg *seg, bool *sent);
/* For a packet that has arrived: sets seg->refuse and seg->msn if a rule makes its receive, or its work request, fail. */
void fault_wr_input(struct link *l, struct seg *seg);
/* For a packet to send to a QP of this host: notes in the link that it hangs. Only if there are rules FAULT_HANG. */
void fault_wr_peer(struct link *l, const struct seg *seg);
/* Is it lost, because the QP to which it came hangs? Only if there are rules FAULT_HANG. */
bool fault_wr_lost(struct link *l, const struct seg *seg);
/* fault.c: sends a packet that was judged, and clears l->note. */
int fault_pass_send(struct link *l, const struct seg *seg);

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
