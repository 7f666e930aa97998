/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault: a wrapper that loses, doubles, holds back and spoils packets by rules.
 *
 * It takes the place of the link's ops and host on the link that QPs already
 * have, above a capture, and goes again while they run. Meanwhile a segment is
 * one packet and nothing is placed directly, so that every packet is met.
 *
 * Between processes of a host a packet is judged once, when it is sent; at
 * its arrival only rules for the responder (RNR, NAKs) and those that cut off a
 * process or a device count. On a wire it is judged where it leaves and where
 * it arrives. What it does to a packet that goes on is what a network could
 * have done, so nothing above may hang or corrupt data.
 *
 * All functions hold the engine's lock.
 */
#ifndef RUSE_LINK_FAULT_H
#define RUSE_LINK_FAULT_H

#include "base/list.h"
#include "base/rand.h"
#include "link/link.h"
#include "wire/fault.h"

/* What rules ask of a packet that it does not say itself. */
struct fault_facts {
	uint32_t dev;		/* DEV_INDEX of our end, 0: not known */
	uint8_t peer[16];	/* GID of the other end, zero: not known */
	bool expected;		/* in: a request that the QP's responder is waiting for */
};

struct fault_host {
	ns_t (*now)(void);
	void (*facts)(const struct link *l, const struct seg *seg, bool in, struct fault_facts *f);
	/* Packets are held until then: call faults_run(). NS_NEVER: no more. */
	void (*wake)(ns_t when);
};

/* Of a process. */
struct faults {
	const struct fault_host *host;
	struct fault_count *count;	/* FAULT_MAX_RULES of them, shown to others */
	uint32_t proc;
	struct fault_table table;
	uint32_t nrules;		/* places to look at */
	struct fault_state {
		struct prng prng;
		uint64_t matched, acted;
		ns_t free_at;		/* RATE: when the next packet may go */
	} state[FAULT_MAX_RULES];
	struct list_head held;		/* struct fault_held, the next to go first */
	uint32_t nheld, noverdue;	/* all of them; those that wait for others to overtake */
	size_t held_bytes;
	ns_t retry_at;			/* a link had no room; 0: no */
};

/* Which way the link's packets are judged. */
enum fault_side {
	FAULT_LOCAL,	/* to another process, or our own */
	FAULT_EGRESS,	/* a path to another host */
	FAULT_INGRESS,	/* the link by which all from other hosts arrives */
};

/* counts: FAULT_MAX_RULES, stays the caller's. */
void faults_init(struct faults *f, const struct fault_host *host, struct fault_count *counts);
/* New rules. A rule that was there before goes on where it was. True: there is at least one. */
bool faults_set(struct faults *f, const struct fault_table *t, uint32_t proc);
/* Packets that are due go on. */
void faults_run(struct faults *f, ns_t now);

/*
 * For who has packets and no link: how many of this one go on, 0 if it is lost. What is
 * delayed or overtaken goes at once. The host's facts() gets no link.
 */
uint32_t faults_judge(struct faults *f, const struct seg *seg, enum fault_side side, bool in);

/* 0, also when it is wrapped already; -ENOMEM. f must outlive the wrapping. */
int fault_wrap(struct faults *f, struct link *l, enum fault_side side);
/* What it holds of the link goes on at once. Nothing if it is not wrapped. */
void fault_unwrap(struct link *l);

#endif
