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
	bool closely;		/* the device holds completions, or check or shake is set: cq_publish() looks closer */
	bool special;		/* failed, or credit is set: cq_reserve() looks closer */
	uint32_t consumer;	/* the program's index as last read; never past ring.index */
	uint32_t count;		/* completions so far, modulo 2^32 */
	uint32_t solicited;	/* count after the last solicited or failed completion; 0: none */
	uint32_t arm_count;	/* count after the last completion before the arm that would have raised its event */
	/* engine/armed.h: */
	struct list_head armed;	/* empty: in no list */
	uint32_t arm_consumer;	/* consumer when the wait for a poll began */
	uint32_t arm_looks;	/* checks since then, weighted */
	uint32_t arm_tid;	/* the thread that has armed it */
	ns_t arm_at;		/* last check, or when the wait began */
	struct event_source comp;	/* completion channel */
	struct event_source async;
	bool failed;		/* by cq_fail(): takes no more completions */
	uint32_t hidden;	/* the latest completions, which are in the ring, but not visible yet */
	struct cq_hold *hold;	/* engine/hold.c; NULL: no completion was hidden */
	uint32_t cqe;		/* the size that the program is told */
	uint32_t cqe_resized;	/* for the ring of cq_resize_alloc() */
	/* core/credits.h; NULL if the device frees slots as rxe does: */
	struct credit *credit;	/* by slot of the ring */
	struct credit *credit_resized;	/* for the ring of cq_resize_alloc() */
	uint32_t credit_next;	/* slot of the oldest completion whose poll was not looked at */
	struct check_cq *check;	/* NULL: not checked (core/check.h) */
	struct shake_cq *shake;	/* NULL: not shaken (core/shake.h) */
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
 * cqe is in 1..like_max_cqe() and comp_vector below num_comp_vectors, else -EINVAL. The ring may
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
 * cq_resize_alloc() allocates a new ring (-EINVAL: cqe not in 1..like_max_cqe(), or less than
 * the number of unpolled completions; -ENOMEM). Then cq_resize_commit() moves the unpolled
 * completions to it and frees the old ring, or cq_resize_drop() frees the new one. The
 * caller adds no completion in between.
 */
int cq_resize_alloc(struct cq *cq, uint32_t cqe, struct ring *ring);
void cq_resize_commit(struct cq *cq, const struct ring *ring);
void cq_resize_drop(struct cq *cq, struct ring *ring);
/*
 * REQ_NOTIFY_CQ: the next completion raises one event. A CQ armed for any completion stays so when
 * solicited_only is requested. Completions already in the ring raise none here; for those that the
 * program does not poll, the caller may call cq_arm_raise() later (engine/armed.h).
 */
void cq_arm(struct cq *cq, bool solicited_only);
/*
 * Is the CQ armed, and holds unpolled completions from before the arm of the kind that raises its
 * event? False for a CQ without a completion channel.
 */
bool cq_arm_pending(struct cq *cq);
/* Raise the event of an armed CQ now. */
void cq_arm_raise(struct cq *cq);
/*
 * The program's consumer index, read once. Reject an index past the producer index: then all
 * completions count as polled. librxe does so after ibv_next_poll() returned ENOENT.
 */
uint32_t cq_consumer(struct cq *cq);

/*
 * cq_reserve() returns the zeroed slot of the next completion, or NULL if the CQ is full:
 * then the completion is lost and CQ_ERR is raised, once per CQ. cq_publish() makes the
 * filled slot visible to the program and raises the event of an armed CQ. solicited is
 * true for a receive with the SE bit and for any error (IBA 11.4.2.2).
 */
struct ib_uverbs_wc *cq_reserve(struct cq *cq);
void cq_publish(struct cq *cq, bool solicited);
/*
 * Breaks the CQ as if the adapter could no longer write to it (IBA 11.6.3.2): raises CQ_ERR; later completions are lost.
 * False: CQ_ERR was raised before. The caller fails the QPs that use the CQ.
 */
bool cq_fail(struct cq *cq);

/* What rdev_ops.hold() is asked. */
enum cq_hold_what {
	CQ_HOLD,		/* hide the completion in slot ring.index? Then the owner counts it in hidden */
	CQ_HOLD_SOLICITED,	/* the same, of one that is published as solicited */
	CQ_HOLD_EVENT,		/* raise the event of the CQ later? Then the owner does, also if the CQ is resized */
	CQ_HOLD_END		/* make all visible, and forget what is kept in cq.hold: the CQ ends or is resized */
};
/* Makes the oldest hidden completion visible, as cq_publish() does. */
void cq_unhide(struct cq *cq, bool solicited);

#endif
