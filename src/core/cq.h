/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#ifndef RUSE_CORE_CQ_H
#define RUSE_CORE_CQ_H

#include "core/device.h"
#include "queue/ring.h"

struct cq {
	struct ucontext *uctx;
	struct ring ring;	/* struct ib_uverbs_wc, 64-byte slots; we produce */
	uint32_t usecnt;	/* QPs, SRQs */
	uint32_t res;		/* the host's */
	uint8_t notify;		/* 0, or IB_CQ_SOLICITED 1 / IB_CQ_NEXT_COMP 2 armed */
	bool overflowed;	/* CQ_ERR was raised */
	struct event_source comp;	/* completion channel */
	struct event_source async;
};

#define CQ_ARM_SOLICITED 1
#define CQ_ARM_NEXT 2

/* Completions of this process, all CQs: counted after they are visible. Written under the engine's lock. */
extern uint32_t cq_published;

/* cqe 1..DEV_MAX_CQE and comp_vector below num_comp_vectors, else -EINVAL. Channel and async file may be NULL. */
int cq_create(struct ucontext *uctx, uint32_t cqe, uint32_t comp_vector,
	      struct event_file *channel, struct event_file *async,
	      uint64_t user_handle, struct cq **cq);
/* -EBUSY while in use; otherwise *comp_reported, *async_reported say how many events were read. */
int cq_destroy(struct cq *cq, uint32_t *comp_reported, uint32_t *async_reported);
/*
 * Another ring for the same queue, in two steps so that the program can be
 * told where it is: cq_resize_alloc() makes *ring (-EINVAL: cqe not
 * 1..DEV_MAX_CQE, or fewer than wait to be polled; -ENOMEM), then either
 * cq_resize_commit() moves what waits there and frees the old ring, or
 * cq_resize_drop() frees the new one. No completion may come in between.
 */
int cq_resize_alloc(struct cq *cq, uint32_t cqe, struct ring *ring);
void cq_resize_commit(struct cq *cq, const struct ring *ring);
void cq_resize_drop(struct cq *cq, struct ring *ring);
/* Arms; solicited-only never downgrades an armed "next". Completions from before do not count. */
void cq_arm(struct cq *cq, bool solicited_only);

/*
 * Where the next completion goes: a zeroed slot to fill in, or NULL when the
 * queue is full (the completion is lost, CQ_ERR is raised once). cq_publish()
 * makes it visible and raises the event when armed; solicited: counts for
 * CQ_ARM_SOLICITED (SE of a receive, or any error).
 */
struct ib_uverbs_wc *cq_reserve(struct cq *cq);
void cq_publish(struct cq *cq, bool solicited);

#endif
