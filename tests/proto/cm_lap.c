/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The senders of LAP and APR, after older kernels, with one difference: after a LAP_ERROR (no answer) the id may send
 * another LAP; those kernels left it in LAP_SENT.
 */
#include <errno.h>
#include <string.h>
#include "cm/rx_internal.h"
#include "cm_lap.h"

static void lap_format_path(uint8_t *mad, const struct cm_path *path, uint8_t ack_delay)
{
	memcpy(mad + CM_OFF_LAP_ALTERNATE_LOCAL_PORT_GID, path->sgid, 16);
	memcpy(mad + CM_OFF_LAP_ALTERNATE_REMOTE_PORT_GID, path->dgid, 16);
	cm_set(mad, CM_LAP_ALTERNATE_LOCAL_PORT_LID, path->slid);
	cm_set(mad, CM_LAP_ALTERNATE_REMOTE_PORT_LID, path->dlid);
	cm_set(mad, CM_LAP_ALTERNATE_FLOW_LABEL, path->flow_label);
	cm_set(mad, CM_LAP_ALTERNATE_TRAFFIC_CLASS, path->traffic_class);
	cm_set(mad, CM_LAP_ALTERNATE_HOP_LIMIT, path->hop_limit);
	cm_set(mad, CM_LAP_ALTERNATE_PACKET_RATE, path->rate);
	cm_set(mad, CM_LAP_ALTERNATE_SL, path->sl);
	cm_set(mad, CM_LAP_ALTERNATE_SUBNET_LOCAL, path->hop_limit <= 1);
	cm_set(mad, CM_LAP_ALTERNATE_LOCAL_ACK_TIMEOUT,
	       cm_ack_timeout(ack_delay, path->packet_life_time));
}

int lap_send(struct cm_id *id, const struct cm_path *path, const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_LAP, id->state, id->lap_state);
	struct cm_hdr h = { .attr = CM_ATTR_LAP };
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	struct cm_vector alt;
	int ret;

	if (!path || (data && len > CM_LEN_LAP_PRIVATE_DATA) || !row || !p->av.av.dev ||
	    p->av.av.roce)
		return -EINVAL;
	ret = cm_av_from_path(id->cm, path, NULL, &alt);
	if (ret)
		return ret;
	alt.timeout = cm_ack_timeout(p->target_ack_delay, alt.timeout - 1u);
	h.tid = cm_form_tid(p);
	cm_msg_init(mad, &h);
	cm_set(mad, CM_LAP_LOCAL_COMM_ID, id->local_id);
	cm_set(mad, CM_LAP_REMOTE_COMM_ID, id->remote_id);
	cm_set(mad, CM_LAP_REMOTE_QPN_EECN, p->remote_qpn);
	cm_set(mad, CM_LAP_REMOTE_CM_RESPONSE_TIMEOUT, 0x1f);
	lap_format_path(mad, path, p->av.av.dev->ack_delay);
	if (data && len)
		memcpy(mad + CM_OFF_LAP_PRIVATE_DATA, data, len);
	ret = cm_post_wait(p, mad, IB_CM_ESTABLISHED, now);
	if (ret)
		return ret;
	p->alt = alt;
	cm_apply(p, row, now);
	return 0;
}

int lap_send_apr(struct cm_id *id, enum ib_cm_apr_status status, const void *info,
		 uint8_t info_len, const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_APR, id->state, id->lap_state);
	struct cm_hdr h = { .attr = CM_ATTR_APR };
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if ((data && len > CM_LEN_APR_PRIVATE_DATA) ||
	    (info && info_len > CM_LEN_APR_ADDITIONAL_INFORMATION) || !row)
		return -EINVAL;
	h.tid = p->tid;
	cm_msg_init(mad, &h);
	cm_set(mad, CM_APR_LOCAL_COMM_ID, id->local_id);
	cm_set(mad, CM_APR_REMOTE_COMM_ID, id->remote_id);
	cm_set(mad, CM_APR_AR_STATUS, status);
	if (info && info_len) {
		cm_set(mad, CM_APR_ADDITIONAL_INFORMATION_LENGTH, info_len);
		memcpy(mad + CM_OFF_APR_ADDITIONAL_INFORMATION, info, info_len);
	}
	if (data && len)
		memcpy(mad + CM_OFF_APR_PRIVATE_DATA, data, len);
	ret = cm_post(p, mad);
	if (!ret)
		cm_apply(p, row, now);
	return ret;
}
