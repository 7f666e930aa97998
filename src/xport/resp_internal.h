/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The responder's checks, and the state of a request that passes through them. */
#ifndef RUSE_RESP_INTERNAL_H
#define RUSE_RESP_INTERNAL_H

#include "shared/barrier.h"
#include "xport/xport_internal.h"

/*
 * The steps, in the order of IBA 9.7.4 and 9.7.5.2, as the kernel's resp_states. Each is a
 * function that returns the next step.
 */
enum resp_step {
	RESP_CHK_STATE,		/* the QP's state allows requests */
	RESP_CHK_PSN,		/* expected PSN, duplicate, or gap */
	RESP_CHK_OP_SEQ,	/* FIRST, MIDDLE, LAST in sequence */
	RESP_CHK_OP_VALID,	/* the QP permits the operation (qp_access_flags); payload length fits the packet count */
	RESP_CHK_RESOURCE,	/* receive WQE, READ resource */
	RESP_CHK_LENGTH,	/* receive buffer, RETH length */
	RESP_CHK_RKEY,		/* the key permits the access */
	RESP_EXECUTE,		/* copy, read, atomic operation */
	RESP_COMPLETE,		/* advance expected PSN and MSN; ACK; completion */
	RESP_DUPLICATE,		/* repeat the answer */
	RESP_NAK_SEQ,		/* NAK a gap, once */
	RESP_RNR,		/* RNR NAK: no receive WQE */
	RESP_FATAL,		/* NAK, and the QP enters ERR */
	RESP_DONE,		/* the segment is handled or dropped */
	RESP_STEPS
};

struct resp_ctx {
	struct qp *qp;
	const struct seg *seg;
	struct link *from;
	uint32_t psn, npkts;	/* PSN and number of the packets that have not been received before: the new part */
	uint32_t len;		/* payload bytes of the new part */
	uint64_t cut;		/* payload bytes before the new part */
	ns_t now;
	uint8_t flags;		/* SEG_F_* of the new part */
	bool rnr_next;		/* the packet after the new part needs a receive WQE, but the receive queue or SRQ is empty */
	void *addr;		/* WRITE, atomics, ATOMIC WRITE: target address */
	/* For RESP_FATAL. */
	uint8_t syndrome;
	enum wc_status status;	/* status that completes the message's receive WQE, if it has one (qp_resp.have_wqe) */
	enum xp_event event;
};

static inline bool resp_is_send(const struct resp_ctx *c)
{
	return c->seg->type <= SEG_SEND_INV;
}

static inline bool resp_is_write(const struct resp_ctx *c)
{
	return c->seg->type == SEG_WRITE || c->seg->type == SEG_WRITE_IMM;
}

/*
 * Fails the request with NAK "invalid request" (IBA table 58). status completes the held receive
 * WQE. An event is raised too, unless the status is WC_LOC_LEN_ERR.
 */
static inline enum resp_step resp_inv_req(struct resp_ctx *c, enum wc_status status)
{
	c->syndrome = AETH_NAK_INV_REQ;
	c->status = status;
	c->event = status == WC_LOC_LEN_ERR ? EV_NONE : EV_QP_REQ_ERR;
	return RESP_FATAL;
}

/* Fails the request with NAK "remote access error". */
static inline enum resp_step resp_rem_acc(struct resp_ctx *c)
{
	c->syndrome = AETH_NAK_REM_ACC;
	/* A WRITE with immediate may hold a receive WQE; this status completes it. */
	c->status = WC_LOC_ACCESS_ERR;
	c->event = EV_QP_ACCESS_ERR;
	return RESP_FATAL;
}

/*
 * Fails the request with NAK "remote operational error", for a bad receive WQE. The completion of
 * the WQE reports the error, so there is no event.
 */
static inline enum resp_step resp_rem_op(struct resp_ctx *c, enum wc_status status)
{
	c->syndrome = AETH_NAK_REM_OP;
	c->status = status;
	c->event = EV_NONE;
	return RESP_FATAL;
}

/*
 * True if the payload length fits npkts packets of the path MTU. If not, the request is invalid
 * (IBA 9.7.4.1.6).
 */
bool resp_payload_fits(const struct resp_ctx *c);

/* resp_exec.c */
enum resp_step resp_execute(struct resp_ctx *c);
enum resp_step resp_complete(struct resp_ctx *c);
enum resp_step resp_duplicate(struct resp_ctx *c);

#endif
