/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fault rules as data. rused parses `ruse fault` commands into rules in the host
 * page, which all processes map; link/fault.h copies and applies them. A reader treats
 * them as input from another process: a number outside its enum must do no harm.
 */
#ifndef RUSE_WIRE_FAULT_H
#define RUSE_WIRE_FAULT_H

#include "base/util.h"

#define FAULT_MAX_RULES 32

enum fault_action {
	FAULT_NONE,
	FAULT_DROP,
	FAULT_CORRUPT,	/* inverts one bit of a packet sent on a wire; drops any other packet, as for a wrong ICRC */
	FAULT_DUPLICATE,	/* count: additional copies */
	FAULT_REORDER,	/* count: packets that overtake this one */
	FAULT_DELAY,	/* delay, jitter */
	FAULT_RATE,	/* rate */
	FAULT_RNR,	/* a request that needs a receive WQE: the QP that receives it answers with an RNR NAK */
	FAULT_ERROR,	/* the QP reports the error in fault_rule.error */
	FAULT_DOWN,	/* the device sends and receives nothing */
	FAULT_FREEZE,	/* the process sends and receives nothing */
	FAULT_NACTIONS
};

/* Selects among the matching packets. Each process counts its own packets. */
enum fault_when {
	FAULT_ALWAYS,
	FAULT_CHANCE,	/* with probability n / FAULT_CERTAIN; each rule has its own random numbers */
	FAULT_NTH,	/* the n-th packet and all later ones */
	FAULT_EVERY,	/* every n-th packet */
};
#define FAULT_CERTAIN 1000000000u

enum fault_dir { FAULT_BOTH, FAULT_OUT, FAULT_IN };

/* fault_rule.by: criteria of the rule. A packet must meet all of them. */
#define FAULT_BY_SERVICE 0x001
#define FAULT_BY_OP 0x002
#define FAULT_BY_QP 0x004	/* source or destination QP */
#define FAULT_BY_SQP 0x008	/* source QP; a packet received from a wire contains it only on UD */
#define FAULT_BY_DQP 0x010
#define FAULT_BY_DEV 0x020
#define FAULT_BY_PEER 0x040
#define FAULT_BY_PSN 0x080
#define FAULT_BY_SIZE 0x100

/* fault_rule.error: an AETH NAK syndrome (sent by the responder), or an error of the requester. */
#define FAULT_LOC_PROT 1
#define FAULT_LOC_QP_OP 2

struct fault_rule {
	uint32_t id;		/* from 1, never reused; 0: free entry */
	uint8_t action;		/* enum fault_action */
	uint8_t when;		/* enum fault_when */
	uint8_t dir;		/* enum fault_dir */
	uint8_t service;	/* enum seg_service */
	uint32_t by;		/* FAULT_BY_* */
	uint32_t n;		/* argument of when */
	uint32_t times;		/* how often each process may apply the rule; 0: no limit */
	uint32_t ops;		/* bit mask by enum bth_op */
	uint32_t qpn, sqpn, dqpn;
	uint32_t dev;		/* DEV_INDEX */
	uint32_t proc;		/* FAULT_FREEZE: the process to freeze, by the number that rused assigned to it */
	uint32_t psn_lo, psn_hi;	/* inclusive */
	uint32_t size_lo, size_hi;	/* payload bytes */
	uint32_t count;
	uint32_t error;
	uint64_t delay, jitter;	/* ns; range: delay - jitter to delay + jitter */
	uint64_t rate;		/* bits per second, not 0 */
	uint8_t peer[16];	/* GID of the remote end */
};

struct fault_table {
	uint32_t version;	/* changes with every change of the rules; 0: no rule was ever added */
	uint32_t seeded;	/* incremented when the seed is set: random numbers restart */
	uint64_t seed;
	struct fault_rule rule[FAULT_MAX_RULES];
};

/* Entry of proc_page.fault: how often the rule with the same index has matched and has acted in this process. */
struct fault_count {
	uint32_t id, pad;	/* id of the rule counted */
	uint64_t matched, acted;
};

#endif
