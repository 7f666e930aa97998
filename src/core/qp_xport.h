/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Transport state of a QP: requester (with completer) and responder. Only xport/ uses it;
 * it is defined in core/ because struct qp embeds it. All protocol state is here and none
 * in the rings, which the program can write at any time.
 */
#ifndef RUSE_CORE_QP_XPORT_H
#define RUSE_CORE_QP_XPORT_H

#include <rdma/rdma_user_rxe.h>
#include "core/qp_wqe.h"

struct link;

/*
 * Requester. Indices are slots of the SQ ring; sq.index <= cur <= tail. WQEs in
 * [sq.index, cur) are sent and unacknowledged, cur is being sent, (cur, tail) were read but
 * must be sent again: they exist only after a retransmission has moved cur back.
 */
struct qp_req {
	struct req_wqe *wqe;	/* copies of the WQEs in [sq.index, tail), at slot & wqe_mask; grows as needed */
	uint32_t wqe_mask;	/* allocated entries - 1, at most sq.mask */
	uint32_t cur, tail, cur_pkt;	/* cur_pkt: packets of cur already sent */
	uint32_t psn;		/* first PSN of the next WQE to be read from the ring */
	uint32_t una, nxt;	/* oldest unacknowledged PSN; first PSN never sent */
	uint32_t window;	/* number of PSNs that may be unacknowledged, at most 2^22 */
	uint32_t unasked, ask_bytes;	/* bytes sent since the last AckReq; number of bytes at which the next is due */
	uint32_t slow_start;	/* slow-start threshold in packets (xport/window.c); 0: the window is constant */
	uint32_t win_acked;	/* packets acknowledged since the window last grew */
	uint32_t recover;	/* the window is not reduced again before una reaches this PSN */
	uint8_t mtu_shift;	/* log2 of the path MTU */
	uint8_t rd_out;		/* READs and atomics outstanding */
	uint8_t retry;		/* attempts left */
	uint8_t rnr_retry;	/* attempts left, below 7; from 7 on without limit, 7 + RNR NAKs since una advanced, at most 255 */
	bool retrying;		/* a NAK has started a retransmission; ignore other NAKs until una advances or a timer repeats */
	bool blocked;		/* sending waits: the link has no room, the window is full, or a READ's responses must come first */
	bool local;		/* BIND_MW or LOCAL_INV was executed on this QP */
	bool overrun;		/* a completion found its CQ full: the QP is about to fail */
	bool direct_busy, direct_cqe;	/* a WQE was executed by link_ops.direct(); the last such WQE was signaled */
	bool probing;		/* only the oldest packet was repeated, by a timer, and no ACK has come since (req_probe()) */
	uint8_t early_shift;	/* number of times that the timer `early` fired since una advanced; each doubles its wait */
	uint32_t direct_polls;	/* rdev.polls at the last call of link_ops.direct(): tells whether the program has polled since */
	uint32_t rtt_at;	/* time (us, modulo 2^32) at which nxt was rtt_psn; 0: no measurement is running */
	ns_t deadline;		/* ack timer; NS_NEVER: not running */
	ns_t early;		/* when the oldest packet is repeated, before `deadline`; lossy links only; NS_NEVER: not running */
	uint32_t rtt_psn;
	uint16_t srtt, rttvar;	/* in RTT_UNIT, xport/timer.c; srtt 0: not measured yet */
	ns_t rnr_until;		/* end of the wait after an RNR NAK; 0: no wait */
};

/* A READ or atomic response of which all or a part is still to be sent. */
struct resp_res {
	uint64_t va;		/* READ: address of the next byte to send; atomic: the original value */
	uint32_t rkey;
	uint32_t psn;		/* PSN of the next response packet to send */
	uint32_t len;		/* bytes left to send */
	uint32_t msn : 24;
	uint32_t type : 4;	/* SEG_READ_RESP or SEG_ATOMIC_ACK */
	uint32_t started : 1;	/* the first packet was sent */
	uint32_t dup : 1;	/* response to a duplicate request: does not count against max_dest_rd_atomic */
};

/* An executed READ or atomic, kept to answer duplicates of the request. */
struct __attribute__((packed, aligned(4))) resp_replay {
	uint64_t va;		/* READ: address in the request; atomic: the original value */
	uint32_t psn;		/* PSN of the request, which its first response packet has too; UINT32_MAX: unused entry */
	uint32_t rkey;
	uint32_t len;		/* READ: length in bytes; atomic: REPLAY_ATOMIC */
};

#define REPLAY_ATOMIC UINT32_MAX

/* Kind of the message whose first packets, but not the last, have arrived. */
enum resp_msg { RESP_MSG_NONE, RESP_MSG_SEND, RESP_MSG_WRITE };

#define RECV_AT_SHIFT 20	/* about 1 ms */

struct qp_resp {
	uint8_t msg;		/* enum resp_msg */
	bool have_wqe;		/* a receive WQE is consumed and not completed */
	bool nak_sent;		/* a sequence or RNR NAK was sent: no other NAK until the expected PSN arrives */
	bool established : 1;	/* COMM_EST was raised */
	bool refused : 1;	/* connected to itself: it has sent a fatal NAK, which it has not received yet */
	bool ack_due;		/* an ACK or NAK (ack_psn, ack_syn) waits for room in the link or for READ responses */
	uint8_t ack_syn;
	uint8_t fatal_syn;	/* not 0: NAK to be sent after the pending responses; then the QP enters ERR */
	uint8_t fatal_status, fatal_event;
	uint8_t replay_next;
	uint16_t rd_size;	/* entries of each of the two rings below */
	uint32_t ack_psn;
	uint32_t ack_msn;
	uint32_t fatal_psn;
	uint32_t recvs;		/* receive WQEs completed with a message */
	uint32_t off;		/* payload bytes of the message copied to their destination so far */
	uint32_t resid;		/* WRITE: bytes of the message still to come */
	uint32_t rkey;
	uint64_t va;		/* WRITE: address of the next byte */

	/*
	 * Link on which the last request arrived; answers use it. Holds a reference. It may differ
	 * from qp->link: two processes that connect at the same time have two links.
	 */
	struct link *from;

	/* The receive WQE, read once. */
	uint64_t wr_id;
	uint64_t room;		/* bytes in its scatter list */
	uint32_t num_sge;
	uint32_t recv_at;	/* RC: when `recvs` last grew, in units of 2^RECV_AT_SHIFT ns, modulo 2^32 */
	struct rxe_sge *sge;	/* max_recv_sge entries */

	/*
	 * Two rings of rd_size entries (0 or a power of two), allocated together at the first READ or
	 * atomic. res: pending responses, in PSN order from res_head. replay: executed requests.
	 */
	struct resp_res *res;
	struct resp_replay *replay;
	uint32_t res_head, res_count;
};

#endif
