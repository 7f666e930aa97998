/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LAP and APR: loading another alternate path in an established connection (IBA 12.8). As Linux 6.1, the CM receives both
 * messages and has no function that sends them; the tests have (tests/proto/cm_lap.c). RoCE has no alternate paths.
 */
#include <errno.h>
#include <string.h>
#include "cm/rx_internal.h"

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
