/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transport state of a QP: requester (with completer) and responder. Only xport/ uses it;
 * it is defined in core/ because struct qp embeds it. All protocol state is here and none
 * in the rings, which the program can write at any time.
 */
#ifndef RUSE_CORE_QP_XPORT_H
#define RUSE_CORE_QP_XPORT_H

#include <rdma/rdma_user_rxe.h>
#include "base/util.h"

struct link;

/* A send WQE, read once from the ring before its first packet; fills a cache line. */
struct req_wqe {
	uint64_t wr_id;
	uint64_t va;		/* remote address */
	uint64_t swap_add;	/* FLUSH, BIND_MW: bytes of the range */
	union {
		uint64_t compare;	/* BIND_MW: mr_lkey << 32 | mw_rkey */
		uint32_t asked;	/* READ: response packets up to the end of the last request */
	};
	uint32_t first_psn;
	uint32_t npkts;		/* PSNs (READ: of the responses); 0: local, or failed at once */
	uint32_t len;		/* payload bytes, 0..2^31 */
	uint32_t rkey;
	uint32_t imm;		/* immediate, rkey to invalidate, FETH, access of BIND_MW */
	uint8_t opcode;		/* enum ib_uverbs_wr_opcode */
	uint8_t type;		/* enum seg_type */
	uint8_t flags;		/* WQE_* */
	uint8_t num_sge;
	uint8_t status;		/* not 0: sending stops; completes with it when it is the oldest */
};

_Static_assert(sizeof(struct req_wqe) == 64, "a WQE's state fills a cache line");

/* The low bits are the ABI's send_flags (IBV_SEND_*). */
#define WQE_FENCE 0x01
#define WQE_SIGNALED 0x02
#define WQE_SOLICITED 0x04
#define WQE_INLINE 0x08
/* A packet of the WQE was sent, or it holds a READ/atomic credit: in SQD it finishes. */
#define WQE_STARTED 0x10
/* BIND_MW or LOCAL_INV: uses no PSN; executed if WQE_STARTED is set. */
#define WQE_LOCAL 0x20

/*
 * Requester. Indices are slots of the SQ ring; sq.index <= cur <= tail. WQEs in
 * [sq.index, cur) are sent and unacknowledged, cur is being sent, (cur, tail) were read but
 * must be sent again: they exist only after a retransmission has moved cur back.
 */
struct qp_req {
	struct req_wqe *wqe;	/* WQEs in [sq.index, tail) by slot & wqe_mask; grows as needed */
	uint32_t wqe_mask;	/* allocated entries - 1, at most sq.mask */
	uint32_t cur, tail, cur_pkt;	/* cur_pkt: packets of cur already sent */
	uint32_t psn;		/* first PSN of the WQE read next */
	uint32_t una, nxt;	/* oldest unacknowledged PSN; first PSN never sent */
	uint32_t window;	/* number of PSNs that may be unacknowledged, at most 2^22 */
	uint32_t unasked, ask_bytes;	/* bytes since the last AckReq; limit for the next one */
	uint32_t slow_start;	/* threshold (xport/window.c); 0: the window is constant */
	uint32_t win_acked;	/* packets acknowledged since the window last grew */
	uint32_t recover;	/* the window is not reduced again before una reaches this PSN */
	uint8_t mtu_shift;	/* log2 of the path MTU */
	uint8_t rd_out;		/* READs and atomics outstanding */
	uint8_t retry, rnr_retry;	/* attempts left */
	bool retrying;		/* went back on a NAK: ignores NAKs until progress or a timeout */
	bool blocked;		/* stopped by a link without room or a full window */
	bool local;		/* BIND_MW or LOCAL_INV was executed on this QP */
	bool overrun;		/* a completion found its CQ full: the QP is about to fail */
	bool direct_busy, direct_cqe;	/* a direct placement was made; the last was signaled */
	bool probing;		/* the early timer has repeated the oldest packet */
	uint8_t early_shift;	/* early timeouts since the last progress; each doubles the wait */
	uint32_t direct_polls;	/* rdev.polls at the last direct placement */
	uint32_t rtt_at;	/* us, modulo 2^32: time when nxt was rtt_psn; 0: not measuring */
	ns_t deadline;		/* ack timer; NS_NEVER: not running */
	ns_t early;		/* early timer, on a lossy link (xport/timer.c); NS_NEVER */
	uint32_t rtt_psn;
	uint16_t srtt, rttvar;	/* in RTT_UNIT, xport/timer.c; srtt 0: not measured yet */
	ns_t rnr_until;		/* end of the wait after an RNR NAK; 0: no wait */
};

/* A READ or atomic response that has not been sent, or not completely. */
struct resp_res {
	uint64_t va;		/* of the next byte; atomic: the original value */
	uint32_t rkey;
	uint32_t psn;		/* of the next response packet */
	uint32_t len;		/* bytes left to send */
	uint32_t msn : 24;
	uint32_t type : 4;	/* SEG_READ_RESP or SEG_ATOMIC_ACK */
	uint32_t started : 1;	/* the first packet was sent */
	uint32_t dup : 1;	/* answers a duplicate request: uses no responder resource */
};

/* An executed READ or atomic, kept to answer duplicates of the request. */
struct __attribute__((packed, aligned(4))) resp_replay {
	uint64_t va;		/* atomic: the original value */
	uint32_t psn;		/* of the first response; UINT32_MAX: unused entry */
	uint32_t rkey;
	uint32_t len;		/* bytes; REPLAY_ATOMIC: an atomic */
};

#define REPLAY_ATOMIC UINT32_MAX

/* Kind of the message whose first packets, but not the last, have arrived. */
enum resp_msg { RESP_MSG_NONE, RESP_MSG_SEND, RESP_MSG_WRITE };

struct qp_resp {
	uint8_t msg;		/* enum resp_msg */
	bool have_wqe;		/* a receive WQE is consumed and not completed */
	bool nak_sent;		/* sequence or RNR NAK: no other until the expected PSN arrives */
	bool established;	/* COMM_EST was raised */
	bool ack_due;		/* ack_psn and ack_syn wait for the link, or for READ responses */
	uint8_t ack_syn;
	uint8_t fatal_syn;	/* NAK to send after the pending responses; then the QP enters ERR */
	uint8_t fatal_status, fatal_event;
	uint8_t replay_next;
	uint32_t ack_psn;
	uint32_t ack_msn;
	uint32_t fatal_psn;
	uint32_t off;		/* payload bytes of the message placed so far */
	uint32_t resid;		/* WRITE: bytes expected */
	uint32_t rkey;
	uint64_t va;		/* WRITE: address of the next byte */

	/*
	 * Link of the last request, for the answers; a reference. It may differ from qp->link:
	 * two processes that connect at the same time have two links.
	 */
	struct link *from;

	/* The receive WQE, read once. */
	uint64_t wr_id;
	uint64_t room;		/* bytes in its scatter list */
	uint32_t num_sge;
	struct rxe_sge *sge;	/* max_recv_sge entries */

	/*
	 * Rings of rd_size entries (0 or a power of two): pending responses, in PSN order from
	 * res_head, and executed requests. One allocation, made at the first READ or atomic.
	 */
	struct resp_res *res;
	struct resp_replay *replay;
	uint32_t rd_size;
	uint32_t res_head, res_count;
};

#endif
