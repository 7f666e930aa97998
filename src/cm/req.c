/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * REQ: sending and receiving. A received REQ creates an id and enters its sender in the hashes of
 * remote ids and remote QPs. Exceptions: a duplicate (same CA GUID and communication id) gets the
 * answer that the state table of connections (table.c) gives for the first REQ's id; a REQ whose sender QP is already the
 * remote QP of another connection here is rejected as stale, and that other connection is
 * disconnected (its peer has restarted); a REQ for a service id without a listener is rejected.
 */
#include <errno.h>
#include <string.h>
#include "cm/rx_internal.h"
#include "wire/mad.h"

static int check_param(const struct cm_req_param *r)
{
	const struct cm_path *alt = r->alternate_path;

	if (!r->primary_path)
		return -EINVAL;
	if (r->qp_type != IB_UVERBS_QPT_RC && r->qp_type != IB_UVERBS_QPT_UC &&
	    r->qp_type != IB_UVERBS_QPT_XRC_INI)
		return -EINVAL;
	if (r->private_data && r->private_data_len > CM_LEN_REQ_PRIVATE_DATA)
		return -EINVAL;
	if (alt && (alt->pkey != r->primary_path->pkey || alt->mtu != r->primary_path->mtu))
		return -EINVAL;
	return 0;
}

static void take_param(struct cm_priv *p, const struct cm_req_param *r)
{
	/*
	 * The remote communication id is unknown until the REP comes, so cm_find() is called with
	 * 0. An id that was used before has that of its earlier peer: clear it.
	 */
	p->id.remote_id = 0;
	p->id.lap_state = IB_CM_LAP_UNINIT;
	p->id.service_id = r->service_id;
	p->timeout_ms = cm_convert_to_ms(r->primary_path->packet_life_time & 0x1f) * 2 +
			cm_convert_to_ms(r->remote_cm_response_timeout & 0x1f);
	p->max_cm_retries = r->max_cm_retries;
	p->initiator_depth = r->initiator_depth;
	p->responder_resources = r->responder_resources;
	p->retry_count = r->retry_count;
	p->path_mtu = r->primary_path->mtu;
	p->pkey = r->primary_path->pkey;
	p->qp_type = r->qp_type;
	p->local_qpn = r->qp_num & 0xffffff;
	p->rq_psn = r->starting_psn & 0xffffff;
	if (r->primary_path_outbound)
		p->dlid_datapath = r->primary_path_outbound->dlid;
}

int cm_send_req(struct cm_id *id, const struct cm_req_param *r, ns_t now)
{
	const struct cm_row *row = cm_row(CM_IN_SEND_REQ, id->state, id->lap_state);
	struct cm_vector av, alt = { .timeout = 0 };
	struct cm_priv *p = cm_priv(id);
	uint8_t mad[CM_MAD_LEN];
	int ret = check_param(r);

	if (ret)
		return ret;
	if (!row)
		return -EINVAL;
	ret = cm_av_from_path(id->cm, r->primary_path, &r->ppath_sgid, &av);
	if (!ret && r->alternate_path)
		ret = cm_av_from_path(id->cm, r->alternate_path, NULL, &alt);
	if (!ret && !p->tw)
		ret = cm_timewait_create(p);
	if (ret)
		return ret;
	p->av = av;
	if (r->alternate_path)
		p->alt = alt;
	take_param(p, r);
	cm_format_req(p, r, mad);
	p->tid = cm_form_tid(p);
	ret = cm_post_wait(p, mad, IB_CM_REQ_SENT, now);
	if (ret) {
		cm_reset_to_idle(p);
		return ret;
	}
	cm_apply(p, row, now);
	return 0;
}

static uint8_t type_of(const uint8_t *mad)
{
	switch (cm_get(mad, CM_REQ_TRANSPORT_SERVICE_TYPE)) {
	case 0:
		return IB_UVERBS_QPT_RC;
	case 1:
		return IB_UVERBS_QPT_UC;
	case 3:
		return cm_get(mad, CM_REQ_EXTENDED_TRANSPORT_TYPE) == 1 ? IB_UVERBS_QPT_XRC_TGT : 0;
	default:
		return 0;
	}
}

static bool has_alternate(const uint8_t *mad)
{
	return cm_get(mad, CM_REQ_ALTERNATE_LOCAL_PORT_LID) != 0;
}

static void req_duplicate(struct cm_rx *rx, struct cm_priv *p)
{
	const struct cm_row *row = cm_row(CM_IN_REQ, p->id.state, p->id.lap_state);
	uint8_t mad[CM_MAD_LEN];

	if (!row)
		return;
	if (row->what & CM_DUP)
		cm_count_duplicate(rx);
	if (row->what & CM_ANSWER_MRA)
		cm_format_mra(p, CM_MSG_RESPONSE_REQ, p->service_timeout, p->private_data,
			      p->private_data_len, mad);
	else if (row->what & CM_ANSWER_REJ)
		cm_format_rej(p, p->id.state, IB_CM_REJ_STALE_CONN, NULL, 0, NULL, 0, mad);
	else
		return;
	cm_reply(rx, mad);
}

/* Returns the listener for a REQ, or NULL if the REQ is a duplicate or was rejected here. */
static struct cm_priv *req_match(struct cm_rx *rx, struct cm_priv *p)
{
	struct cm_timewait *other = cm_insert_remote_id(p->tw);
	struct cm_priv *q, *listener;

	if (other) {
		q = cm_find(rx->cm, other->local_id, other->remote_id);
		if (q)
			req_duplicate(rx, q);
		return NULL;
	}
	other = cm_insert_remote_qpn(p->tw);
	if (other) {
		cm_remove_remote(p->tw);
		cm_issue_rej(rx, IB_CM_REJ_STALE_CONN, CM_MSG_RESPONSE_REQ);
		q = cm_find(rx->cm, other->local_id, other->remote_id);
		if (q)
			cm_send_dreq(&q->id, NULL, 0, rx->now);
		return NULL;
	}
	listener = cm_find_listen(rx->cm, p->id.device, p->id.service_id);
	if (!listener) {
		cm_remove_remote(p->tw);
		cm_issue_rej(rx, IB_CM_REJ_INVALID_SERVICE_ID, CM_MSG_RESPONSE_REQ);
	}
	return listener;
}

/*
 * A LID of a path in a REQ. lid and local: its field and the path's field Subnet Local. If the
 * sender is in another subnet and gives LID_PERMISSIVE (unknown), the result is seen, which comes
 * from the REQ's packet.
 */
static uint16_t seen_lid(const uint8_t *mad, enum cm_field lid, enum cm_field local, uint16_t seen)
{
	uint16_t said = (uint16_t)cm_get(mad, lid);

	return !cm_get(mad, local) && said == LID_PERMISSIVE ? seen : said;
}

/*
 * A path of the REQ, with local and remote swapped for the receiver. For the primary path the
 * REQ's packet gives the hop limit and the DLID.
 */
static void read_path(const struct cm_rx *rx, bool alternate, struct cm_path *path)
{
	const struct cm_req_path *f = &cm_req_paths[alternate];
	const uint8_t *mad = rx->mad;

	memcpy(path->dgid, mad + f->local_gid, 16);
	memcpy(path->sgid, mad + f->remote_gid, 16);
	path->roce = rx->from->roce;
	path->flow_label = (uint32_t)cm_get(mad, f->flow_label);
	path->hop_limit = alternate ? (uint8_t)cm_get(mad, f->hop_limit) : rx->from->hop_limit;
	path->traffic_class = (uint8_t)cm_get(mad, f->traffic_class);
	path->pkey = (uint16_t)cm_get(mad, CM_REQ_PARTITION_KEY);
	path->sl = (uint8_t)cm_get(mad, f->sl);
	path->mtu = (uint8_t)cm_get(mad, CM_REQ_PATH_PACKET_PAYLOAD_MTU);
	path->rate = (uint8_t)cm_get(mad, f->rate);
	path->packet_life_time = (uint8_t)cm_get(mad, f->ack_timeout);
	path->packet_life_time -= path->packet_life_time > 0;
	path->service_id = cm_get(mad, CM_REQ_SERVICE_ID);
	if (path->roce)
		return;
	path->dlid = alternate ? seen_lid(mad, f->local_lid, f->subnet_local, rx->from->dlid) :
				 rx->from->dlid;
	path->slid = seen_lid(mad, f->remote_lid, f->subnet_local, rx->from->src_path_bits);
	if (!cm_get(mad, f->subnet_local) && cm_get(mad, f->local_lid) == LID_PERMISSIVE)
		path->sl = rx->from->sl;
}

/* Makes the address vector of a path in a REQ. -EINVAL on InfiniBand if its port is not one of the HCA that received the REQ. */
static int vector_within(const struct cm_rx *rx, const struct cm_path *path,
			 const struct cm_sgid *sgid, struct cm_vector *v)
{
	int ret = cm_av_from_path(rx->cm, path, sgid, v);

	if (!ret && !rx->from->roce && v->av.dev->node_guid != rx->from->dev->node_guid)
		return -EINVAL;
	return ret;
}

/* Sets the address vectors of the primary and the alternate path. If it cannot, sends the REJ of IBA 12.6.7.2 and returns false. */
static bool set_vectors(struct cm_rx *rx, struct cm_priv *p, const struct cm_path path[2])
{
	struct cm_sgid sgid = { rx->from->dev, rx->from->port, rx->from->sgid_index };
	struct cm_vector v;
	uint8_t gid[16];

	/* A packet without GRH does not contain the local GID: search for the GID that the path in the REQ gives. */
	if (!rx->from->is_global)
		sgid.dev = NULL;
	if (vector_within(rx, &path[0], &sgid, &v)) {
		if (rx->cm->ops->gid0(rx->cm->ctx, rx->from->dev, rx->from->port, gid))
			cm_send_rej(&p->id, IB_CM_REJ_INVALID_GID, NULL, 0, NULL, 0, rx->now);
		else
			cm_send_rej(&p->id, IB_CM_REJ_INVALID_GID, gid, sizeof(gid), NULL, 0,
				    rx->now);
		return false;
	}
	p->av = v;
	if (!rx->from->roce)
		p->dlid_datapath = seen_lid(rx->mad, CM_REQ_PRIMARY_LOCAL_PORT_LID,
					    CM_REQ_PRIMARY_SUBNET_LOCAL, rx->from->dlid);
	if (!has_alternate(rx->mad))
		return true;
	if (vector_within(rx, &path[1], NULL, &v)) {
		cm_send_rej(&p->id, IB_CM_REJ_INVALID_ALT_GID, path[0].sgid, sizeof(path[0].sgid),
			    NULL, 0, rx->now);
		return false;
	}
	p->alt = v;
	return true;
}

static void take_req(struct cm_priv *p, const struct cm_rx *rx)
{
	const uint8_t *mad = rx->mad;

	p->id.remote_id = (uint32_t)cm_get(mad, CM_REQ_LOCAL_COMM_ID);
	p->id.service_id = cm_get(mad, CM_REQ_SERVICE_ID);
	p->tid = rx->hdr.tid;
	p->timeout_ms = cm_convert_to_ms((uint32_t)cm_get(mad, CM_REQ_LOCAL_CM_RESPONSE_TIMEOUT));
	p->max_cm_retries = (uint8_t)cm_get(mad, CM_REQ_MAX_CM_RETRIES);
	p->remote_qpn = (uint32_t)cm_get(mad, CM_REQ_LOCAL_QPN);
	p->initiator_depth = (uint8_t)cm_get(mad, CM_REQ_RESPONDER_RESOURCES);
	p->responder_resources = (uint8_t)cm_get(mad, CM_REQ_INITIATOR_DEPTH);
	p->path_mtu = (uint8_t)cm_get(mad, CM_REQ_PATH_PACKET_PAYLOAD_MTU);
	p->pkey = (uint16_t)cm_get(mad, CM_REQ_PARTITION_KEY);
	p->sq_psn = (uint32_t)cm_get(mad, CM_REQ_STARTING_PSN);
	p->retry_count = (uint8_t)cm_get(mad, CM_REQ_RETRY_COUNT);
	p->rnr_retry_count = (uint8_t)cm_get(mad, CM_REQ_RNR_RETRY_COUNT);
	p->qp_type = type_of(mad);
	p->av.av = *rx->from;
}

static void req_event(struct cm_event *ev, const struct cm_rx *rx, const struct cm_priv *p)
{
	const uint8_t *mad = rx->mad;

	ev->event = IB_CM_REQ_RECEIVED;
	ev->req.bth_pkey = rx->from->pkey;
	ev->req.port = p->av.av.port;
	ev->req.sgid = (struct cm_sgid){ rx->from->dev, rx->from->port, rx->from->sgid_index };
	ev->req.remote_ca_guid = cm_get(mad, CM_REQ_LOCAL_CA_GUID);
	ev->req.remote_qkey = (uint32_t)cm_get(mad, CM_REQ_LOCAL_Q_KEY);
	ev->req.remote_qpn = p->remote_qpn;
	ev->req.starting_psn = p->sq_psn;
	ev->req.qp_type = p->qp_type;
	ev->req.responder_resources = p->responder_resources;
	ev->req.initiator_depth = p->initiator_depth;
	ev->req.local_cm_response_timeout =
		(uint8_t)cm_get(mad, CM_REQ_REMOTE_CM_RESPONSE_TIMEOUT);
	ev->req.remote_cm_response_timeout =
		(uint8_t)cm_get(mad, CM_REQ_LOCAL_CM_RESPONSE_TIMEOUT);
	ev->req.flow_control = (uint8_t)cm_get(mad, CM_REQ_END_TO_END_FLOW_CONTROL);
	ev->req.retry_count = p->retry_count;
	ev->req.rnr_retry_count = p->rnr_retry_count;
	ev->req.srq = (uint8_t)cm_get(mad, CM_REQ_SRQ);
	ev->req.ece.vendor_id = (uint32_t)cm_get(mad, CM_REQ_VENDOR_ID);
	ev->req.ece.attr_mod = rx->hdr.attr_mod;
	ev->private_data = cm_msg_private_data(mad, CM_ATTR_REQ, &ev->private_data_len);
}

void cm_req_handler(struct cm_rx *rx)
{
	struct cm_priv *p = cm_new(rx->cm, rx->from->dev, NULL, NULL), *listener;
	struct cm_path path[2] = { { .slid = 0 }, { .slid = 0 } };
	struct cm_event ev = { .private_data = NULL };

	if (!p)
		return;
	take_req(p, rx);
	if (cm_timewait_create(p))
		goto destroy;
	p->tw->remote_id = p->id.remote_id;
	p->tw->remote_ca_guid = cm_get(rx->mad, CM_REQ_LOCAL_CA_GUID);
	p->tw->remote_qpn = p->remote_qpn;
	listener = req_match(rx, p);
	if (!listener)
		goto destroy;
	p->id.state = IB_CM_REQ_RCVD;
	p->since = rx->now;
	read_path(rx, false, &path[0]);
	if (has_alternate(rx->mad))
		read_path(rx, true, &path[1]);
	if (!set_vectors(rx, p, path))
		goto destroy;
	p->id.handler = listener->id.handler;
	p->id.context = listener->id.context;
	req_event(&ev, rx, p);
	ev.req.listen_id = &listener->id;
	ev.from = rx->from;
	ev.req.primary_path = &path[0];
	ev.req.alternate_path = has_alternate(rx->mad) ? &path[1] : NULL;
	p->visible = true;
	cm_deliver(p, &ev, rx->now);
	return;
destroy:
	cm_destroy(p, 0, rx->now);
}
