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
#include "core/qp_attr.h"
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

struct ib_path;
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
	uint64_t *peer_counter;	/* as rdev.counter, of the peer's device: for packets that nobody there sees */
	struct event_source async;
	uint32_t nmcast;	/* multicast GIDs and LIDs it is attached with */

	struct qp_req req;
	struct qp_resp resp;

	struct ib_path *path;	/* the engine's: InfiniBand's way to the peer; NULL: none, or RoCE */
	uint32_t res;		/* the engine's */
	uint8_t *shown_state;	/* the engine's: where others see the state, or NULL */
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

/* Every change of state goes through here, so that what others see of the QP is true. */
static inline void qp_set_state(struct qp *qp, enum qp_state state)
{
	qp->state = (uint8_t)state;
	if (qp->shown_state)
		WRITE_ONCE(*qp->shown_state, (uint8_t)state);
}

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
