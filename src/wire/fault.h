/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fault rules as data: rused makes them of what people type, the host page
 * carries them, link/fault.h obeys. Readers take them for a stranger's.
 */
#ifndef RUSE_WIRE_FAULT_H
#define RUSE_WIRE_FAULT_H

#include "base/util.h"

#define FAULT_MAX_RULES 32

enum fault_action {
	FAULT_NONE,
	FAULT_DROP,
	FAULT_CORRUPT,	/* out on a wire with a wrong bit; anywhere else lost, as its ICRC would have it */
	FAULT_DUPLICATE,	/* count: copies beside the packet */
	FAULT_REORDER,	/* count: packets that overtake it */
	FAULT_DELAY,	/* delay, jitter */
	FAULT_RATE,	/* rate */
	FAULT_RNR,	/* the responder answers as if no receive were posted */
	FAULT_ERROR,	/* error */
	FAULT_DOWN,	/* nothing gets in or out of the device */
	FAULT_FREEZE,	/* nothing gets in or out of the process */
	FAULT_NACTIONS
};

/* Which of the packets that match; nth and every count in each process by itself. */
enum fault_when {
	FAULT_ALWAYS,
	FAULT_CHANCE,	/* n of FAULT_CERTAIN, by the rule's own random numbers */
	FAULT_NTH,	/* from the n-th on */
	FAULT_EVERY,	/* each n-th */
};
#define FAULT_CERTAIN 1000000000u

enum fault_dir { FAULT_BOTH, FAULT_OUT, FAULT_IN };

/* fault_rule.by: criteria that count. All of them must hold. */
#define FAULT_BY_SERVICE 0x001
#define FAULT_BY_OP 0x002
#define FAULT_BY_QP 0x004	/* either end */
#define FAULT_BY_SQP 0x008	/* on a wire no packet that arrives tells it but UD's */
#define FAULT_BY_DQP 0x010
#define FAULT_BY_DEV 0x020
#define FAULT_BY_PEER 0x040
#define FAULT_BY_PSN 0x080
#define FAULT_BY_SIZE 0x100

/* fault_rule.error: an AETH NAK syndrome, which the responder sends, or one of the requester's own. */
#define FAULT_LOC_PROT 1
#define FAULT_LOC_QP_OP 2

struct fault_rule {
	uint32_t id;		/* 1.., never given again; 0: free */
	uint8_t action;		/* enum fault_action */
	uint8_t when;		/* enum fault_when */
	uint8_t dir;		/* enum fault_dir */
	uint8_t service;	/* enum seg_service */
	uint32_t by;		/* FAULT_BY_* */
	uint32_t n;		/* of when */
	uint32_t times;		/* acts so often in each process; 0: no end */
	uint32_t ops;		/* bits by enum bth_op */
	uint32_t qpn, sqpn, dqpn;
	uint32_t dev;		/* DEV_INDEX */
	uint32_t proc;		/* FREEZE: the number that rused gave it */
	uint32_t psn_lo, psn_hi;	/* both included */
	uint32_t size_lo, size_hi;	/* payload bytes */
	uint32_t count;
	uint32_t error;
	uint64_t delay, jitter;	/* ns; the delay is within jitter of delay */
	uint64_t rate;		/* bits a second, not 0 */
	uint8_t peer[16];	/* GID of the other end */
};

struct fault_table {
	uint32_t version;	/* another number after every change; 0: there was never a rule */
	uint32_t seeded;	/* one up when the seed was set: random numbers start again */
	uint64_t seed;
	struct fault_rule rule[FAULT_MAX_RULES];
};

/* What a process has done by the rule in the same place; in its process page. */
struct fault_count {
	uint32_t id, pad;	/* of the rule that the counts are of */
	uint64_t matched, acted;
};

#endif
