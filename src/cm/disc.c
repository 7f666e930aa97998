/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DREQ and DREP: disconnecting, and the answer to a DREQ for an unknown connection. */
#include <errno.h>
#include <string.h>
#include "cm/rx_internal.h"

int cm_send_dreq(struct cm_id *id, const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_DREQ, id->state, id->lap_state);
	struct cm_priv *p = cm_priv(id);
	struct cm_hdr h = { .attr = CM_ATTR_DREQ };
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if ((data && len > CM_LEN_DREQ_PRIVATE_DATA) || !row)
		return -EINVAL;
	h.tid = cm_form_tid(p);
	cm_msg_init(mad, &h);
	cm_set(mad, CM_DREQ_LOCAL_COMM_ID, id->local_id);
	cm_set(mad, CM_DREQ_REMOTE_COMM_ID, id->remote_id);
	cm_set(mad, CM_DREQ_REMOTE_QPN_EECN, p->remote_qpn);
	if (data && len)
		memcpy(mad + CM_OFF_DREQ_PRIVATE_DATA, data, len);
	cm_cancel(p);
	ret = cm_post_wait(p, mad, IB_CM_DREQ_SENT, now);
	if (ret)
		cm_enter_timewait(p, now);
	else
		id->state = (enum ib_cm_state)row->to;
	return ret;
}

int cm_send_drep(struct cm_id *id, const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_DREP, id->state, id->lap_state);
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if ((data && len > CM_LEN_DREP_PRIVATE_DATA) || !row)
		return -EINVAL;
	ret = cm_keep_private_data(p, data, len);
	if (ret)
		return ret;
	cm_format_drep(p, data, len, mad);
	cm_apply(p, row, now);
	return cm_post(p, mad);
}

/* Answers a DREQ for an unknown connection, so that the peer does not wait. */
static void issue_drep(struct cm_rx *rx)
{
	struct cm_hdr h = { .tid = rx->hdr.tid, .attr = CM_ATTR_DREP };
	uint8_t mad[CM_MAD_LEN];

	cm_msg_init(mad, &h);
	cm_set(mad, CM_DREP_LOCAL_COMM_ID, cm_get(rx->mad, CM_DREQ_REMOTE_COMM_ID));
	cm_set(mad, CM_DREP_REMOTE_COMM_ID, cm_get(rx->mad, CM_DREQ_LOCAL_COMM_ID));
	cm_reply(rx, mad);
}

void cm_dreq_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_DREQ_REMOTE_COMM_ID),
				    (uint32_t)cm_get(rx->mad, CM_DREQ_LOCAL_COMM_ID));
	struct cm_event ev = { .event = IB_CM_DREQ_RECEIVED };
	const struct cm_row *row;
	uint8_t mad[CM_MAD_LEN];

	if (!p) {
		cm_count_duplicate(rx);
		issue_drep(rx);
		return;
	}
	row = cm_row(CM_IN_DREQ, p->id.state, p->id.lap_state);
	if (!row || p->local_qpn != cm_get(rx->mad, CM_DREQ_REMOTE_QPN_EECN))
		return;
	if (row->what & CM_DUP)
		cm_count_duplicate(rx);
	if (row->what & CM_ANSWER_DREP) {
		cm_format_drep(p, p->private_data, p->private_data_len, mad);
		cm_reply(rx, mad);
	}
	if (row->event == CM_NO_EVENT)
		return;
	cm_apply(p, row, rx->now);
	p->tid = rx->hdr.tid;
	ev.private_data = cm_msg_private_data(rx->mad, CM_ATTR_DREQ, &ev.private_data_len);
	cm_deliver(p, &ev, rx->now);
}

void cm_drep_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_DREP_REMOTE_COMM_ID),
				    (uint32_t)cm_get(rx->mad, CM_DREP_LOCAL_COMM_ID));
	struct cm_event ev = { .event = IB_CM_DREP_RECEIVED };
	const struct cm_row *row;

	row = p ? cm_row(CM_IN_DREP, p->id.state, p->id.lap_state) : NULL;
	if (!row)
		return;
	cm_apply(p, row, rx->now);
	ev.private_data = cm_msg_private_data(rx->mad, CM_ATTR_DREP, &ev.private_data_len);
	cm_deliver(p, &ev, rx->now);
}
