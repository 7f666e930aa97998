/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events of the CM. */
#ifndef RUSE_CM_CM_EVENT_H
#define RUSE_CM_CM_EVENT_H

#include <rdma/ib_user_ioctl_verbs.h>
#include "cm/cm_param.h"

struct cm_id;

/* The kernel's IB_WC_RESP_TIMEOUT_ERR; the same value in enum ibv_wc_status. */
#define CM_WC_RESP_TIMEOUT_ERR 20

/*
 * An event of an id. Pointers are valid until the handler returns; most point into
 * the received MAD. Depths and timeouts are from the local point of view: the
 * peer's initiator depth is responder_resources here.
 */
struct cm_event {
	enum ib_cm_event_type event;
	union {
		struct {
			struct cm_id *listen_id;
			uint16_t bth_pkey;
			uint8_t port;
			const struct cm_path *primary_path, *alternate_path; /* alternate or NULL */
			struct cm_sgid sgid;	/* local GID the REQ was sent to */
			uint64_t remote_ca_guid;
			uint32_t remote_qkey, remote_qpn, starting_psn;
			uint8_t qp_type;	/* IB_UVERBS_QPT_RC, _UC, _XRC_TGT; 0: other */
			uint8_t responder_resources, initiator_depth;
			uint8_t local_cm_response_timeout, remote_cm_response_timeout;
			uint8_t flow_control, retry_count, rnr_retry_count, srq;
			struct cm_ece ece;
		} req;
		struct {
			uint64_t remote_ca_guid;
			uint32_t remote_qkey, remote_qpn, starting_psn;
			uint8_t responder_resources, initiator_depth, target_ack_delay;
			uint8_t failover_accepted, flow_control, rnr_retry_count, srq;
			struct cm_ece ece;
		} rep;
		struct {
			uint16_t reason;	/* as received; known ones: enum ib_cm_rej_reason */
			const uint8_t *ari;	/* 72 bytes */
			uint8_t ari_length;	/* as received, at most 72 */
		} rej;
		struct {
			uint8_t service_timeout;
		} mra;
		struct {
			const struct cm_path *alternate_path;
		} lap;
		struct {
			uint8_t ap_status, info_len;
			const uint8_t *apr_info;
		} apr;
		struct {
			struct cm_id *listen_id;
			uint64_t service_id;
			uint16_t bth_pkey, pkey;
			uint8_t port;
			struct cm_sgid sgid;
		} sidr_req;
		struct {
			uint8_t status;		/* as received; known: enum ib_cm_sidr_status */
			uint8_t info_len;
			uint32_t qkey, qpn;
			const uint8_t *info;
			struct cm_sgid sgid;
		} sidr_rep;
		int send_status;	/* of the *_ERROR events: CM_WC_RESP_TIMEOUT_ERR */
	};
	const uint8_t *private_data;	/* NULL in events without a MAD */
	uint32_t private_data_len;	/* length of the whole field */
	const struct cm_av *from;	/* REQ, SIDR_REQ: address vector of the received packet */
};

#endif
