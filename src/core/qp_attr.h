/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of MODIFY_QP and their mask bits. */
#ifndef RUSE_CORE_QP_ATTR_H
#define RUSE_CORE_QP_ATTR_H

#include <rdma/ib_user_verbs.h>
#include "base/util.h"

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
