/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CM events of ids other than listeners, translated to RDMA CM events. */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"

#define REP_PRIVATE 196
#define REJ_PRIVATE 148
#define SIDR_REP_PRIVATE 136

/* The private data field. Events carry the whole field of len bytes, as in the kernel. */
static const void *event_field(const struct cm_event *ev, uint8_t len)
{
	return ev->private_data_len >= len ? ev->private_data : NULL;
}

static void event_from_rep(struct rdma_cm_event *event, const struct cm_event *ev)
{
	struct rdma_conn_param *conn = &event->param.conn;

	event->event = RDMA_CM_EVENT_CONNECT_RESPONSE;
	conn->private_data = event_field(ev, REP_PRIVATE);
	conn->private_data_len = conn->private_data ? REP_PRIVATE : 0;
	conn->responder_resources = ev->rep.responder_resources;
	conn->initiator_depth = ev->rep.initiator_depth;
	conn->flow_control = ev->rep.flow_control;
	conn->rnr_retry_count = ev->rep.rnr_retry_count;
	conn->srq = ev->rep.srq;
	conn->qp_num = ev->rep.remote_qpn;
	event->ece = ev->rep.ece;
}

static void event_from_rej(struct rdma_cm_event *event, const struct cm_event *ev)
{
	event->event = RDMA_CM_EVENT_REJECTED;
	event->status = ev->rej.reason;
	event->param.conn.private_data = event_field(ev, REJ_PRIVATE);
	event->param.conn.private_data_len = event->param.conn.private_data ? REJ_PRIVATE : 0;
}

/*
 * Fills event from a CM event. False: no event for the owner. The caller has checked the state:
 * DISCONNECT for TIMEWAIT_EXIT, CONNECT for all others.
 */
static bool event_translate(struct rdma_id_private *p, const struct cm_event *ev,
			    struct rdma_cm_event *event, ns_t now)
{
	switch (ev->event) {
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
		cma_why_timeout(p, ev->event);
		event->event = RDMA_CM_EVENT_UNREACHABLE;
		event->status = -ETIMEDOUT;
		return true;
	case IB_CM_REP_RECEIVED:
		/* The program may be slow: the CM answers a repeated REP with an MRA. */
		if (p->id.qp_type != CMA_QPT_UD)
			cm_send_mra(p->cm_id, CMA_CM_MRA_SETTING, NULL, 0, now);
		event_from_rep(event, ev);
		return true;
	case IB_CM_RTU_RECEIVED:
	case IB_CM_USER_ESTABLISHED:
		event->event = RDMA_CM_EVENT_ESTABLISHED;
		return true;
	case IB_CM_DREQ_ERROR:
		event->status = -ETIMEDOUT;
		/* fall through */
	case IB_CM_DREQ_RECEIVED:
	case IB_CM_DREP_RECEIVED:
		event->event = RDMA_CM_EVENT_DISCONNECTED;
		cma_set_state(p, RDMA_CM_DISCONNECT);
		return true;
	case IB_CM_TIMEWAIT_EXIT:
		event->event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
		return true;
	case IB_CM_REJ_RECEIVED:
		event_from_rej(event, ev);
		cma_why_rejected(p, ev->rej.reason);
		return true;
	case IB_CM_MRA_RECEIVED:
	case IB_CM_LAP_ERROR:
	case IB_CM_LAP_RECEIVED:
	case IB_CM_APR_RECEIVED:
		return false;
	case IB_CM_REQ_RECEIVED:
	case IB_CM_SIDR_REQ_ERROR:
	case IB_CM_SIDR_REQ_RECEIVED:
	case IB_CM_SIDR_REP_RECEIVED:
	case IB_CM_EVENT_COUNT:
		break;
	}
	log_debug("rdmacm: unexpected event %s", cm_event_name(ev->event));
	return false;
}

/*
 * Delivers an event. If the owner's handler returns an error, the RDMA CM id is destroyed here,
 * and the CM destroys its own id because the same value is returned to it.
 */
static int event_tell(struct rdma_id_private *p, struct rdma_cm_event *event)
{
	int ret = cma_tell(p, event);

	if (ret) {
		p->cm_id = NULL;
		rdma_destroy_id(&p->id);
	}
	return ret;
}

int cma_ib_handler(struct cm_id *cm_id, const struct cm_event *ev, ns_t now)
{
	struct rdma_id_private *p = cm_id->context;
	struct rdma_cm_event event = { 0 };

	if (p->state != (ev->event == IB_CM_TIMEWAIT_EXIT ? RDMA_CM_DISCONNECT : RDMA_CM_CONNECT) ||
	    !event_translate(p, ev, &event, now))
		return 0;
	return event_tell(p, &event);
}

/* As the kernel's ib_init_ah_attr_from_path(). */
static void ah_from_path(const struct rdma_id_private *p, struct ib_uverbs_ah_attr *ah)
{
	const struct sa_path_rec *rec = &p->id.path[0];

	memcpy(ah->grh.dgid, rec->dgid, 16);
	ah->grh.flow_label = rec->flow_label;
	ah->grh.sgid_index = (uint8_t)max(p->sgid_index, 0);
	ah->grh.hop_limit = rec->hop_limit;
	ah->grh.traffic_class = rec->traffic_class;
	ah->sl = rec->sl;
	ah->static_rate = rec->rate;
	ah->port_num = p->id.port_num;
	ah->is_global = rec->roce || rec->hop_limit > 0;
	if (rec->roce)
		return;
	ah->dlid = rec->dlid;
	ah->src_path_bits = rec->slid & ((1u << p->cma_dev->hd->ib.lmc) - 1);
	if (!ah->is_global)
		memset(&ah->grh, 0, sizeof(ah->grh));
}

static void sidr_rep_event(struct rdma_id_private *p, const struct cm_event *ev,
			   struct rdma_cm_event *event)
{
	struct rdma_ud_param *ud = &event->param.ud;

	ud->private_data = event_field(ev, SIDR_REP_PRIVATE);
	ud->private_data_len = ud->private_data ? SIDR_REP_PRIVATE : 0;
	if (ev->sidr_rep.status != IB_SIDR_SUCCESS) {
		event->event = RDMA_CM_EVENT_UNREACHABLE;
		event->status = ev->sidr_rep.status;
		cma_why_sidr(p, ev->sidr_rep.status);
		return;
	}
	event->status = cma_set_qkey(p, ev->sidr_rep.qkey);
	if (event->status) {
		rdmacm_why(p->id.rm)->id = WHY_NONE;
		event->event = RDMA_CM_EVENT_ADDR_ERROR;
		return;
	}
	ah_from_path(p, &ud->ah_attr);
	ud->qp_num = ev->sidr_rep.qpn;
	ud->qkey = ev->sidr_rep.qkey;
	event->event = RDMA_CM_EVENT_ESTABLISHED;
}

int cma_sidr_rep_handler(struct cm_id *cm_id, const struct cm_event *ev, ns_t now)
{
	struct rdma_id_private *p = cm_id->context;
	struct rdma_cm_event event = { 0 };

	(void)now;
	if (p->state != RDMA_CM_CONNECT)
		return 0;
	if (ev->event == IB_CM_SIDR_REQ_ERROR) {
		cma_why_timeout(p, ev->event);
		event.event = RDMA_CM_EVENT_UNREACHABLE;
		event.status = -ETIMEDOUT;
	} else if (ev->event == IB_CM_SIDR_REP_RECEIVED) {
		sidr_rep_event(p, ev, &event);
	} else {
		return 0;
	}
	return event_tell(p, &event);
}
