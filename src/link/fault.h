/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault: a wrapper that drops, duplicates, delays, reorders and corrupts packets by rules.
 *
 * fault_wrap() replaces link.ops and link.host (the callbacks of the link's user) while the link is
 * in use; fault_unwrap() restores them. If the link is captured too, fault is the outer wrapper and
 * capture the inner one. While a link is wrapped, the rules see every packet: direct placement
 * (link_ops.direct), which has no packets, is off, a link to another process carries one packet per
 * segment, and segments to and from a wire are judged packet by packet.
 *
 * A packet between processes of a host is judged once, when it is sent. When it arrives, only rules
 * for the responder (RNR, NAK) and rules that cut off a process or device apply. A packet on a wire
 * is judged where it leaves and where it arrives.
 *
 * Most rules do what a network may do to packets. RNR, ERROR and COMPLETE make the QP's responder send a NAK,
 * or its requester complete a WQE with an error, as the specification allows (fault_wr.c: COMPLETE, and HANG). With any rules, the
 * layers above must neither hang nor deliver wrong data.
 *
 * The caller of all functions holds the engine lock.
 */
#ifndef RUSE_LINK_FAULT_H
#define RUSE_LINK_FAULT_H

#include "base/list.h"
#include "base/rand.h"
#include "link/link.h"
#include "wire/fault.h"

/* What rules need to know about a packet besides its contents. */
struct fault_facts {
	uint32_t dev;		/* index of this end's device (RDMA_NLDEV_ATTR_DEV_INDEX); 0: unknown */
	uint8_t peer[16];	/* GID of the other end; zero: unknown */
	bool expected;		/* it is an arriving request, and the one that the QP's responder expects next */
	bool first;		/* it is the first packet of a work request, sent for the first time */
	bool receives;		/* it is an arriving packet that consumes a receive, and there is one */
};

struct fault_ops {
	ns_t (*now)(void);
	void (*facts)(const struct link *l, const struct seg *seg, bool in, struct fault_facts *f);
	/* Call faults_run() at this time. NS_NEVER: no packet is held. */
	void (*wake)(ns_t when);
};

/* The rules of a process and their state. */
struct faults {
	const struct fault_ops *host;
	struct fault_count *count;	/* FAULT_MAX_RULES counters, readable by other processes */
	uint64_t acted;			/* of all rules, also deleted ones */
	struct fault_act *act;		/* FAULT_ACTS entries, readable by other processes; NULL: none are kept */
	uint32_t proc;
	struct fault_table table;
	uint32_t nrules;		/* rules in use are below this index */
	uint32_t actions;		/* bit mask by enum fault_action: there are rules with this action */
	struct fault_state {
		struct prng prng;
		uint64_t matched, acted;
		ns_t free_at;		/* RATE: when the next packet may leave */
	} state[FAULT_MAX_RULES];
	struct list_head held;		/* struct fault_held, by due time */
	uint32_t nheld, noverdue;	/* number of held packets; number of those with overtake > 0 */
	size_t held_bytes;
	ns_t retry_at;			/* time of the next attempt to send a held packet on a full link; 0: none */
};

/* Where the packets of a link are judged. */
enum fault_side {
	FAULT_LOCAL,	/* link to a process of this host (shm), or of this process to itself (loop) */
	FAULT_EGRESS,	/* link to another host */
	FAULT_INGRESS,	/* the link on which packets from other hosts arrive */
};

/* counts has FAULT_MAX_RULES entries, acts FAULT_ACTS or is NULL; they belong to the caller. */
void faults_init(struct faults *f, const struct fault_ops *host, struct fault_count *counts,
		 struct fault_act *acts);
/* Install new rules. A rule whose id existed before keeps its state. Afterwards f->actions says what there is. */
void faults_set(struct faults *f, const struct fault_table *t, uint32_t proc);

/* A call, work request, completion or message of the CM: what rules need to know of it. 0: it has none, or it is not known. */
struct fault_case {
	enum fault_action action;
	uint32_t call;		/* enum fault_call */
	uint32_t ops;		/* FAULT_OP_* */
	uint32_t dev, qpn;
	uint32_t services;	/* bit mask by enum seg_service: a single bit */
	uint32_t port;		/* of rdma_cm */
	const uint8_t *peer;	/* GID of the other end; NULL: not known */
	enum fault_dir dir;	/* of a message; FAULT_BOTH: within the host */
};

/* Is there a rule with this action for the case? Nothing counts. */
bool faults_concern(const struct faults *f, const struct fault_case *c);
/*
 * Does a rule with this action act? It then counts, and is returned. NULL: none. The result is valid until the next
 * faults_set().
 */
const struct fault_rule *faults_strike(struct faults *f, const struct fault_case *c);

/* The number of the rule with which the QP hangs; 0: it does not. */
uint32_t faults_hang(const struct faults *f, uint32_t qpn);

/* The rule by which the QP hangs or the process is frozen; NULL: none. Valid until the next faults_set(). */
const struct fault_rule *faults_cut(const struct faults *f, uint32_t qpn);

/* Pass on the held packets that are due. */
void faults_run(struct faults *f, ns_t now);

/*
 * Judge a packet that does not pass a link, such as a MAD of rused. Returns how many copies of it
 * the caller must deliver, 0 if it is lost. Delays and reordering are ignored. fault_ops.facts()
 * is called with l = NULL.
 */
uint32_t faults_judge(struct faults *f, const struct seg *seg, enum fault_side side, bool in);

/* Wrap the link. 0, also if it is wrapped already; -ENOMEM. f must live until the link is unwrapped. */
int fault_wrap(struct faults *f, struct link *l, enum fault_side side);
/*
 * Pass on the packets that are held for the link, and unwrap it. Does nothing if it is not wrapped.
 */
void fault_unwrap(struct link *l);

#endif
