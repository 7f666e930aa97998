/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MODIFY_QP. A table has the required and optional attributes of each state transition: IBA
 * 11.2.5.2, table 96, as implemented by the kernel. All values are checked before any of
 * them is stored.
 *
 * Some values that kernel rxe accepts and hardware refuses are refused here: a P_Key index
 * outside the table, max_dest_rd_atomic above the device's limit, and a CUR_STATE that
 * differs from the state (IBA 10.3.1, C10-22: immediate error).
 */
#include <errno.h>
#include "base/log.h"
#include "core/check.h"
#include "core/qp.h"

static const char *const state_names[] = {
	[QPS_RESET] = "RESET", [QPS_INIT] = "INIT", [QPS_RTR] = "RTR", [QPS_RTS] = "RTS",
	[QPS_SQD] = "SQD", [QPS_SQE] = "SQE", [QPS_ERR] = "ERR",
};

_Static_assert(ARRAY_SIZE(state_names) == QPS_COUNT, "a state has no name");

const char *qp_state_name(uint32_t state)
{
	return state < QPS_COUNT ? state_names[state] : "?";
}

#define A(name) IB_QP_##name

/* Sets of attributes for the table, named by next state and QP type. LIVE_*: attributes that are optional in transitions to RTS. */
#define INIT_CONN (A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS))
#define INIT_UD (A(PKEY_INDEX) | A(PORT) | A(QKEY))
#define RTR_UC (A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN))
#define RTR_RC (RTR_UC | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define RTS_RC (A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(SQ_PSN) | A(MAX_QP_RD_ATOMIC))
#define LIVE_UC (A(CUR_STATE) | A(ALT_PATH) | A(ACCESS_FLAGS) | A(PATH_MIG_STATE))
#define LIVE_RC (LIVE_UC | A(MIN_RNR_TIMER))
#define LIVE_UD (A(CUR_STATE) | A(QKEY))
#define SQD_UC (A(AV) | A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) | A(PATH_MIG_STATE))
#define SQD_RC                                                                 \
	(SQD_UC | A(PORT) | A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) |         \
	 A(MAX_QP_RD_ATOMIC) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))

enum column { COL_RC, COL_UC, COL_UD, COL_COUNT };

struct transition {
	bool valid;
	uint32_t required[COL_COUNT];	/* masks of IB_QP_*, one per QP type (enum column); IB_QP_STATE is always allowed */
	uint32_t optional[COL_COUNT];
};

/* A transition that is allowed and that no attribute but IB_QP_STATE may accompany. */
#define ALWAYS { .valid = true }

static const struct transition table[QPS_COUNT][QPS_COUNT] = {
	[QPS_RESET] = {
		[QPS_RESET] = ALWAYS,
		[QPS_INIT] = { true, { INIT_CONN, INIT_CONN, INIT_UD }, { 0 } },
	},
	[QPS_INIT] = {
		[QPS_RESET] = ALWAYS,
		[QPS_ERR] = ALWAYS,
		[QPS_INIT] = { true, { 0 }, { INIT_CONN, INIT_CONN, INIT_UD } },
		[QPS_RTR] = { true, { RTR_RC, RTR_UC, 0 },
			      { A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX),
				A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX),
				A(PKEY_INDEX) | A(QKEY) } },
	},
	[QPS_RTR] = {
		[QPS_RESET] = ALWAYS,
		[QPS_ERR] = ALWAYS,
		[QPS_RTS] = { true, { RTS_RC, A(SQ_PSN), A(SQ_PSN) },
			      { LIVE_RC, LIVE_UC, LIVE_UD } },
	},
	[QPS_RTS] = {
		[QPS_RESET] = ALWAYS,
		[QPS_ERR] = ALWAYS,
		[QPS_RTS] = { true, { 0 }, { LIVE_RC, LIVE_UC, LIVE_UD } },
		[QPS_SQD] = { true, { 0 },
			      { A(EN_SQD_ASYNC_NOTIFY), A(EN_SQD_ASYNC_NOTIFY),
				A(EN_SQD_ASYNC_NOTIFY) } },
	},
	[QPS_SQD] = {
		[QPS_RESET] = ALWAYS,
		[QPS_ERR] = ALWAYS,
		[QPS_RTS] = { true, { 0 }, { LIVE_RC, LIVE_UC, LIVE_UD } },
		[QPS_SQD] = { true, { 0 }, { SQD_RC, SQD_UC, A(PKEY_INDEX) | A(QKEY) } },
	},
	[QPS_SQE] = {
		[QPS_RESET] = ALWAYS,
		[QPS_ERR] = ALWAYS,
		[QPS_RTS] = { true, { 0 }, { 0, A(CUR_STATE) | A(ACCESS_FLAGS), LIVE_UD } },
	},
	[QPS_ERR] = {
		[QPS_RESET] = ALWAYS,
		[QPS_ERR] = ALWAYS,
	},
};

bool qp_modify_is_ok(uint32_t cur, uint32_t next, uint32_t type, uint32_t mask)
{
	static const uint8_t columns[] = {
		[QPT_RC] = COL_RC, [QPT_UC] = COL_UC, [QPT_UD] = COL_UD,
	};
	const struct transition *t;
	uint32_t col;

	if (cur >= QPS_COUNT || next >= QPS_COUNT || type < QPT_RC || type > QPT_UD)
		return false;
	if (mask & IB_QP_CUR_STATE && cur != QPS_RTR && cur != QPS_RTS &&
	    cur != QPS_SQD && cur != QPS_SQE)
		return false;
	t = &table[cur][next];
	col = columns[type];
	if (!t->valid || (mask & t->required[col]) != t->required[col])
		return false;
	return !(mask & ~(t->required[col] | t->optional[col] | IB_QP_STATE));
}

/* Why qp_modify_is_ok() has refused a transition. */
static noinline __cold int qp_refuse(const struct qp *qp, uint32_t cur, uint32_t next,
				     uint32_t mask)
{
	uint32_t col = qp->type - QPT_RC, missing;
	const struct transition *t;

	if (cur >= QPS_COUNT || next >= QPS_COUNT)
		return -EINVAL;
	t = &table[cur][next];
	missing = t->required[col] & ~mask;
	if (mask & IB_QP_CUR_STATE && cur != qp->state)
		return rdev_refuse(qp->dev, -EINVAL, QP_CUR_STATE, cur, qp->state);
	if (!t->valid)
		return rdev_refuse(qp->dev, -EINVAL, QP_TRANSITION, cur, next);
	if (missing)
		return rdev_refuse(qp->dev, -EINVAL, QP_MASK_MISSING, cur, next, missing);
	return rdev_refuse(qp->dev, -EINVAL, QP_MASK_EXTRA, cur, next,
			   mask & ~(t->required[col] | t->optional[col] | IB_QP_STATE));
}

static bool qp_is_connected(const struct qp *qp)
{
	return qp->type != QPT_UD;
}

/* Checks of ib_core, which come before those of the driver: address vectors, unknown bits. */
static int qp_check_paths(const struct qp *qp, uint32_t mask, const struct qp_attr *attr)
{
	int err;

	if (mask & IB_QP_AV) {
		err = ah_check_attr(qp->dev, &attr->ah);
		if (!err && qp_is_connected(qp))
			err = ah_check_dest(qp->dev, &attr->ah);
		if (err)
			return err;
	}
	if (mask & IB_QP_ALT_PATH) {
		err = ah_check_attr(qp->dev, &attr->alt_ah);
		if (err)
			return err;
		/* ib_core refuses an alternate path on RoCE. InfiniBand ports have them; ruse does not. */
		return rdev_refuse(qp->dev, qp->dev->port.ib ? -EOPNOTSUPP : -EINVAL, QP_ALT_PATH);
	}
	return mask & ~(uint32_t)IB_QP_ATTR_STANDARD_BITS ? -EOPNOTSUPP : 0;
}

static bool qp_mtu_ok(uint32_t mtu)
{
	return mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1));
}

/*
 * Checks path_mig_state. Kernel rxe stores any value on RoCE. An InfiniBand port refuses a value that is no migration
 * state, and those that need an alternate path, which ruse does not have.
 */
static int qp_check_mig_state(const struct qp *qp, uint8_t mig)
{
	if (!qp->dev->port.ib || mig == MIG_MIGRATED)
		return 0;
	return mig > MIG_ARMED ? -EINVAL : -EOPNOTSUPP;
}

/* Checks the values, in the order of kernel rxe_qp_chk_attr(). */
static int qp_check_values(const struct qp *qp, uint32_t mask, const struct qp_attr *attr)
{
	struct rdev *dev = qp->dev;
	const struct like *like = dev->like;

	if (mask & IB_QP_PORT && attr->port != DEV_PORT)
		return rdev_refuse(dev, -EINVAL, PORT, 0, attr->port);
	if (mask & IB_QP_PATH_MTU && !qp_mtu_ok(attr->path_mtu))
		return rdev_refuse(dev, -EINVAL, QP_MTU);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > like->max_qp_init_rd_atom &&
	    like->driver != LIKE_BNXT)
		return rdev_refuse(dev, like_errno(like->e_rd_atomic), QP_RD_ATOMIC, 0,
				   attr->max_rd_atomic, like->max_qp_init_rd_atom);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > like->max_qp_rd_atom)
		return rdev_refuse(dev, like_errno(like->e_dest_rd_atomic), QP_RD_ATOMIC, 1,
				   attr->max_dest_rd_atomic, like->max_qp_rd_atom);
	if (mask & IB_QP_TIMEOUT && attr->timeout > 31)
		return rdev_refuse(dev, -EINVAL, QP_TIMEOUT, attr->timeout);
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index >= dev->npkeys)
		return rdev_refuse(dev, -EINVAL, QP_PKEY, attr->pkey_index, dev->npkeys);
	/* The path must not change before the SQ has drained: segments in flight use it. */
	if (mask & IB_QP_AV && qp->state == QPS_SQD && qp->sq_draining)
		return -EINVAL;
	return mask & IB_QP_PATH_MIG_STATE ? qp_check_mig_state(qp, attr->path_mig_state) : 0;
}

/* A driver that takes a larger max_rd_atomic than the device has cuts it. The responder needs a power of two. */
static uint8_t qp_roundup_rd_atomic(uint8_t n, uint64_t max)
{
	return n ? (uint8_t)min((uint64_t)roundup_pow2(n), max) : 0;
}

/* Stores the attributes in mask, truncated to the widths of their fields on the wire. */
static void qp_store_attr(struct qp_attr *to, uint32_t mask, const struct qp_attr *from,
			  const struct like *like)
{
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = from->en_sqd_async_notify;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->access = from->access;
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IB_QP_PORT)
		to->port = from->port;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_AV)
		to->ah = from->ah;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt & 7;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry & 7;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn & 0xffffff;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = qp_roundup_rd_atomic(from->max_rd_atomic,
							 like->max_qp_init_rd_atom);
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer & 0x1f;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn & 0xffffff;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = qp_roundup_rd_atomic(from->max_dest_rd_atomic,
							      DEV_MAX_RD_ATOMIC);
	if (mask & IB_QP_PATH_MIG_STATE)
		to->path_mig_state = from->path_mig_state;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qpn = from->dest_qpn & 0xffffff;
}

/* Connects the path in qp->attr. If that fails, the QP keeps its old link. */
static int qp_connect_path(struct qp *qp)
{
	struct link *old = qp->link, *new;
	int err;

	qp->peer_block = qp->attr.dest_qpn >> QPN_INDEX_BITS;
	qp->link = NULL;
	err = qp->dev->ops->qp_connect(qp);
	new = qp->link;
	qp->link = old;
	if (err)
		return err;
	if (old)
		qp->dev->ops->qp_disconnect(qp);
	qp->link = new;
	return 0;
}

/* Does the path in qp->attr begin at a GID of RoCEv1? UD QPs have no path: they receive both versions. */
static bool qp_path_is_v1(const struct qp *qp)
{
	const struct ib_uverbs_ah_attr *ah = &qp->attr.ah;

	return !qp->dev->port.ib && qp->type != QPT_UD && ah->is_global &&
	       qp->dev->gid[ah->grh.sgid_index].v1;
}

/* The RoCE version of the QP, where packets and card (struct qp_card) tell it. */
static void qp_set_version(struct qp *qp, uint32_t mask, enum qp_state next)
{
	bool v1 = mask & IB_QP_AV ? qp_path_is_v1(qp) : next != QPS_RESET && qp_is_v1(qp);

	qp->pkey_at = (uint8_t)(v1 ? DEV_PKEY_V1 : qp->attr.pkey_index);
	qp->card_peer = qp->qpn | (v1 ? CARD_V1 : 0);
}

int qp_modify(struct qp *qp, uint32_t mask, const struct qp_attr *attr, uint32_t cur_state,
	      uint32_t new_state, enum qp_state *old, enum qp_state *new)
{
	uint32_t cur = mask & IB_QP_CUR_STATE ? cur_state : qp->state;
	uint32_t next = mask & IB_QP_STATE ? new_state : cur;
	struct qp_attr before;
	int err;

	err = qp_check_paths(qp, mask, attr);
	if (err)
		return err;
	if (!qp_modify_is_ok(cur, next, qp->type, mask) || cur != qp->state)
		return qp_refuse(qp, cur, next, mask);
	if (mask & IB_QP_STATE && cur == QPS_SQD && qp->sq_draining && next != QPS_ERR)
		return -EINVAL;
	err = qp_check_values(qp, mask, attr);
	if (err)
		return err;

	before = qp->attr;
	qp_store_attr(&qp->attr, mask, attr, qp->dev->like);
	if (mask & IB_QP_AV)
		ah_set_route(qp->dev, &qp->attr.ah);
	if (qp_is_connected(qp) && mask & IB_QP_AV) {
		err = qp_connect_path(qp);
		if (err) {
			qp->attr = before;
			qp->peer_block = before.dest_qpn >> QPN_INDEX_BITS;
			return err;
		}
	}
	qp_set_version(qp, mask, (enum qp_state)next);
	*old = qp->state;
	*new = next;
	qp->attr_set |= mask;
	qp_set_state(qp, (enum qp_state)next);
	/* Entering SQD starts to drain the send queue. MODIFY_QP from SQD to SQD does not start it again. */
	qp->sq_draining = next == QPS_SQD && (qp->sq_draining || *old != QPS_SQD);
	if (*old != *new)
		log_debug("core: qp#0x%x %s -> %s", qp->qpn, state_names[*old],
			  state_names[*new]);
	if (unlikely(check_ops))
		check_ops->qp_modified(qp, mask);
	return 0;
}
