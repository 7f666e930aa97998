/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* States of a QP, attributes of MODIFY_QP and their mask bits. */
#ifndef RUSE_CORE_QP_ATTR_H
#define RUSE_CORE_QP_ATTR_H

#include <rdma/ib_user_verbs.h>
#include "base/util.h"

/*
 * QP states (IBA 10.3.1; values of enum ib_qp_state). The state table in qp_state.c has all
 * transitions by MODIFY_QP.
 */
enum qp_state {
	/* Created. Packets are dropped. Next state: INIT. */
	QPS_RESET,
	/* The program may post receive WQEs. Packets are dropped. Next: RTR. */
	QPS_INIT,
	/* The responder runs; POST_SEND fails with EINVAL. Next: RTS. */
	QPS_RTR,
	/* Requester and responder run. Next: SQD, or by an error SQE or ERR. */
	QPS_RTS,
	/* Started send WQEs finish, then SQ_DRAINED is raised; the others wait. Next: RTS. */
	QPS_SQD,
	/* UC and UD: a send failed and the send queue is flushed; receiving goes on. Next: RTS. */
	QPS_SQE,
	/* All WQEs are flushed with WR_FLUSH_ERR. Packets are dropped. Next: RESET. */
	QPS_ERR,
	QPS_COUNT
};

/* Path migration states of IBA 17.2.8 (enum ib_mig_state of the kernel). */
enum qp_mig_state { MIG_MIGRATED, MIG_REARM, MIG_ARMED };

/* attr_mask of MODIFY_QP. The uapi headers do not define these bits. */
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

/* Decoded attributes of MODIFY_QP, except the state. */
struct qp_attr {
	uint32_t path_mtu;	/* bytes: 256, 512, 1024, 2048 or 4096 */
	uint32_t qkey, rq_psn, sq_psn, dest_qpn, access;
	struct ib_uverbs_ah_attr ah, alt_ah;	/* dgid in ah.grh */
	uint16_t pkey_index, alt_pkey_index;
	uint8_t port, alt_port, timeout, alt_timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;	/* rounded up to a power of two when stored */
	uint8_t path_mig_state, en_sqd_async_notify;
};

#endif
