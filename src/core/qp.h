/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: attributes, states, rings. The transport's state (req, resp) is embedded for
 * cache locality; only xport/ uses it.
 */
#ifndef RUSE_CORE_QP_H
#define RUSE_CORE_QP_H

#include "core/check.h"
#include "core/cq.h"
#include "core/objects.h"
#include "core/srq.h"
#include "base/timer.h"
#include "core/qp_attr.h"
#include "core/qp_xport.h"

/* enum ib_qp_type values of the ABI. */
enum qp_type { QPT_RC = 2, QPT_UC = 3, QPT_UD = 4 };

/* qp.special */
#define QP_CREDITS 1u	/* core/credits.h: polls free the slots of the send queue, not completions */
#define QP_CHECKED 2u	/* qp.check is set */
#define QP_SHAKEN 4u	/* qp.shake is set */

struct ib_path;
struct link;
struct shake_qp;

struct qp {
	struct rdev *dev;
	struct ucontext *uctx;
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	struct srq *srq;	/* NULL: receive WQEs are taken from rq */
	uint8_t type;		/* enum qp_type */
	uint8_t state;		/* enum qp_state */
	bool sq_sig_all;
	bool sq_draining;	/* state is SQD and SQ_DRAINED has not been raised */
	uint32_t qpn;
	struct qp_card *card;	/* shared with peers, but see card_own */
	struct ring sq, rq;	/* of struct rxe_send_wqe and rxe_recv_wqe; the program produces, ruse consumes */
	/* The limits returned by CREATE_QP. */
	uint32_t max_send_wr, max_recv_wr, max_inline;
	uint16_t max_send_sge, max_recv_sge;
	uint32_t res;		/* engine/: number of its record in the table for `rdma res show` (ipc/res.h); 0: none */
	struct qp_attr attr;
	uint32_t attr_set;	/* IB_QP_* bits of all attributes ever set, for QUERY_QP */
	struct link *link;	/* carries the requests; set by rdev_ops.qp_connect. NULL: requests are lost */
	uint32_t peer_block;	/* qpn_block(dest_qpn) (engine/qpn.h) */
	bool card_own;		/* a peer is stopped with the shared card's lock, so card is not the shared one */
	uint8_t pkey_at;	/* index in rdev.pkey: attr.pkey_index, or DEV_PKEY_V1 on a path of RoCEv1 */
	uint8_t traffic;	/* CNT_TRAFFIC() of the link and the first operation: where completed requests count */
	uint8_t special;	/* QP_CREDITS, QP_CHECKED, QP_SHAKEN: what leads off the hot path */
	uint64_t *peer_counter;	/* counters of the peer's device; the requester adds to them what link_ops.direct() did */
	struct event_source async;
	uint32_t nmcast;	/* multicast attachments */
	uint32_t card_peer;	/* qp_card.dest_qpn of a QP that is connected to this one */

	struct qp_req req;
	struct qp_resp resp;

	struct check_qp *check;	/* NULL: not checked (core/check.h) */
	struct shake_qp *shake;	/* NULL: not shaken (core/shake.h) */
	/* For engine/. */
	struct ib_path *path;	/* InfiniBand: path to the peer; NULL without a peer and on RoCE */
	uint8_t *shown_state;	/* the field state of the record `res`; NULL: no record */
	struct timer timer;
	struct list_head work;	/* entry in a list of QPs that need xp_output() */
	struct list_head err;	/* entry in the list of QPs in ERR; receive WQEs that the program posts later are flushed too */
};

struct qp_init_attr {
	struct cq *send_cq, *recv_cq;
	struct srq *srq;	/* NULL: the QP has a receive queue of its own. With an SRQ max_recv_* are ignored */
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	uint8_t type;
	bool sq_sig_all;
	struct event_file *async;
	uint64_t user_handle;
};

/* Is qp->check set? */
static inline bool qp_checked(const struct qp *qp)
{
	return qp->special & QP_CHECKED;
}

/* Is qp->shake set? */
static inline bool qp_shaken(const struct qp *qp)
{
	return qp->special & QP_SHAKEN;
}

/* Does the QP use RoCEv1? Decided when its path is set. */
static inline bool qp_is_v1(const struct qp *qp)
{
	return qp->pkey_at == DEV_PKEY_V1;
}

/* "RTS"; "?": it is no enum qp_state. */
const char *qp_state_name(uint32_t state);
/* Changes the state, also in the QP's record for `rdma res show`. Nothing else changes qp->state after qp_create(). */
static inline void qp_set_state(struct qp *qp, enum qp_state state)
{
	qp->state = (uint8_t)state;
	if (qp->shown_state)
		WRITE_ONCE(*qp->shown_state, (uint8_t)state);
}

/*
 * Value of qp_card.lock while the process that owns the QP holds it. A peer that holds it writes
 * its own process number instead (ipc_hello_reply.proc).
 */
#define CARD_OWNER 0xffffffffu

/*
 * Locks the QP's card for a change by a command. If a peer that is stopped within a direct placement has the lock, the
 * end of the command waits for it as for one that uses a withdrawn key (rdev_ops.withdrawn), and: if `anew`, the QP
 * begins anew, with a locked card that is not shared. Else false: the command may write what only the owner writes, and
 * does not unlock the card.
 */
bool qp_card_lock(struct qp *qp, bool anew);

/*
 * -EINVAL: a CQ is missing; the errno of the device's like: a limit in attr exceeds the device's;
 * -EOPNOTSUPP: type; -ENOMEM, or an error of lease_block(). Writes the QP's limits to attr, rounded
 * by like_qp(), even after an error. With an SRQ max_recv_* become 0.
 */
int qp_create(struct pd *pd, struct qp_init_attr *attr, struct qp **qp);
/* *reported: number of async events that were read. The caller has called xp_fini(). */
int qp_destroy(struct qp *qp, uint32_t *reported);

/*
 * MODIFY_QP: makes the checks of ib_core and rxe in their order, connects a new path, and stores
 * attributes and state. cur_state is used with IB_QP_CUR_STATE only. On success sets *old and *new;
 * the caller must then call xp_modified(), which updates the QP's card (struct qp_card) and rings.
 * -EINVAL; -ENODATA: no GID at the SGID index; -EOPNOTSUPP: unknown attribute; or an error of
 * rdev_ops.qp_connect(). After an error the QP is unchanged.
 */
int qp_modify(struct qp *qp, uint32_t mask, const struct qp_attr *attr, uint32_t cur_state,
	      uint32_t new_state, enum qp_state *old, enum qp_state *new);
/* The state table alone: the same result as ib_modify_qp_is_ok() of kernel 6.1. */
bool qp_modify_is_ok(uint32_t cur, uint32_t next, uint32_t type, uint32_t mask);

#endif
