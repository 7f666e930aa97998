/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fault rules as data. rused parses `ruse fault` commands into rules in the host
 * page, which all processes map; link/fault.h copies and applies them. A reader treats
 * them as input from another process: a number outside its enum must do no harm.
 *
 * Rules are about packets, or about calls, work requests, completions or QPs. Those of the second kind
 * (FAULT_ON_LINKS does not have their action) are applied where these are, with faults_strike() of link/fault.h.
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
	FAULT_FAIL,	/* the call (enum fault_call in `call`) fails with the errno in fault_rule.error */
	FAULT_COMPLETE,	/* a work request completes with the status (enum ibv_wc_status) in fault_rule.error */
	FAULT_HOLD,	/* a completion becomes visible later, by fault_rule.delay */
	FAULT_HANG,	/* the QP, or each QP of the process, sends and receives nothing and has no timeouts */
	FAULT_CM_REJECT,	/* a request to connect is rejected with the reason in fault_rule.error */
	FAULT_CM_DROP,		/* a message of the communication manager is lost */
	FAULT_CM_DELAY,		/* it arrives later, by fault_rule.delay */
	FAULT_CM_UNREACHABLE,	/* a step of connecting fails: `call` is an enum fault_step */
	FAULT_NACTIONS
};

/* FAULT_CM_UNREACHABLE: the step that fails, and how. */
enum fault_step {
	FAULT_STEP_PEER,	/* a message that awaits an answer gets none, at once */
	FAULT_STEP_NETWORK,	/* rdma_resolve_addr() fails: there is no route */
	FAULT_STEP_HOST,	/* ADDR_ERROR: no neighbour answers within the time limit */
	FAULT_STEP_ROUTE,	/* InfiniBand: ROUTE_ERROR: the SA does not answer within the time limit */
};

/* Actions whose rules are looked at for each packet of a link. */
#define FAULT_ON_LINKS                                                                  \
	(1u << FAULT_DROP | 1u << FAULT_CORRUPT | 1u << FAULT_DUPLICATE | 1u << FAULT_REORDER | \
	 1u << FAULT_DELAY | 1u << FAULT_RATE | 1u << FAULT_RNR | 1u << FAULT_ERROR |     \
	 1u << FAULT_DOWN | 1u << FAULT_FREEZE | 1u << FAULT_COMPLETE | 1u << FAULT_HANG)

/* Selects among the matching packets, calls or work requests. Each process counts its own. */
enum fault_when {
	FAULT_ALWAYS,
	FAULT_CHANCE,	/* with probability n / FAULT_CERTAIN; each rule has its own random numbers */
	FAULT_NTH,	/* the n-th packet and all later ones */
	FAULT_EVERY,	/* every n-th packet */
};
#define FAULT_CERTAIN 1000000000u

enum fault_dir { FAULT_BOTH, FAULT_OUT, FAULT_IN };

/* fault_rule.by: criteria of the rule. A packet, call or work request must meet all of them. */
#define FAULT_BY_SERVICE 0x001
#define FAULT_BY_OP 0x002
#define FAULT_BY_QP 0x004	/* source or destination QP */
#define FAULT_BY_SQP 0x008	/* source QP; a packet received from a wire contains it only on UD */
#define FAULT_BY_DQP 0x010
#define FAULT_BY_DEV 0x020
#define FAULT_BY_PEER 0x040
#define FAULT_BY_PSN 0x080
#define FAULT_BY_SIZE 0x100
#define FAULT_BY_PROC 0x200
#define FAULT_BY_PORT 0x400	/* port number of rdma_cm */

/*
 * fault_rule.ops of FAULT_FAIL and FAULT_COMPLETE: a bit for each opcode of a work request (enum ib_uverbs_wr_opcode),
 * and one for receives.
 */
#define FAULT_OP_RECV (1u << 31)

/* FAULT_COMPLETE, fault_rule.error: values of enum ibv_wc_status. */
#define FAULT_WC_LOC_LEN 1
#define FAULT_WC_LOC_QP_OP 2
#define FAULT_WC_LOC_PROT 4
#define FAULT_WC_BAD_RESP 7
#define FAULT_WC_LOC_ACCESS 8
#define FAULT_WC_REM_INV_REQ 9
#define FAULT_WC_REM_ACCESS 10
#define FAULT_WC_REM_OP 11
#define FAULT_WC_RETRY_EXC 12
#define FAULT_WC_RNR_RETRY_EXC 13

/* FAULT_ERROR, fault_rule.error: an AETH NAK syndrome (sent by the responder), or an error of the requester. */
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
	uint32_t ops;		/* bit mask by enum bth_op, or FAULT_OP_*; FAULT_CM_*: by enum cm_attr from REQ on */
	uint32_t port;
	uint32_t qpn, sqpn, dqpn;
	uint32_t dev;		/* DEV_INDEX */
	uint32_t proc;		/* FAULT_FREEZE, FAULT_BY_PROC: the process, by the number that rused assigned to it */
	uint32_t psn_lo, psn_hi;	/* inclusive */
	uint32_t size_lo, size_hi;	/* payload bytes */
	uint32_t count;
	uint32_t call;		/* FAULT_FAIL: enum fault_call; FAULT_CM_UNREACHABLE: enum fault_step */
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

/*
 * Entry of proc_page.act: what a rule has done in this process to packets between two QPs. The oldest entries make room
 * for new ones.
 */
#define FAULT_ACTS 64
struct fault_act {
	uint32_t rule;		/* fault_rule.id; 0: free */
	uint32_t qpn, peer_qpn;	/* of this process; of the other end, 0: not known */
	uint32_t pad;
	uint64_t n;
	uint64_t first, last;	/* host clock, ns */
};

#endif
