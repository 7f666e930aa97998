/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where `ruse run --check` looks at queues and memory: functions of the room check, which core/ and xport/ call. Without
 * --check check_ops is NULL, and qp.check and cq.check are NULL. The caller holds the engine lock.
 */
#ifndef RUSE_CORE_CHECK_H
#define RUSE_CORE_CHECK_H

#include <sys/uio.h>
#include "base/util.h"

struct cq;
struct key_card;
struct qp;
struct rdev;
struct srq;
struct srq_init_attr;
struct qp_init_attr;
struct ib_uverbs_ah_attr;
struct ib_uverbs_wc;

/* What xport/ needs of the state of a QP; the rest is in the room check. */
struct check_qp {
	uint32_t tail;		/* slot of the first send WQE that check has not looked at; xport/ does not fetch it before */
};

struct check_ops {
	/* The QP is new: sets qp->check, and check of its CQs. Without memory they stay NULL. */
	void (*qp_begin)(struct qp *qp);
	/* The QP or CQ is about to be freed. */
	void (*qp_end)(struct qp *qp);
	void (*cq_end)(struct cq *cq);
	/* Looks at the WQEs that the program has added to the send queue. */
	void (*posted)(struct qp *qp);
	/* The oldest send WQE is complete; its slot is about to be given back. */
	void (*consumed)(struct qp *qp);
	/* All send WQEs are gone without completions; all receives are. */
	void (*forget)(struct qp *qp);
	void (*recv_forget)(struct qp *qp);
	/* The QP takes the first receive WQE of its queue or SRQ. */
	void (*recv_taken)(struct qp *qp);
	/* Where to put bytes [off, off + len) of the message for which it was taken. NULL: where its scatter/gather list says. */
	void *(*recv_target)(const struct qp *qp, uint64_t off, uint64_t len);
	void (*srq_end)(struct srq *srq);
	/* The next completion that is published is that of the send WQE last consumed, or of a receive. */
	void (*note)(struct qp *qp, bool send);
	/* The completion is about to be published. */
	void (*publish)(struct cq *cq, struct ib_uverbs_wc *wc);
	/*
	 * Where to put bytes [off, off + len) of the answer to the READ or atomic that is the oldest send WQE. NULL: where its
	 * scatter/gather list says.
	 */
	void *(*target)(struct qp *qp, uint64_t off, uint64_t len);
	/* A WQE with a fence starts: what READs before it have brought must be in the program's memory. */
	void (*fenced)(struct qp *qp);
	/* The engine has written to the program's memory. */
	void (*placed)(const struct iovec *iov, int n);
	/* The MR with this key index exists from now on, with this record. */
	void (*key_new)(struct rdev *dev, uint32_t index, const struct key_card *card);
	/* The MR with this key index, of the process, whatever the device, ends or gets another key. */
	void (*key_gone)(uint32_t index);
	/* The peer's request (a message: for a posted receive) is for memory that is registered and not mapped. */
	void (*unmapped)(struct qp *qp, bool message, uint64_t addr);
	/* The AH with this number, or the memory window with this rkey, ends. */
	void (*ah_gone)(struct rdev *dev, uint32_t num);
	void (*mw_gone)(struct rdev *dev, uint32_t rkey);
	/* What the program asks for, before it is rounded or refused. */
	void (*qp_wanted)(struct rdev *dev, const struct qp_init_attr *attr);
	void (*cq_wanted)(struct rdev *dev, uint32_t cqe);
	void (*srq_wanted)(struct rdev *dev, const struct srq_init_attr *attr);
	/* The attributes of qp->attr in mask were set. */
	void (*qp_modified)(struct qp *qp, uint32_t mask);
	/* An AH was created. */
	void (*ah_created)(struct rdev *dev, const struct ib_uverbs_ah_attr *attr);
};

extern const struct check_ops *check_ops;

/* After the engine has written to the program's memory. */
static inline void check_placed(const void *addr, size_t len)
{
	if (unlikely(check_ops))
		check_ops->placed(&(struct iovec){ (void *)addr, len }, 1);
}

#endif
