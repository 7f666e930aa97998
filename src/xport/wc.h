/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ABI values in completions and events of a QP. */
#ifndef RUSE_XPORT_WC_H
#define RUSE_XPORT_WC_H

#include "core/event.h"

/* Completion status (enum ib_wc_status). */
enum wc_status {
	WC_SUCCESS = 0,
	WC_LOC_LEN_ERR = 1,
	WC_LOC_QP_OP_ERR = 2,
	WC_LOC_PROT_ERR = 4,
	WC_WR_FLUSH_ERR = 5,
	WC_MW_BIND_ERR = 6,	/* memory management operation error of IBA 1.2.1 */
	WC_BAD_RESP_ERR = 7,
	WC_LOC_ACCESS_ERR = 8,
	WC_REM_INV_REQ_ERR = 9,
	WC_REM_ACCESS_ERR = 10,
	WC_REM_OP_ERR = 11,
	WC_RETRY_EXC_ERR = 12,
	WC_RNR_RETRY_EXC_ERR = 13,
};

#define WC_OP_RECV 128
#define WC_OP_RECV_RDMA_WITH_IMM 129

#define WC_FLAG_GRH 1
#define WC_FLAG_IMM 2
/* IBV_WC_WITH_INV. (Kernel rxe reports its internal value 4, which programs take for IBV_WC_IP_CSUM_OK.) */
#define WC_FLAG_INV 8

/* ib_uverbs_wc.sl of a RoCE datagram, encoded as by mlx5: bit 3: UDP header present; low bits: 0 GRH, 1 IPv6, 2 IPv4. */
#define WC_SL_ROCE_V1 0
#define WC_SL_ROCE_IPV6 9
#define WC_SL_ROCE_IPV4 10

/* Affiliated asynchronous events (enum ib_event_type; CQ_ERR, 0, is none of them). */
enum xp_event {
	EV_NONE = 0,
	EV_QP_FATAL = IB_EVENT_QP_FATAL,
	EV_QP_REQ_ERR = IB_EVENT_QP_REQ_ERR,
	EV_QP_ACCESS_ERR = IB_EVENT_QP_ACCESS_ERR,
	EV_COMM_EST = IB_EVENT_COMM_EST,
	EV_SQ_DRAINED = IB_EVENT_SQ_DRAINED,
	EV_LAST_WQE = IB_EVENT_QP_LAST_WQE_REACHED,
};

#endif
