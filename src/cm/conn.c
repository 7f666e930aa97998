/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * REP, RTU, MRA and REJ: from the answer to a REQ until the connection is established
 * or refused. The functions that the consumer calls send the messages. The handler of
 * a received message looks up the row for the message and the id's state in the state
 * table (table.c), changes the state as the row says and delivers the row's event. A
 * duplicate REP is answered with the RTU or MRA sent before. If the REP's sender QP is
 * already the remote QP of another connection here, the REP is rejected as stale, and
 * that other connection is disconnected.
 */
#include <errno.h>
#include "cm/rx_internal.h"
#include "wire/be.h"

static bool too_long(const void *data, uint32_t len, uint32_t limit)
{
	return data && len > limit;
}

int cm_send_rep(struct cm_id *id, const struct cm_rep_param *r, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_REP, id->state, id->lap_state);
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if (too_long(r->private_data, r->private_data_len, CM_LEN_REP_PRIVATE_DATA) || !row ||
	    !p->av.av.dev)
		return -EINVAL;
	cm_format_rep(p, r, mad);
	ret = cm_post_wait(p, mad, IB_CM_REP_SENT, now);
	if (ret)
		return ret;
	cm_apply(p, row, now);
	p->initiator_depth = r->initiator_depth;
	p->responder_resources = r->responder_resources;
	p->rq_psn = r->starting_psn & 0xffffff;
	p->local_qpn = r->qp_num & 0xffffff;
	return 0;
}

int cm_send_rtu(struct cm_id *id, const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_RTU, id->state, id->lap_state);
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if (too_long(data, len, CM_LEN_RTU_PRIVATE_DATA) || !row)
		return -EINVAL;
	cm_format_rtu(p, data, len, mad);
	ret = cm_keep_private_data(p, data, len);
	if (!ret)
		ret = cm_post(p, mad);
	if (!ret)
		cm_apply(p, row, now);
	return ret;
}

int cm_send_mra(struct cm_id *id, uint8_t service_timeout, const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_MRA, id->state, id->lap_state);
	enum cm_msg_response what = CM_MSG_RESPONSE_OTHER;
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if (too_long(data, len, CM_LEN_MRA_PRIVATE_DATA) || !row)
		return -EINVAL;
	if (id->state == IB_CM_REQ_RCVD)
		what = CM_MSG_RESPONSE_REQ;
	else if (id->state == IB_CM_REP_RCVD)
		what = CM_MSG_RESPONSE_REP;
	ret = cm_keep_private_data(p, data, len);
	if (!ret && !(service_timeout & CM_MRA_FLAG_DELAY)) {
		cm_format_mra(p, what, service_timeout, data, len, mad);
		ret = cm_post(p, mad);
	}
	if (ret)
		return ret;
	cm_apply(p, row, now);
	p->service_timeout = service_timeout;
	return 0;
}

int cm_send_rej(struct cm_id *id, enum ib_cm_rej_reason reason, const void *ari, uint8_t ari_len,
		const void *data, uint8_t len, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_REJ, id->state, id->lap_state);
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];

	if (too_long(data, len, CM_LEN_REJ_PRIVATE_DATA) ||
	    too_long(ari, ari_len, CM_LEN_REJ_ARI) || !row)
		return -EINVAL;
	cm_format_rej(p, id->state, reason, ari, ari_len, data, len, mad);
	cm_apply(p, row, now);
	return cm_post(p, mad);
}

static void rx_rep_event(struct cm_event *ev, const struct cm_rx *rx, uint32_t qpn)
{
	const uint8_t *mad = rx->mad;

	ev->event = IB_CM_REP_RECEIVED;
	ev->rep.remote_ca_guid = cm_get(mad, CM_REP_LOCAL_CA_GUID);
	ev->rep.remote_qkey = (uint32_t)cm_get(mad, CM_REP_LOCAL_Q_KEY);
	ev->rep.remote_qpn = qpn;
	ev->rep.starting_psn = (uint32_t)cm_get(mad, CM_REP_STARTING_PSN);
	ev->rep.responder_resources = (uint8_t)cm_get(mad, CM_REP_INITIATOR_DEPTH);
	ev->rep.initiator_depth = (uint8_t)cm_get(mad, CM_REP_RESPONDER_RESOURCES);
	ev->rep.target_ack_delay = (uint8_t)cm_get(mad, CM_REP_TARGET_ACK_DELAY);
	ev->rep.failover_accepted = (uint8_t)cm_get(mad, CM_REP_FAILOVER_ACCEPTED);
	ev->rep.flow_control = (uint8_t)cm_get(mad, CM_REP_END_TO_END_FLOW_CONTROL);
	ev->rep.rnr_retry_count = (uint8_t)cm_get(mad, CM_REP_RNR_RETRY_COUNT);
	ev->rep.srq = (uint8_t)cm_get(mad, CM_REP_SRQ);
	ev->rep.ece.vendor_id = (uint32_t)(cm_get(mad, CM_REP_VENDOR_ID_H) << 16 |
					   cm_get(mad, CM_REP_VENDOR_ID_M) << 8 |
					   cm_get(mad, CM_REP_VENDOR_ID_L));
	ev->rep.ece.attr_mod = rx->hdr.attr_mod;
	ev->private_data = cm_msg_private_data(mad, CM_ATTR_REP, &ev->private_data_len);
}

static void rep_again(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_REP_REMOTE_COMM_ID),
				    (uint32_t)cm_get(rx->mad, CM_REP_LOCAL_COMM_ID));
	const struct cm_row *row;
	uint8_t mad[CM_MAD_LEN];

	row = p ? cm_row(CM_IN_REP_AGAIN, p->id.state, p->id.lap_state) : NULL;
	if (!row)
		return;
	if (row->what & CM_DUP)
		cm_count_duplicate(rx);
	if (row->what & CM_ANSWER_RTU)
		cm_format_rtu(p, p->private_data, p->private_data_len, mad);
	else if (row->what & CM_ANSWER_MRA)
		cm_format_mra(p, CM_MSG_RESPONSE_REP, p->service_timeout, p->private_data,
			      p->private_data_len, mad);
	else
		return;
	cm_reply(rx, mad);
}

/*
 * Enters the REP's sender in the hashes of peers. False: its communication id or its QP belongs to
 * another connection. In the case of the QP a REJ is sent, and the other connection is disconnected.
 */
static bool enter_remote(struct cm_rx *rx, struct cm_priv *p, uint32_t qpn)
{
	struct cm_timewait *tw = p->tw, *other;
	struct cm_priv *q;

	tw->remote_id = (uint32_t)cm_get(rx->mad, CM_REP_LOCAL_COMM_ID);
	tw->remote_ca_guid = cm_get(rx->mad, CM_REP_LOCAL_CA_GUID);
	tw->remote_qpn = qpn;
	if (cm_insert_remote_id(tw)) {
		tw->remote_id = tw->remote_qpn = 0;
		return false;
	}
	other = cm_insert_remote_qpn(tw);
	if (!other)
		return true;
	cm_remove_remote(tw);
	tw->remote_id = tw->remote_qpn = 0;
	cm_issue_rej(rx, IB_CM_REJ_STALE_CONN, CM_MSG_RESPONSE_REP);
	q = cm_find(rx->cm, other->local_id, other->remote_id);
	if (q)
		cm_send_dreq(&q->id, NULL, 0, rx->now);
	return false;
}

void cm_rep_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_REP_REMOTE_COMM_ID), 0);
	struct cm_event ev = { .private_data = NULL };
	const struct cm_row *row;
	uint32_t qpn;

	if (!p) {
		rep_again(rx);
		return;
	}
	row = cm_row(CM_IN_REP, p->id.state, p->id.lap_state);
	if (!row || !p->tw)
		return;
	qpn = (uint32_t)cm_get(rx->mad, p->qp_type == IB_UVERBS_QPT_XRC_INI ? CM_REP_LOCAL_EECN :
									      CM_REP_LOCAL_QPN);
	if (!enter_remote(rx, p, qpn))
		return;
	rx_rep_event(&ev, rx, qpn);
	p->id.remote_id = (uint32_t)cm_get(rx->mad, CM_REP_LOCAL_COMM_ID);
	p->remote_qpn = qpn;
	p->initiator_depth = ev.rep.initiator_depth;
	p->responder_resources = ev.rep.responder_resources;
	p->sq_psn = ev.rep.starting_psn;
	p->rnr_retry_count = ev.rep.rnr_retry_count;
	p->target_ack_delay = ev.rep.target_ack_delay;
	p->av.timeout = cm_ack_timeout(p->target_ack_delay, p->av.timeout - 1u);
	if (p->alt.av.dev)
		p->alt.timeout = cm_ack_timeout(p->target_ack_delay, p->alt.timeout - 1u);
	cm_apply(p, row, rx->now);
	cm_deliver(p, &ev, rx->now);
}

/* Changes the state of p as the row of the state table says and delivers the row's event. The event's handler may free p. */
static void rx_move(struct cm_rx *rx, struct cm_priv *p, const struct cm_row *row,
		    struct cm_event *ev)
{
	if (row->what & CM_DUP)
		cm_count_duplicate(rx);
	if (row->event == CM_NO_EVENT)
		return;
	ev->event = (enum ib_cm_event_type)row->event;
	ev->private_data = cm_msg_private_data(rx->mad, rx->hdr.attr, &ev->private_data_len);
	cm_apply(p, row, rx->now);
	cm_deliver(p, ev, rx->now);
}

void cm_rtu_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_RTU_REMOTE_COMM_ID),
				    (uint32_t)cm_get(rx->mad, CM_RTU_LOCAL_COMM_ID));
	struct cm_event ev = { .private_data = NULL };
	const struct cm_row *row;

	row = p ? cm_row(CM_IN_RTU, p->id.state, p->id.lap_state) : NULL;
	if (row)
		rx_move(rx, p, row, &ev);
}

void cm_mra_handler(struct cm_rx *rx)
{
	static const enum cm_in ins[] = { CM_IN_MRA_TO_REQ, CM_IN_MRA_TO_REP, CM_IN_MRA_TO_OTHER };
	uint32_t what = (uint32_t)cm_get(rx->mad, CM_MRA_MESSAGE_MRAED), timeout;
	struct cm_event ev = { .private_data = NULL };
	const struct cm_row *row;
	struct cm_priv *p;

	if (what > CM_MSG_RESPONSE_OTHER)
		return;
	p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_MRA_REMOTE_COMM_ID),
		    what == CM_MSG_RESPONSE_REQ ? 0 :
						  (uint32_t)cm_get(rx->mad, CM_MRA_LOCAL_COMM_ID));
	row = p ? cm_row(ins[what], p->id.state, p->id.lap_state) : NULL;
	if (!row)
		return;
	ev.mra.service_timeout = (uint8_t)cm_get(rx->mad, CM_MRA_SERVICE_TIMEOUT);
	timeout = cm_convert_to_ms(ev.mra.service_timeout) + cm_convert_to_ms(p->av.timeout);
	if (row->event != CM_NO_EVENT) {
		if (!cm_extend(p, timeout, rx->now))
			return;
		if (row->to != CM_KEEP)
			p->msg->state = (enum ib_cm_state)row->to;
	}
	rx_move(rx, p, row, &ev);
}

static struct cm_priv *find_rejected(struct cm_rx *rx, uint32_t reason)
{
	uint32_t remote_id = (uint32_t)cm_get(rx->mad, CM_REJ_LOCAL_COMM_ID);
	struct cm_timewait *tw;

	/*
	 * Reason TIMEOUT: the REJ's sender has had no answer, so it does not know the local id and
	 * the REJ does not contain it. Search by the sender's CA GUID, which is in the ARI, and
	 * the sender's communication id.
	 */
	if (reason == IB_CM_REJ_TIMEOUT) {
		tw = cm_find_remote_id(rx->cm, get_be64(rx->mad + CM_OFF_REJ_ARI), remote_id);
		return tw ? cm_find(rx->cm, tw->local_id, tw->remote_id) : NULL;
	}
	if (cm_get(rx->mad, CM_REJ_MESSAGE_REJECTED) == CM_MSG_RESPONSE_REQ)
		remote_id = 0;
	return cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_REJ_REMOTE_COMM_ID), remote_id);
}

void cm_rej_handler(struct cm_rx *rx)
{
	uint32_t reason = (uint32_t)cm_get(rx->mad, CM_REJ_REASON);
	struct cm_priv *p = find_rejected(rx, reason);
	struct cm_event ev = { .private_data = NULL };
	const struct cm_row *row;

	row = !p ? NULL :
		   cm_row(reason == IB_CM_REJ_STALE_CONN ? CM_IN_REJ_STALE : CM_IN_REJ, p->id.state,
			  p->id.lap_state);
	if (!row)
		return;
	ev.rej.reason = (uint16_t)reason;
	ev.rej.ari = rx->mad + CM_OFF_REJ_ARI;
	ev.rej.ari_length = (uint8_t)min(cm_get(rx->mad, CM_REJ_REJECTED_INFO_LENGTH),
					 (uint64_t)CM_LEN_REJ_ARI);
	rx_move(rx, p, row, &ev);
}
