/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formatting of REQ, REP, MRA, REJ, RTU and DREP. */
#include <string.h>
#include "cm/rx_internal.h"
#include "wire/mad.h"

static void put_data(uint8_t *at, const void *data, uint32_t len)
{
	if (data && len)
		memcpy(at, data, len);
}

static void format_init(uint8_t *mad, enum cm_attr attr, uint64_t tid, uint32_t attr_mod)
{
	struct cm_hdr h = { .tid = tid, .attr = attr, .attr_mod = attr_mod };

	cm_msg_init(mad, &h);
}

static void put_type(uint8_t *mad, uint8_t qp_type)
{
	if (qp_type == IB_UVERBS_QPT_UC) {
		cm_set(mad, CM_REQ_TRANSPORT_SERVICE_TYPE, 1);
	} else if (qp_type == IB_UVERBS_QPT_XRC_INI) {
		cm_set(mad, CM_REQ_TRANSPORT_SERVICE_TYPE, 3);
		cm_set(mad, CM_REQ_EXTENDED_TRANSPORT_TYPE, 1);
	}
}

#define PATH_FIELDS(which)                                                        \
	{                                                                         \
		.local_gid = CM_OFF_REQ_##which##_LOCAL_PORT_GID,                 \
		.remote_gid = CM_OFF_REQ_##which##_REMOTE_PORT_GID,               \
		.local_lid = CM_REQ_##which##_LOCAL_PORT_LID,                     \
		.remote_lid = CM_REQ_##which##_REMOTE_PORT_LID,                   \
		.flow_label = CM_REQ_##which##_FLOW_LABEL,                        \
		.rate = CM_REQ_##which##_PACKET_RATE,                             \
		.traffic_class = CM_REQ_##which##_TRAFFIC_CLASS,                  \
		.hop_limit = CM_REQ_##which##_HOP_LIMIT,                          \
		.sl = CM_REQ_##which##_SL,                                        \
		.subnet_local = CM_REQ_##which##_SUBNET_LOCAL,                    \
		.ack_timeout = CM_REQ_##which##_LOCAL_ACK_TIMEOUT,                \
	}

const struct cm_req_path cm_req_paths[2] = { PATH_FIELDS(PRIMARY), PATH_FIELDS(ALTERNATE) };

/*
 * A hop limit over 1 (RoCE: 64) means that the peer is in another subnet. The remote LID is then
 * LID_PERMISSIVE (unknown). The local LID is the one by which the last router reaches this port:
 * the DLID of the inbound path, or LID_PERMISSIVE if that path is not given.
 */
static void put_path(const struct cm_priv *p, bool alternate, const struct cm_path *path,
		     const struct cm_path *inbound, uint8_t *mad)
{
	const struct cm_req_path *f = &cm_req_paths[alternate];
	bool local = path->hop_limit <= 1;
	uint16_t llid = LID_PERMISSIVE;

	if (local)
		llid = path->slid;
	else if (inbound)
		llid = inbound->dlid;
	memcpy(mad + f->local_gid, path->sgid, 16);
	memcpy(mad + f->remote_gid, path->dgid, 16);
	cm_set(mad, f->local_lid, llid);
	cm_set(mad, f->remote_lid, local ? path->dlid : LID_PERMISSIVE);
	cm_set(mad, f->flow_label, path->flow_label);
	cm_set(mad, f->rate, path->rate);
	cm_set(mad, f->traffic_class, path->traffic_class);
	cm_set(mad, f->hop_limit, path->hop_limit);
	cm_set(mad, f->sl, path->sl);
	cm_set(mad, f->subnet_local, local);
	cm_set(mad, f->ack_timeout,
	       cm_ack_timeout(p->av.av.dev->ack_delay, path->packet_life_time));
}

void cm_format_req(const struct cm_priv *p, const struct cm_req_param *r, uint8_t *mad)
{
	format_init(mad, CM_ATTR_REQ, cm_form_tid(p), r->ece.attr_mod);
	cm_set(mad, CM_REQ_LOCAL_COMM_ID, p->id.local_id);
	cm_set(mad, CM_REQ_VENDOR_ID, r->ece.vendor_id);
	cm_set(mad, CM_REQ_SERVICE_ID, r->service_id);
	cm_set(mad, CM_REQ_LOCAL_CA_GUID, p->av.av.dev->node_guid);
	cm_set(mad, CM_REQ_LOCAL_QPN, r->qp_num);
	cm_set(mad, CM_REQ_INITIATOR_DEPTH, r->initiator_depth);
	cm_set(mad, CM_REQ_REMOTE_CM_RESPONSE_TIMEOUT, r->remote_cm_response_timeout);
	put_type(mad, r->qp_type);
	cm_set(mad, CM_REQ_END_TO_END_FLOW_CONTROL, r->flow_control);
	cm_set(mad, CM_REQ_STARTING_PSN, r->starting_psn);
	cm_set(mad, CM_REQ_LOCAL_CM_RESPONSE_TIMEOUT, r->local_cm_response_timeout);
	cm_set(mad, CM_REQ_PARTITION_KEY, r->primary_path->pkey);
	cm_set(mad, CM_REQ_PATH_PACKET_PAYLOAD_MTU, r->primary_path->mtu);
	cm_set(mad, CM_REQ_MAX_CM_RETRIES, r->max_cm_retries);
	/* An XRC initiator QP has no responder: these fields stay 0. */
	if (r->qp_type != IB_UVERBS_QPT_XRC_INI) {
		cm_set(mad, CM_REQ_RESPONDER_RESOURCES, r->responder_resources);
		cm_set(mad, CM_REQ_RETRY_COUNT, r->retry_count);
		cm_set(mad, CM_REQ_RNR_RETRY_COUNT, r->rnr_retry_count);
		cm_set(mad, CM_REQ_SRQ, r->srq);
	}
	put_path(p, false, r->primary_path, r->primary_path_inbound, mad);
	if (r->alternate_path)
		put_path(p, true, r->alternate_path, NULL, mad);
	put_data(mad + CM_OFF_REQ_PRIVATE_DATA, r->private_data, r->private_data_len);
}

void cm_format_rep(const struct cm_priv *p, const struct cm_rep_param *r, uint8_t *mad)
{
	format_init(mad, CM_ATTR_REP, p->tid, r->ece.attr_mod);
	cm_set(mad, CM_REP_LOCAL_COMM_ID, p->id.local_id);
	cm_set(mad, CM_REP_REMOTE_COMM_ID, p->id.remote_id);
	cm_set(mad, CM_REP_STARTING_PSN, r->starting_psn);
	cm_set(mad, CM_REP_RESPONDER_RESOURCES, r->responder_resources);
	cm_set(mad, CM_REP_TARGET_ACK_DELAY, p->av.av.dev->ack_delay);
	cm_set(mad, CM_REP_FAILOVER_ACCEPTED, r->failover_accepted);
	cm_set(mad, CM_REP_RNR_RETRY_COUNT, r->rnr_retry_count);
	cm_set(mad, CM_REP_LOCAL_CA_GUID, p->av.av.dev->node_guid);
	if (p->qp_type != IB_UVERBS_QPT_XRC_TGT) {
		cm_set(mad, CM_REP_INITIATOR_DEPTH, r->initiator_depth);
		cm_set(mad, CM_REP_END_TO_END_FLOW_CONTROL, r->flow_control);
		cm_set(mad, CM_REP_SRQ, r->srq);
		cm_set(mad, CM_REP_LOCAL_QPN, r->qp_num);
	} else {
		cm_set(mad, CM_REP_SRQ, 1);
		cm_set(mad, CM_REP_LOCAL_EECN, r->qp_num);
	}
	cm_set(mad, CM_REP_VENDOR_ID_L, r->ece.vendor_id);
	cm_set(mad, CM_REP_VENDOR_ID_M, r->ece.vendor_id >> 8);
	cm_set(mad, CM_REP_VENDOR_ID_H, r->ece.vendor_id >> 16);
	put_data(mad + CM_OFF_REP_PRIVATE_DATA, r->private_data, r->private_data_len);
}

void cm_format_mra(const struct cm_priv *p, enum cm_msg_response what, uint8_t service_timeout,
		   const void *data, uint32_t len, uint8_t *mad)
{
	format_init(mad, CM_ATTR_MRA, p->tid, 0);
	cm_set(mad, CM_MRA_LOCAL_COMM_ID, p->id.local_id);
	cm_set(mad, CM_MRA_REMOTE_COMM_ID, p->id.remote_id);
	cm_set(mad, CM_MRA_MESSAGE_MRAED, what);
	cm_set(mad, CM_MRA_SERVICE_TIMEOUT, service_timeout);
	put_data(mad + CM_OFF_MRA_PRIVATE_DATA, data, len);
}

static enum cm_msg_response rejected_in(enum ib_cm_state state)
{
	if (state == IB_CM_REQ_RCVD || state == IB_CM_MRA_REQ_SENT)
		return CM_MSG_RESPONSE_REQ;
	if (state == IB_CM_REP_RCVD || state == IB_CM_MRA_REP_SENT)
		return CM_MSG_RESPONSE_REP;
	return CM_MSG_RESPONSE_OTHER;
}

void cm_format_rej(const struct cm_priv *p, enum ib_cm_state state, enum ib_cm_rej_reason reason,
		   const void *ari, uint32_t ari_len, const void *data, uint32_t len, uint8_t *mad)
{
	format_init(mad, CM_ATTR_REJ, p->tid, 0);
	/* In REQ_RCVD no message has told the peer the local id yet: the field stays 0. */
	if (state != IB_CM_REQ_RCVD)
		cm_set(mad, CM_REJ_LOCAL_COMM_ID, p->id.local_id);
	cm_set(mad, CM_REJ_REMOTE_COMM_ID, p->id.remote_id);
	cm_set(mad, CM_REJ_MESSAGE_REJECTED, rejected_in(state));
	cm_set(mad, CM_REJ_REASON, reason);
	if (ari && ari_len) {
		cm_set(mad, CM_REJ_REJECTED_INFO_LENGTH, ari_len);
		put_data(mad + CM_OFF_REJ_ARI, ari, ari_len);
	}
	put_data(mad + CM_OFF_REJ_PRIVATE_DATA, data, len);
}

void cm_mad_refuse(const uint8_t mad[CM_MAD_LEN], uint32_t reason, uint8_t answer[CM_MAD_LEN])
{
	struct cm_hdr h = { 0 };

	cm_msg_hdr(mad, &h);
	if (h.attr == CM_ATTR_SIDR_REQ) {
		format_init(answer, CM_ATTR_SIDR_REP, h.tid, 0);
		cm_set(answer, CM_SIDR_REP_REQUESTID, cm_get(mad, CM_SIDR_REQ_REQUESTID));
		cm_set(answer, CM_SIDR_REP_STATUS, reason);
		cm_set(answer, CM_SIDR_REP_SERVICEID, cm_get(mad, CM_SIDR_REQ_SERVICEID));
		return;
	}
	format_init(answer, CM_ATTR_REJ, h.tid, 0);
	cm_set(answer, CM_REJ_REMOTE_COMM_ID, cm_get(mad, CM_REQ_LOCAL_COMM_ID));
	cm_set(answer, CM_REJ_MESSAGE_REJECTED, CM_MSG_RESPONSE_REQ);
	cm_set(answer, CM_REJ_REASON, reason);
}

void cm_issue_rej(const struct cm_rx *rx, enum ib_cm_rej_reason reason, enum cm_msg_response what)
{
	uint8_t mad[CM_MAD_LEN];

	format_init(mad, CM_ATTR_REJ, rx->hdr.tid, 0);
	/* Both ids have the same offsets in all messages, so the REJ's fields can read them. A REQ has no remote id. */
	cm_set(mad, CM_REJ_REMOTE_COMM_ID, cm_get(rx->mad, CM_REJ_LOCAL_COMM_ID));
	if (what != CM_MSG_RESPONSE_REQ)
		cm_set(mad, CM_REJ_LOCAL_COMM_ID, cm_get(rx->mad, CM_REJ_REMOTE_COMM_ID));
	cm_set(mad, CM_REJ_MESSAGE_REJECTED, what);
	cm_set(mad, CM_REJ_REASON, reason);
	cm_reply(rx, mad);
}

void cm_format_rtu(const struct cm_priv *p, const void *data, uint32_t len, uint8_t *mad)
{
	format_init(mad, CM_ATTR_RTU, p->tid, 0);
	cm_set(mad, CM_RTU_LOCAL_COMM_ID, p->id.local_id);
	cm_set(mad, CM_RTU_REMOTE_COMM_ID, p->id.remote_id);
	put_data(mad + CM_OFF_RTU_PRIVATE_DATA, data, len);
}

void cm_format_drep(const struct cm_priv *p, const void *data, uint32_t len, uint8_t *mad)
{
	format_init(mad, CM_ATTR_DREP, p->tid, 0);
	cm_set(mad, CM_DREP_LOCAL_COMM_ID, p->id.local_id);
	cm_set(mad, CM_DREP_REMOTE_COMM_ID, p->id.remote_id);
	put_data(mad + CM_OFF_DREP_PRIVATE_DATA, data, len);
}
