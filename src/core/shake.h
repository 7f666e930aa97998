/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where `ruse run --shake` takes its decisions: functions of the room shake, which core/, xport/ and engine/ call. Without
 * RUSE_SHAKE shake_ops is NULL, qp.shake is NULL, and no QP has QP_SHAKEN. The caller holds the engine lock.
 */
#ifndef RUSE_CORE_SHAKE_H
#define RUSE_CORE_SHAKE_H

#include <sys/uio.h>
#include "base/util.h"

struct cq;
struct link;
struct qp;
struct rdev;
struct seg;

/* What xport/ needs of the state of a QP; the rest is in the room shake. */
struct shake_qp {
	ns_t due;	/* when shake_ops.due() must be called; NS_NEVER: not at all */
	bool reads;	/* the answers to READs, and what is behind them, are not sent */
};

/* Bytes [from, from + len) of the first scatter/gather entry of the payload's target. */
struct shake_part {
	uint64_t from, len;
};

enum shake_place {
	SHAKE_PLACE_ALL,	/* all bytes, as usual */
	SHAKE_PLACE_FIRST,	/* all but the part; then call place_rest() */
	SHAKE_PLACE_REST	/* only the part, to which the payload of the segment belongs; the rest is placed */
};

/* Hands a segment to the transport that was kept: xp_input() behind its gate. */
typedef void shake_replay(struct qp *qp, const struct seg *seg, struct link *from, ns_t now);

/* What a command of rdma_cm sends; the order is that of SHAKE_CM_LATE's text. */
enum shake_message { SHAKE_REQ, SHAKE_REP, SHAKE_RTU, SHAKE_DREQ };

struct shake_ops {
	/* The QP is new: sets qp->shake and QP_SHAKEN. Without memory nothing of it is shaken. */
	void (*qp_begin)(struct qp *qp);
	void (*qp_end)(struct qp *qp);
	/* A segment has arrived. True: it was kept, and is handed over later, or it is lost, as UD and UC permit. */
	bool (*input)(struct qp *qp, const struct seg *seg, struct link *from, ns_t now,
		      shake_replay *replay);
	/* Hands over what is due. */
	void (*due)(struct qp *qp, ns_t now, shake_replay *replay);
	/* Hands over everything: the QP or the process ends. */
	void (*release)(struct qp *qp, ns_t now, shake_replay *replay);
	/*
	 * How to place len payload bytes of a segment that ends a WRITE, or the answer to a READ; `before` bytes of it have been
	 * placed. ndst > 0.
	 */
	enum shake_place (*place)(struct qp *qp, const struct seg *seg, uint64_t before,
				  const struct iovec *dst, uint64_t len, struct shake_part *part);
	/*
	 * All but the part is placed: keeps the segment, whose payload from off on is for the target. False: it is not kept, and
	 * the part must be placed at once. Else the transport has not taken the segment, and it comes again.
	 */
	bool (*place_rest)(struct qp *qp, const struct seg *seg, uint64_t off,
			   const struct shake_part *part);
	/* The responder has executed a READ: is its answer to wait? Then sets shake_qp.reads until due() or input() ends it. */
	bool (*read)(struct qp *qp);
	/* The request with this first PSN, which needs a receive of the peer, is about to be sent: is it to wait? */
	bool (*rnr)(struct qp *qp, uint32_t psn, ns_t now);
	/* The QP begins anew: what was kept is lost. links: they are those of this process, not of a forked child's parent. */
	void (*forget)(struct qp *qp, bool links);
	/* The CQ is new: sets cq->shake. Without memory it is not shaken. */
	void (*cq_begin)(struct cq *cq);
	void (*cq_end)(struct cq *cq);
	/* A completion is about to be published: how long is it to be hidden? 0: not at all. */
	ns_t (*completion)(struct cq *cq);
	/* It is visible, and raises the event of the CQ: how long is the event to wait? */
	ns_t (*event)(struct cq *cq);
	/* The CQ was armed and holds n completions that were not polled: do they raise no event? */
	bool (*arm)(struct cq *cq, uint32_t n);
	/* A region is new: the index that its key is to have, if it is free; 0: any. */
	uint32_t (*key_index)(void);
	/* The key that it is about to have; returns it, perhaps with another low byte. */
	uint32_t (*key)(struct rdev *dev, uint32_t key);
	/* The key of a region has ended. */
	void (*key_gone)(uint32_t key);
	/* A QP is new: a random number from which on a free one is looked for; 0: the one after that of the QP before. */
	uint32_t (*qpn)(void);
	/* A command of rdma_cm sends a message: how long is it to wait? 0: not at all; *twice: it is sent at once, too. */
	ns_t (*cm)(enum shake_message message, bool *twice);
};

extern const struct shake_ops *shake_ops;

#endif
