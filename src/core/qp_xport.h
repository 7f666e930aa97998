/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport's state of a QP: requester (with completer) and responder.
 * Owned by xport/; here because struct qp embeds it. The rings that the
 * program can write never hold live protocol state: it is all in here.
 */
#ifndef RUSE_CORE_QP_XPORT_H
#define RUSE_CORE_QP_XPORT_H

#include <rdma/rdma_user_rxe.h>
#include "base/util.h"

struct link;

/* What a send WQE said, read once when its turn came; one cache line. */
struct req_wqe {
	uint64_t wr_id;
	uint64_t va;		/* remote address */
	uint64_t swap_add;	/* FLUSH: bytes of the range */
	union {
		uint64_t compare;
		uint32_t asked;	/* READ: packets from its first one on to the end of what was asked for last */
	};
	uint32_t first_psn;
	uint32_t npkts;		/* PSNs it takes (READ: its responses); 0 = local, or it failed before its first packet */
	uint32_t len;		/* payload bytes, 0..2^31 */
	uint32_t rkey;
	uint32_t imm;		/* immediate, rkey to invalidate, FETH, access of BIND_MW */
	uint8_t opcode;		/* enum ib_uverbs_wr_opcode */
	uint8_t type;		/* enum seg_type */
	uint8_t flags;		/* WQE_* */
	uint8_t num_sge;
	uint8_t status;		/* not 0: stops here, completes with this when it is the oldest */
};

_Static_assert(sizeof(struct req_wqe) == 64, "a WQE's state fills a cache line");

/* The low bits are the ABI's send_flags (IBV_SEND_*). */
#define WQE_FENCE 0x01
#define WQE_SIGNALED 0x02
#define WQE_SOLICITED 0x04
#define WQE_INLINE 0x08
/* A packet of it was sent, or it holds a READ/atomic credit: SQD lets it finish. */
#define WQE_STARTED 0x10
/* BIND_MW, LOCAL_INV: takes no PSN; done when WQE_STARTED is set. */
#define WQE_LOCAL 0x20

/*
 * Requester. Indices are slots of the SQ ring; sq.index <= cur <= tail:
 * [sq.index, cur) sent and not yet acknowledged, cur being sent,
 * (cur, tail) read but not sent (only after a step back).
 */
struct qp_req {
	/* Those of [sq.index, tail), by the low bits of the slot: few at first, more when they are needed. */
	struct req_wqe *wqe;
	uint32_t wqe_mask;	/* their number - 1, never more than sq.mask */
	uint32_t cur, tail, cur_pkt;	/* cur_pkt: packets of cur already sent */
	uint32_t psn;		/* first PSN of the WQE read next */
	uint32_t una, nxt;	/* oldest unacknowledged PSN; the first never sent */
	uint32_t window;	/* PSNs that may be unacknowledged, at most 2^22 */
	uint32_t unasked, ask_bytes;	/* bytes sent since the last AckReq; after so many there is one */
	uint32_t slow_start;	/* below, the window opens by what is acknowledged; 0: it does not move (xport/window.c) */
	uint32_t win_acked;	/* packets acknowledged since it last opened */
	uint32_t recover;	/* PSN that una must pass before the window is cut again */
	uint8_t mtu_shift;	/* log2 of the path MTU */
	uint8_t rd_out;		/* READs and atomics outstanding */
	uint8_t retry, rnr_retry;	/* attempts left */
	bool retrying;		/* went back on a NAK: no second time before progress or a timeout */
	bool blocked;		/* stopped for want of room on the link (or in the window) */
	bool local;		/* BIND_MW or LOCAL_INV was executed on this QP */
	bool overrun;		/* a completion found its CQ full: the QP is about to fail */
	bool direct_busy, direct_cqe;	/* something was placed directly; last with a completion */
	bool probing;		/* the oldest packet alone went out early */
	uint8_t early_shift;	/* that often since the last progress: each time it waits twice as long */
	uint32_t direct_polls;	/* ... when the program had polled that often */
	uint32_t rtt_at;	/* us, modulo 2^32: when the packets up to rtt_psn had been sent; 0: none is measured */
	ns_t deadline;		/* of the ack timer, NS_NEVER = not running */
	ns_t early;		/* on a link that loses: what is not answered by then goes out again; NS_NEVER */
	uint32_t rtt_psn;
	uint16_t srtt, rttvar;	/* in RTT_UNIT, xport/timer.c; srtt 0: never measured */
	ns_t rnr_until;		/* waits out an RNR NAK; 0 = does not */
};

/* A READ or atomic response that is owed. */
struct resp_res {
	uint64_t va;		/* of the next byte; atomic: the original value */
	uint32_t rkey;
	uint32_t psn;		/* of the next response packet */
	uint32_t len;		/* bytes to go */
	uint32_t msn : 24;
	uint32_t type : 4;	/* SEG_READ_RESP or SEG_ATOMIC_ACK */
	uint32_t started : 1;	/* its first packet was sent */
	uint32_t dup : 1;	/* of a duplicate request: takes no resource */
};

/* A READ or atomic that was executed, for its duplicates. */
struct __attribute__((packed, aligned(4))) resp_replay {
	uint64_t va;		/* atomic: the original value */
	uint32_t psn;		/* of its first response; UINT32_MAX: unused */
	uint32_t rkey;
	uint32_t len;		/* REPLAY_ATOMIC: it is an atomic's */
};

#define REPLAY_ATOMIC UINT32_MAX

/* The message whose middle we are in. */
enum resp_msg { RESP_MSG_NONE, RESP_MSG_SEND, RESP_MSG_WRITE };

struct qp_resp {
	uint8_t msg;		/* enum resp_msg */
	bool have_wqe;		/* a receive WQE is consumed and not completed */
	bool nak_sent;		/* sequence or RNR NAK: silence until the expected PSN comes */
	bool established;	/* COMM_EST was raised */
	bool ack_due;		/* ack_psn, ack_syn wait for room or for the READs before them */
	uint8_t ack_syn;
	uint8_t fatal_syn;	/* NAK that waits behind owed responses; then ERR */
	uint8_t fatal_status, fatal_event;
	uint8_t replay_next;
	uint32_t ack_psn;
	uint32_t ack_msn;
	uint32_t fatal_psn;
	uint32_t off;		/* payload bytes of the message placed so far */
	uint32_t resid;		/* WRITE: bytes to come */
	uint32_t rkey;
	uint64_t va;		/* WRITE: where the next byte goes */

	/*
	 * Where the last request came from, and answers go; a reference. Not
	 * always qp->link: two processes that connect at once have two links.
	 */
	struct link *from;

	/* The receive WQE, read once. */
	uint64_t wr_id;
	uint64_t room;		/* bytes in all of its list */
	uint32_t num_sge;
	struct rxe_sge *sge;	/* max_recv_sge of them */

	/*
	 * Rings of rd_size entries (0 or a power of two): owed responses, in PSN
	 * order from res_head, and what was executed last. One piece of memory, there
	 * from the first READ or atomic on.
	 */
	struct resp_res *res;
	struct resp_replay *replay;
	uint32_t rd_size;
	uint32_t res_head, res_count;
};

#endif
