/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LAP and APR: loading another alternate path in an established connection (IBA 12.8). Linux 6.1
 * receives both messages but has no function that sends them; the functions here follow older
 * kernels, with one difference. After a LAP_ERROR (no answer) the id may send another LAP; those
 * kernels left it in LAP_SENT. RoCE has no alternate paths.
 */
#include <errno.h>
#include <string.h>
#include "cm/rx_internal.h"

static void format_path(uint8_t *mad, const struct cm_path *path, uint8_t ack_delay)
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

int cm_send_lap(struct cm_id *id, const struct cm_path *path, const void *data, uint8_t len,
		ns_t now)
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
	format_path(mad, path, p->av.av.dev->ack_delay);
	if (data && len)
		memcpy(mad + CM_OFF_LAP_PRIVATE_DATA, data, len);
	ret = cm_post_wait(p, mad, IB_CM_ESTABLISHED, now);
	if (ret)
		return ret;
	p->alt = alt;
	cm_apply(p, row, now);
	return 0;
}

int cm_send_apr(struct cm_id *id, enum ib_cm_apr_status status, const void *info,
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

static void path_from_lap(const struct cm_rx *rx, const struct cm_priv *p, struct cm_path *path)
{
	const uint8_t *mad = rx->mad;

	memcpy(path->dgid, mad + CM_OFF_LAP_ALTERNATE_LOCAL_PORT_GID, 16);
	memcpy(path->sgid, mad + CM_OFF_LAP_ALTERNATE_REMOTE_PORT_GID, 16);
	path->dlid = (uint16_t)cm_get(mad, CM_LAP_ALTERNATE_LOCAL_PORT_LID);
	path->slid = (uint16_t)cm_get(mad, CM_LAP_ALTERNATE_REMOTE_PORT_LID);
	path->flow_label = (uint32_t)cm_get(mad, CM_LAP_ALTERNATE_FLOW_LABEL);
	path->hop_limit = (uint8_t)cm_get(mad, CM_LAP_ALTERNATE_HOP_LIMIT);
	path->traffic_class = (uint8_t)cm_get(mad, CM_LAP_ALTERNATE_TRAFFIC_CLASS);
	path->pkey = p->pkey;
	path->sl = (uint8_t)cm_get(mad, CM_LAP_ALTERNATE_SL);
	path->mtu = p->path_mtu;
	path->rate = (uint8_t)cm_get(mad, CM_LAP_ALTERNATE_PACKET_RATE);
	path->packet_life_time = (uint8_t)cm_get(mad, CM_LAP_ALTERNATE_LOCAL_ACK_TIMEOUT);
	path->packet_life_time -= path->packet_life_time > 0;
}

void cm_lap_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_LAP_REMOTE_COMM_ID),
				    (uint32_t)cm_get(rx->mad, CM_LAP_LOCAL_COMM_ID));
	struct cm_event ev = { .event = IB_CM_LAP_RECEIVED };
	struct cm_path path = { .slid = 0 };
	const struct cm_row *row;
	uint8_t mad[CM_MAD_LEN];
	struct cm_vector alt;

	row = p ? cm_row(CM_IN_LAP, p->id.state, p->id.lap_state) : NULL;
	if (!row || rx->from->roce)
		return;
	path_from_lap(rx, p, &path);
	if (cm_av_from_path(rx->cm, &path, NULL, &alt) ||
	    alt.av.dev->node_guid != rx->from->dev->node_guid)
		return;
	p->av.av = *rx->from;
	p->alt = alt;
	if (row->what & CM_DUP)
		cm_count_duplicate(rx);
	if (row->what & CM_ANSWER_MRA) {
		cm_format_mra(p, CM_MSG_RESPONSE_OTHER, p->service_timeout, p->private_data,
			      p->private_data_len, mad);
		cm_reply(rx, mad);
	}
	if (row->event == CM_NO_EVENT)
		return;
	cm_apply(p, row, rx->now);
	p->tid = rx->hdr.tid;
	ev.lap.alternate_path = &path;
	ev.private_data = cm_msg_private_data(rx->mad, CM_ATTR_LAP, &ev.private_data_len);
	cm_deliver(p, &ev, rx->now);
}

void cm_apr_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_APR_REMOTE_COMM_ID),
				    (uint32_t)cm_get(rx->mad, CM_APR_LOCAL_COMM_ID));
	struct cm_event ev = { .event = IB_CM_APR_RECEIVED };
	const struct cm_row *row;

	row = p ? cm_row(CM_IN_APR, p->id.state, p->id.lap_state) : NULL;
	if (!row || rx->from->roce)
		return;
	ev.apr.ap_status = (uint8_t)cm_get(rx->mad, CM_APR_AR_STATUS);
	ev.apr.apr_info = rx->mad + CM_OFF_APR_ADDITIONAL_INFORMATION;
	ev.apr.info_len = (uint8_t)min(cm_get(rx->mad, CM_APR_ADDITIONAL_INFORMATION_LENGTH),
				       (uint64_t)CM_LEN_APR_ADDITIONAL_INFORMATION);
	ev.private_data = cm_msg_private_data(rx->mad, CM_ATTR_APR, &ev.private_data_len);
	cm_apply(p, row, rx->now);
	cm_deliver(p, &ev, rx->now);
}
