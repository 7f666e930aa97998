/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Service ID resolution (IBA 12.11): finds the UD QP of a service. A received
 * SIDR_REQ creates an id. Until the answer is sent the id is in the hash cm->sidr,
 * where duplicates of the request are recognised by request id, sender LID and
 * sender GID. (The kernel compares the LID alone, which is always 0 on RoCE.) When the
 * answer has been sent the id is IDLE, and the consumer destroys it. If the service has
 * no listener, the CM itself answers and destroys the id.
 */
#include <errno.h>
#include <string.h>
#include "cm/rx_internal.h"
#include "wire/be.h"

int cm_send_sidr_req(struct cm_id *id, const struct cm_sidr_req_param *r, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_SIDR_REQ, id->state, id->lap_state);
	struct cm_hdr h = { .attr = CM_ATTR_SIDR_REQ };
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	struct cm_vector av;
	int ret;

	if (!r->path || (r->private_data && r->private_data_len > CM_LEN_SIDR_REQ_PRIVATE_DATA))
		return -EINVAL;
	if (!row)
		return -EINVAL;
	ret = cm_av_from_path(id->cm, r->path, &r->sgid, &av);
	if (ret)
		return ret;
	p->av = av;
	id->remote_id = 0;
	id->service_id = r->service_id;
	p->timeout_ms = r->timeout_ms;
	p->max_cm_retries = r->max_cm_retries;
	h.tid = cm_form_tid(p);
	cm_msg_init(mad, &h);
	cm_set(mad, CM_SIDR_REQ_REQUESTID, id->local_id);
	cm_set(mad, CM_SIDR_REQ_PARTITION_KEY, r->path->pkey);
	cm_set(mad, CM_SIDR_REQ_SERVICEID, r->service_id);
	if (r->private_data && r->private_data_len)
		memcpy(mad + CM_OFF_SIDR_REQ_PRIVATE_DATA, r->private_data, r->private_data_len);
	ret = cm_post_wait(p, mad, IB_CM_SIDR_REQ_SENT, now);
	if (!ret)
		cm_apply(p, row, now);
	return ret;
}

int cm_send_sidr_rep(struct cm_id *id, const struct cm_sidr_rep_param *r, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_SIDR_REP, id->state, id->lap_state);
	struct cm_hdr h = { .attr = CM_ATTR_SIDR_REP, .attr_mod = r->ece.attr_mod };
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret;

	if ((r->info && r->info_length > CM_LEN_SIDR_REP_ADDITIONAL_INFORMATION) ||
	    (r->private_data && r->private_data_len > CM_LEN_SIDR_REP_PRIVATE_DATA) || !row)
		return -EINVAL;
	h.tid = p->tid;
	cm_msg_init(mad, &h);
	cm_set(mad, CM_SIDR_REP_REQUESTID, id->remote_id);
	cm_set(mad, CM_SIDR_REP_STATUS, r->status);
	cm_set(mad, CM_SIDR_REP_QPN, r->qp_num);
	cm_set(mad, CM_SIDR_REP_SERVICEID, id->service_id);
	cm_set(mad, CM_SIDR_REP_Q_KEY, r->qkey);
	cm_set(mad, CM_SIDR_REP_VENDOR_ID_L, r->ece.vendor_id);
	cm_set(mad, CM_SIDR_REP_VENDOR_ID_H, r->ece.vendor_id >> 8 & 0xff);
	if (r->info && r->info_length) {
		/*
		 * The kernel sends length 0, so that no receiver can read the information.
		 * ruse sends the length.
		 */
		cm_set(mad, CM_SIDR_REP_ADDITIONAL_INFORMATION_LENGTH, r->info_length);
		memcpy(mad + CM_OFF_SIDR_REP_ADDITIONAL_INFORMATION, r->info, r->info_length);
	}
	if (r->private_data && r->private_data_len)
		memcpy(mad + CM_OFF_SIDR_REP_PRIVATE_DATA, r->private_data, r->private_data_len);
	ret = cm_post(p, mad);
	if (ret)
		return ret;
	cm_apply(p, row, now);
	cm_hash_del(&id->cm->sidr, &p->sidr);
	return 0;
}

static uint32_t hash_request(const struct cm_priv *p)
{
	const struct cm_av *av = &p->av.av;

	return cm_hash_of(&p->id.cm->sidr, (uint64_t)av->dlid << 32 | p->id.remote_id,
			  get_be64(av->dgid) ^ get_be64(av->dgid + 8));
}

/* Adds p to the hash of requests. Returns false if the request is a duplicate: another id in the hash has the same key. */
static bool insert_request(struct cm_priv *p)
{
	struct cm_hash *table = &p->id.cm->sidr;
	uint32_t hash = hash_request(p);
	struct cm_node *n;

	cm_hash_for_each(n, table, hash) {
		struct cm_priv *q = container_of(n, struct cm_priv, sidr);

		if (q->id.remote_id == p->id.remote_id && q->av.av.dlid == p->av.av.dlid &&
		    !memcmp(q->av.av.dgid, p->av.av.dgid, sizeof(q->av.av.dgid)))
			return false;
	}
	cm_hash_add(table, &p->sidr, hash);
	return true;
}

void cm_sidr_req_handler(struct cm_rx *rx)
{
	static const struct cm_sidr_rep_param unsupported = { .status = IB_SIDR_UNSUPPORTED };
	struct cm_priv *p = cm_new(rx->cm, rx->from->dev, NULL, NULL), *listener;
	struct cm_event ev = { .event = IB_CM_SIDR_REQ_RECEIVED };

	if (!p)
		return;
	p->id.remote_id = (uint32_t)cm_get(rx->mad, CM_SIDR_REQ_REQUESTID);
	p->id.service_id = cm_get(rx->mad, CM_SIDR_REQ_SERVICEID);
	p->tid = rx->hdr.tid;
	p->av.av = *rx->from;
	if (!insert_request(p)) {
		cm_count_duplicate(rx);
		cm_destroy(p, 0, rx->now);
		return;
	}
	p->id.state = IB_CM_SIDR_REQ_RCVD;
	listener = cm_find_listen(rx->cm, p->id.device, p->id.service_id);
	if (!listener) {
		cm_send_sidr_rep(&p->id, &unsupported, rx->now);
		/* If sending failed: go IDLE, so that cm_destroy() does not send a reject. */
		p->id.state = IB_CM_IDLE;
		cm_destroy(p, 0, rx->now);
		return;
	}
	p->id.handler = listener->id.handler;
	p->id.context = listener->id.context;
	ev.sidr_req.listen_id = &listener->id;
	ev.from = rx->from;
	ev.sidr_req.service_id = p->id.service_id;
	ev.sidr_req.bth_pkey = rx->from->pkey;
	ev.sidr_req.pkey = (uint16_t)cm_get(rx->mad, CM_SIDR_REQ_PARTITION_KEY);
	ev.sidr_req.port = rx->from->port;
	ev.sidr_req.sgid =
		(struct cm_sgid){ rx->from->dev, rx->from->port, rx->from->sgid_index };
	ev.private_data = cm_msg_private_data(rx->mad, CM_ATTR_SIDR_REQ, &ev.private_data_len);
	cm_deliver(p, &ev, rx->now);
}

void cm_sidr_rep_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_find(rx->cm, (uint32_t)cm_get(rx->mad, CM_SIDR_REP_REQUESTID), 0);
	struct cm_event ev = { .event = IB_CM_SIDR_REP_RECEIVED };
	const struct cm_row *row;

	row = p ? cm_row(CM_IN_SIDR_REP, p->id.state, p->id.lap_state) : NULL;
	if (!row)
		return;
	ev.sidr_rep.status = (uint8_t)cm_get(rx->mad, CM_SIDR_REP_STATUS);
	ev.sidr_rep.qkey = (uint32_t)cm_get(rx->mad, CM_SIDR_REP_Q_KEY);
	ev.sidr_rep.qpn = (uint32_t)cm_get(rx->mad, CM_SIDR_REP_QPN);
	ev.sidr_rep.info = rx->mad + CM_OFF_SIDR_REP_ADDITIONAL_INFORMATION;
	ev.sidr_rep.info_len =
		(uint8_t)min(cm_get(rx->mad, CM_SIDR_REP_ADDITIONAL_INFORMATION_LENGTH),
			     (uint64_t)CM_LEN_SIDR_REP_ADDITIONAL_INFORMATION);
	ev.sidr_rep.sgid = (struct cm_sgid){ p->av.av.dev, p->av.av.port, p->av.av.sgid_index };
	ev.private_data = cm_msg_private_data(rx->mad, CM_ATTR_SIDR_REP, &ev.private_data_len);
	cm_apply(p, row, rx->now);
	cm_deliver(p, &ev, rx->now);
}
