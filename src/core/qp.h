/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: attributes, states, rings. The transport's own state (req,
 * comp, resp) is embedded for the cache's sake; only xport/ touches it.
 */
#ifndef RUSE_CORE_QP_H
#define RUSE_CORE_QP_H

#include "core/cq.h"
#include "core/objects.h"
#include "core/srq.h"
#include "base/timer.h"
#include "core/qp_xport.h"

/* enum ib_qp_type values of the ABI. */
enum qp_type { QPT_RC = 2, QPT_UC = 3, QPT_UD = 4 };

/*
 * QP states (IBA 10.3.1; values of enum ib_qp_state).
 * Meaning / what leaves it / what may not be touched.
 */
enum qp_state {
	/* Created; nothing moves. MODIFY to INIT, or DESTROY. Rings empty. */
	QPS_RESET,
	/* Receives may be posted; packets are dropped. MODIFY to RTR, RESET, ERR. */
	QPS_INIT,
	/* Responder runs, requester does not: doorbells get EINVAL. MODIFY to RTS. Address vector and path are fixed. */
	QPS_RTR,
	/* Both run. MODIFY to SQD, an error, or RESET. */
	QPS_RTS,
	/* Send queue drains: started WQEs finish, then SQ_DRAINED; new WQEs wait. MODIFY to RTS. */
	QPS_SQD,
	/* UC, UD only: a send failed, the send queue flushes, the responder goes on. MODIFY to RTS. */
	QPS_SQE,
	/* Everything flushes with WR_FLUSH_ERR; packets are dropped. MODIFY to RESET, or DESTROY. */
	QPS_ERR,
	QPS_COUNT
};
const char *qp_state_name(enum qp_state s);

/* attr_mask of MODIFY_QP; the uapi headers have the numbers only in prose. */
enum ib_qp_attr_mask {
	IB_QP_STATE = 1 << 0,
	IB_QP_CUR_STATE = 1 << 1,
	IB_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	IB_QP_ACCESS_FLAGS = 1 << 3,
	IB_QP_PKEY_INDEX = 1 << 4,
	IB_QP_PORT = 1 << 5,
	IB_QP_QKEY = 1 << 6,
	IB_QP_AV = 1 << 7,
	IB_QP_PATH_MTU = 1 << 8,
	IB_QP_TIMEOUT = 1 << 9,
	IB_QP_RETRY_CNT = 1 << 10,
	IB_QP_RNR_RETRY = 1 << 11,
	IB_QP_RQ_PSN = 1 << 12,
	IB_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	IB_QP_ALT_PATH = 1 << 14,
	IB_QP_MIN_RNR_TIMER = 1 << 15,
	IB_QP_SQ_PSN = 1 << 16,
	IB_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	IB_QP_PATH_MIG_STATE = 1 << 18,
	IB_QP_CAP = 1 << 19,
	IB_QP_DEST_QPN = 1 << 20,
	IB_QP_ATTR_STANDARD_BITS = (1 << 21) - 1
};

/* Attributes that MODIFY_QP sets, decoded; mask bits are enum ib_qp_attr_mask. */
struct qp_attr {
	uint32_t path_mtu;	/* bytes, 256..4096 by powers of two; anything else is refused */
	uint32_t qkey, rq_psn, sq_psn, dest_qpn, access;
	struct ib_uverbs_ah_attr ah, alt_ah;	/* dgid in ah.grh */
	uint16_t pkey_index, alt_pkey_index;
	uint8_t port, alt_port, timeout, alt_timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;	/* rounded up to a power of two when stored */
	uint8_t path_mig_state, en_sqd_async_notify;
};

struct link;

struct qp {
	struct rdev *dev;
	struct ucontext *uctx;
	struct pd *pd;
	struct cq *send_cq, *recv_cq;
	struct srq *srq;	/* NULL: receives come from rq */
	uint8_t type;		/* enum qp_type */
	uint8_t state;		/* enum qp_state */
	bool sq_sig_all;
	bool sq_draining;	/* in SQD, SQ_DRAINED not raised yet */
	uint32_t qpn;
	struct qp_card *card;
	struct ring sq, rq;	/* struct rxe_send_wqe / rxe_recv_wqe; the program produces */
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;	/* as create returns them */
	struct qp_attr attr;
	uint32_t attr_set;	/* IB_QP_* ever set, for query */
	struct link *link;	/* where requests go; set by rdev_ops.qp_connect, NULL: nowhere */
	uint32_t peer_block;	/* dest_qpn >> QPN_INDEX_BITS */
	struct event_source async;
	uint32_t nmcast;	/* multicast groups it is attached to */

	struct qp_req req;
	struct qp_resp resp;

	void *host;		/* the engine's */
	struct timer timer;	/* the engine's */
	struct list_head work;	/* the engine's: needs xp_output */
	struct list_head err;	/* the engine's: in ERR, receives may be posted to it */
};

struct qp_init_attr {
	struct cq *send_cq, *recv_cq;
	struct srq *srq;	/* NULL, or of any PD of the device; then max_recv_* do not count */
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
	uint8_t type;
	bool sq_sig_all;
	struct event_file *async;
	uint64_t user_handle;
};

/* What a card's owner writes into its lock: never the number of a peer. */
#define CARD_OWNER 0xffffffffu

/*
 * -EINVAL: caps beyond the device's, no CQs; -EOPNOTSUPP: type; -ENOMEM.
 * The caps in attr are raised to what the QP has (send: max_send_sge and
 * max_inline to the common size, abi.md C1).
 */
int qp_create(struct pd *pd, struct qp_init_attr *attr, struct qp **qp);
/* *reported: async events read. The caller has called xp_fini(). */
int qp_destroy(struct qp *qp, uint32_t *reported);

/*
 * MODIFY_QP up to the decision: state table (ib_modify_qp_is_ok), attribute
 * checks of ib_core and rxe in their order, then storing. cur_state counts
 * only with IB_QP_CUR_STATE. Rings and card are left to xp_modified(), which
 * first takes back what peers may still read. On success *old and *new are set; the caller
 * then calls xp_modified(). 0, -EINVAL, -ENODATA (no GID at that index),
 * -EOPNOTSUPP (attribute unknown), or what rdev_ops.qp_connect answered;
 * after an error nothing has changed.
 */
int qp_modify(struct qp *qp, uint32_t mask, const struct qp_attr *attr, uint32_t cur_state,
	      uint32_t new_state, enum qp_state *old, enum qp_state *new);
/* The state table alone: exactly kernel 6.1's ib_modify_qp_is_ok(). */
bool qp_modify_is_ok(uint32_t cur, uint32_t next, uint32_t type, uint32_t mask);

#endif
