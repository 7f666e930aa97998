/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues (IBA 10.2.9). The program produces receive WQEs, the responders of its QPs consume them. */
#ifndef RUSE_CORE_SRQ_H
#define RUSE_CORE_SRQ_H

#include "core/device.h"
#include "core/objects.h"
#include "queue/ring.h"

#define DEV_MAX_SRQ_WR (1 << 20)
#define DEV_MAX_SRQ_SGE 27	/* kernel rxe 6.1 */

struct srq {
	struct ucontext *uctx;
	struct pd *pd;
	struct ring rq;		/* struct rxe_recv_wqe */
	uint32_t num;		/* srq_num of the provider, never 0 */
	uint32_t max_wr, max_sge;	/* as create and modify return them */
	uint32_t limit;		/* armed: fewer WQEs than this raise SRQ_LIMIT_REACHED once; 0 = not armed */
	uint32_t usecnt;	/* QPs */
	uint32_t res;		/* the host's */
	bool error;		/* SRQ_ERR was raised: nothing is taken from it any more */
	struct event_source async;
};

struct srq_init_attr {
	uint32_t max_wr, max_sge, limit;
	struct event_file *async;
	uint64_t user_handle;
};

/*
 * -EINVAL: max_wr 0 or beyond the device's, max_sge beyond the device's; -ENOMEM. attr is raised to what the SRQ
 * has. Any limit is taken, as kernel rxe_srq_chk_init() does.
 */
int srq_create(struct pd *pd, struct srq_init_attr *attr, struct srq **srq);
/* -EBUSY while QPs use it; otherwise *reported says how many async events were read. */
int srq_destroy(struct srq *srq, uint32_t *reported);
/* Another ring of at least max_wr entries, as cq_resize_alloc() and its kin. -EINVAL: fewer than wait there, or than limit. */
int srq_resize_alloc(struct srq *srq, uint32_t max_wr, struct ring *ring);
void srq_resize_commit(struct srq *srq, const struct ring *ring);
void srq_resize_drop(struct srq *srq, struct ring *ring);
/* A responder has taken a WQE: the limit event, when it is due. */
void srq_taken(struct srq *srq);
/* The ring is not what it should be (a WQE that makes no sense): SRQ_ERR, once. */
void srq_fail(struct srq *srq);

#endif
