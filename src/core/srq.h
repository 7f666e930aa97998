/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues (IBA 10.2.9). The program produces receive WQEs; the responders of
 * the QPs that use the SRQ consume them.
 */
#ifndef RUSE_CORE_SRQ_H
#define RUSE_CORE_SRQ_H

#include "core/device.h"
#include "core/objects.h"
#include "queue/ring.h"

struct srq {
	struct ucontext *uctx;
	struct pd *pd;
	struct ring rq;		/* struct rxe_recv_wqe */
	uint32_t num;		/* SRQ number, which CREATE_SRQ returns; never 0 */
	uint32_t max_wr, max_sge;	/* as returned to the program */
	uint32_t max_wr_resized;	/* for the ring of srq_resize_alloc() */
	uint32_t asked, asked_resized;	/* max_wr and max_wr_resized as the program has asked for them */
	uint32_t limit;		/* SRQ_LIMIT_REACHED is raised once when fewer WQEs are left; 0: not armed */
	uint32_t usecnt;	/* QPs */
	uint32_t res;		/* engine/: number of its record in the table for `rdma res show` (ipc/res.h); 0: none */
	uint32_t most, counted;	/* check/hints.c: the most receives that it held when a message came; a round of counting */
	bool error;		/* SRQ_ERR was raised: no more WQEs are taken */
	struct check_srq *check;	/* NULL: not checked (core/check.h) */
	struct event_source async;
};

struct srq_init_attr {
	uint32_t max_wr, max_sge, limit;
	struct event_file *async;
	uint64_t user_handle;
};

/*
 * -EINVAL or the adapter's errno: max_wr is 0 or above the limit of the device (core/like.h), or max_sge is, or too many
 * SRQs; -ENOMEM. attr->max_wr and max_sge are raised to the actual sizes. Any limit is
 * accepted, as by the kernel's rxe_srq_chk_init().
 */
int srq_create(struct pd *pd, struct srq_init_attr *attr, struct srq **srq);
/* -EBUSY while QPs use it. *reported: number of async events that were read. */
int srq_destroy(struct srq *srq, uint32_t *reported);
/*
 * MODIFY_SRQ with another max_wr, in two steps like cq_resize_alloc() and cq_resize_commit().
 * -EINVAL: max_wr is 0, above the limit of the device, below limit, or less than the WQEs in the ring;
 * -ENOMEM.
 */
int srq_resize_alloc(struct srq *srq, uint32_t max_wr, struct ring *ring);
void srq_resize_commit(struct srq *srq, const struct ring *ring);
void srq_resize_drop(struct srq *srq, struct ring *ring);
/* To be called when a responder has taken a WQE: raises the limit event if it is due. */
void srq_taken(struct srq *srq);
/* Raises the event of the limit, which is no longer armed then. */
void srq_limit_reached(struct srq *srq);
/* A WQE in the ring is invalid: puts the SRQ into error and raises SRQ_ERR, once. */
void srq_fail(struct srq *srq);

#endif
