/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When the slots of a send queue are free again.
 *
 * rxe: when a work request has completed, signaled or not (rxe_comp.c, advance_consumer()).
 *
 * Adapters: when the program has polled a completion that covers it, its own or that of a later work request of the same
 * queue (rdma-core: sq.tail in mlx5 cq.c, irdma and bnxt_re alike). A program that signals no work request, or polls no
 * completion, finds the queue full for ever. A device with rdev.credits_poll does the same: librxe compares its producer
 * index with the consumer index in the ring, so that index is written here, not at completion. The queue then also holds
 * no more than max_send_wr work requests, although the ring has more slots.
 *
 * Each slot of a CQ has a struct credit: what the program frees when it polls that completion.
 */
#ifndef RUSE_CORE_CREDITS_H
#define RUSE_CORE_CREDITS_H

#include "core/qp.h"

struct credit {
	struct qp *qp;	/* NULL: the completion frees nothing */
	uint32_t sq;	/* the queue's consumer index after the work request */
};

/* For a new QP of a device with rdev.credits_poll. */
void credits_begin(struct qp *qp);
/*
 * Of a QP with `special`: the next completion that is published, in a CQ that the caller has reserved, is that of the work
 * request last consumed, or of a receive.
 */
void credits_note(struct qp *qp, bool send);
/* Frees what the completions cover that the program has polled since the last call. Nothing if the device is as rxe. */
void credits_return(struct cq *cq) __cold;
/* The send queue is empty now, or ends: all slots are free, and completions that were not polled free nothing more. */
void credits_forget(struct qp *qp);

/* Is the send queue full for librxe? For a reason: the program may write what this reads. */
bool credits_full(const struct qp *qp);

void credits_consume_special(struct qp *qp);

/* Takes the oldest work request from the send queue. */
static inline void credits_consume(struct qp *qp)
{
	if (likely(!qp->special))
		ring_consume(&qp->sq);
	else
		credits_consume_special(qp);
}

#endif
