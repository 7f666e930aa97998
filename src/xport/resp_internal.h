/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request on its way through the responder's checks. */
#ifndef RUSE_RESP_INTERNAL_H
#define RUSE_RESP_INTERNAL_H

#include "queue/barrier.h"
#include "xport/xport_internal.h"

/*
 * The checks in the order of IBA 9.7.4 and 9.7.5.2,
 * as the kernel's resp_states. Each is one function that returns the next.
 */
enum resp_step {
	RESP_CHK_STATE,		/* does the QP take requests at all */
	RESP_CHK_PSN,		/* expected, duplicate, or a gap */
	RESP_CHK_OP_SEQ,	/* FIRST, MIDDLE, LAST follow each other */
	RESP_CHK_OP_VALID,	/* qp_access_flags; payload fits the packet count */
	RESP_CHK_RESOURCE,	/* a receive WQE, a READ resource */
	RESP_CHK_LENGTH,	/* receive buffer, RETH length */
	RESP_CHK_RKEY,		/* may the peer touch this memory */
	RESP_EXECUTE,		/* place, read, operate */
	RESP_COMPLETE,		/* expected PSN and MSN move; ACK; completion */
	RESP_DUPLICATE,		/* seen before: answer again */
	RESP_NAK_SEQ,		/* a gap: say so once */
	RESP_RNR,		/* no receive WQE: say so */
	RESP_FATAL,		/* NAK, and the QP goes to ERR */
	RESP_DONE,		/* the segment is dealt with, or dropped */
	RESP_STEPS
};

/* IB_UVERBS_ACCESS_FLUSH_* of Linux 6.3 and later. */
#define ACCESS_FLUSH_GLOBAL (1u << 8)
#define ACCESS_FLUSH_PERSISTENT (1u << 9)

struct resp_ctx {
	struct qp *qp;
	const struct seg *seg;
	struct link *from;
	uint32_t psn, npkts;	/* of the part not seen before */
	uint32_t len;		/* its payload */
	uint64_t cut;		/* payload bytes in front of it */
	uint8_t flags;		/* SEG_F_* of it */
	bool rnr_next;		/* the packet behind it lacks a receive WQE */
	void *addr;		/* WRITE, atomics, ATOMIC WRITE: where */
	/* For RESP_FATAL. */
	uint8_t syndrome;
	enum wc_status status;	/* of the receive WQE, when there is one */
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

/* The responder's errors (IBA table 58): invalid request, remote access, remote operational. */
static inline enum resp_step resp_inv_req(struct resp_ctx *c, enum wc_status status)
{
	c->syndrome = AETH_NAK_INV_REQ;
	c->status = status;
	c->event = status == WC_LOC_LEN_ERR ? EV_NONE : EV_QP_REQ_ERR;
	return RESP_FATAL;
}

static inline enum resp_step resp_rem_acc(struct resp_ctx *c)
{
	c->syndrome = AETH_NAK_REM_ACC;
	/* Of a WRITE with immediate that has taken a receive WQE. */
	c->status = WC_LOC_ACCESS_ERR;
	c->event = EV_QP_ACCESS_ERR;
	return RESP_FATAL;
}

/* Our own receive WQE is bad: its completion tells, no event. */
static inline enum resp_step resp_rem_op(struct resp_ctx *c, enum wc_status status)
{
	c->syndrome = AETH_NAK_REM_OP;
	c->status = status;
	c->event = EV_NONE;
	return RESP_FATAL;
}

/* Is the payload what npkts packets of our path MTU carry? Other lengths are invalid requests (IBA 9.7.4.1.6). */
bool resp_payload_fits(const struct resp_ctx *c);

/* resp_exec.c */
enum resp_step resp_chk_resource(struct resp_ctx *c);
enum resp_step resp_execute(struct resp_ctx *c);
enum resp_step resp_complete(struct resp_ctx *c);
enum resp_step resp_duplicate(struct resp_ctx *c);

#endif
