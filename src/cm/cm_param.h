/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters of the messages a consumer sends. Pointers are read during the call
 * only. No private data: NULL or length 0. Lengths are in bytes.
 */
#ifndef RUSE_CM_CM_PARAM_H
#define RUSE_CM_CM_PARAM_H

#include "cm/cm_av.h"
#include "cm/cm_state.h"

/* Enhanced connection establishment: content of librdmacm's struct rdma_ucm_ece. */
struct cm_ece {
	uint32_t vendor_id;	/* 24 bits; 16 of them in a SIDR_REP */
	uint32_t attr_mod;
};

struct cm_req_param {
	const struct cm_path *primary_path, *alternate_path; /* alternate may be NULL */
	const struct cm_path *primary_path_inbound, *primary_path_outbound; /* may be NULL */
	struct cm_sgid ppath_sgid;
	uint64_t service_id;
	uint32_t qp_num, starting_psn;
	uint8_t qp_type;		/* IB_UVERBS_QPT_RC, _UC, _XRC_INI */
	const void *private_data;
	uint8_t private_data_len;	/* up to 92 */
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_cm_response_timeout, local_cm_response_timeout; /* 5 bits */
	uint8_t flow_control, retry_count, rnr_retry_count, max_cm_retries, srq;
	struct cm_ece ece;
};

struct cm_rep_param {
	uint32_t qp_num, starting_psn;
	const void *private_data;
	uint8_t private_data_len;	/* up to 196 */
	uint8_t responder_resources, initiator_depth;
	uint8_t failover_accepted, flow_control, rnr_retry_count, srq;
	struct cm_ece ece;
};

struct cm_sidr_req_param {
	const struct cm_path *path;
	struct cm_sgid sgid;
	uint64_t service_id;
	uint32_t timeout_ms;		/* between repetitions */
	const void *private_data;
	uint8_t private_data_len;	/* up to 216 */
	uint8_t max_cm_retries;
};

struct cm_sidr_rep_param {
	uint32_t qp_num, qkey;
	enum ib_cm_sidr_status status;
	const void *info, *private_data;
	uint8_t info_length, private_data_len; /* up to 72 and 136 */
	struct cm_ece ece;
};

#endif
