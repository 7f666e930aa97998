/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#ifndef RUSE_CORE_CQ_H
#define RUSE_CORE_CQ_H

#include "core/device.h"
#include "queue/ring.h"

struct cq {
	struct ucontext *uctx;
	struct ring ring;	/* of struct ib_uverbs_wc, in 64-byte slots; ruse produces, the program consumes */
	uint32_t usecnt;	/* number of uses by QPs; a QP that uses it as send CQ and as receive CQ counts twice */
	uint32_t res;		/* engine/: number of its record in the table for `rdma res show` (ipc/res.h); 0: none */
	uint8_t notify;		/* CQ_ARM_*: which completion raises the next event; 0: none, the CQ is not armed */
	bool overflowed;	/* CQ_ERR was raised */
	struct event_source comp;	/* completion channel */
	struct event_source async;
};

/* Values of cq.notify; those of IB_CQ_SOLICITED and IB_CQ_NEXT_COMP in the kernel. */
#define CQ_ARM_SOLICITED 1
#define CQ_ARM_NEXT 2

/*
 * Number of completions that this process has added to its CQs so far, modulo 2^32. It is
 * incremented under the engine lock after the completion is visible, and once more in a forked
 * child that takes over the CQs (engine/inherit.c).
 */
extern uint32_t cq_published;

/*
 * cqe is in 1..DEV_MAX_CQE and comp_vector below num_comp_vectors, else -EINVAL. The ring may
 * have room for more than cqe. channel (for completion events) and async may be NULL: then such
 * events are not reported. Without memory -ENOMEM.
 */
int cq_create(struct ucontext *uctx, uint32_t cqe, uint32_t comp_vector,
	      struct event_file *channel, struct event_file *async,
	      uint64_t user_handle, struct cq **cq);
/* Refuses a completion vector that the device does not have: -EINVAL. */
int cq_refuse_vector(struct rdev *dev, uint32_t comp_vector);
/*
 * -EBUSY while QPs use it. *comp_reported and *async_reported: number of completion events and of
 * asynchronous events of this CQ that the program has read, for the response of DESTROY_CQ.
 */
int cq_destroy(struct cq *cq, uint32_t *comp_reported, uint32_t *async_reported);
/*
 * RESIZE_CQ in two steps, so that the response, which can fail, is written in between.
 * cq_resize_alloc() allocates a new ring (-EINVAL: cqe not in 1..DEV_MAX_CQE, or less than
 * the number of unpolled completions; -ENOMEM). Then cq_resize_commit() moves the unpolled
 * completions to it and frees the old ring, or cq_resize_drop() frees the new one. The
 * caller adds no completion in between.
 */
int cq_resize_alloc(struct cq *cq, uint32_t cqe, struct ring *ring);
void cq_resize_commit(struct cq *cq, const struct ring *ring);
void cq_resize_drop(struct cq *cq, struct ring *ring);
/*
 * REQ_NOTIFY_CQ: the next completion raises one event. Completions already in the ring raise
 * none. A CQ armed for any completion stays so when solicited_only is requested.
 */
void cq_arm(struct cq *cq, bool solicited_only);

/*
 * cq_reserve() returns the zeroed slot of the next completion, or NULL if the CQ is full:
 * then the completion is lost and CQ_ERR is raised, once per CQ. cq_publish() makes the
 * filled slot visible to the program and raises the event of an armed CQ. solicited is
 * true for a receive with the SE bit and for any error (IBA 11.4.2.2).
 */
struct ib_uverbs_wc *cq_reserve(struct cq *cq);
void cq_publish(struct cq *cq, bool solicited);

#endif
