/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP attributes of a connection, as the kernel's ib_cm_init_qp_attr(). */
#include <errno.h>
#include <string.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include "cm/rx_internal.h"
#include "core/qp_attr.h"

/* Values of the kernel's enum ib_qp_state and ib_mig_state, which are in no uapi header. */

#define S(s) (1u << IB_CM_##s)
#define CONNECTING (S(REQ_RCVD) | S(MRA_REQ_SENT) | S(REP_RCVD) | S(MRA_REP_SENT) | \
		    S(REP_SENT) | S(MRA_REP_RCVD) | S(ESTABLISHED))

static bool state_in(const struct cm_priv *p, uint32_t states)
{
	return states >> p->id.state & 1;
}

static void put_av(struct ib_uverbs_ah_attr *a, const struct cm_av *av)
{
	memset(&a->grh, 0, sizeof(a->grh));
	a->dlid = av->dlid;
	a->sl = av->sl;
	a->src_path_bits = av->src_path_bits;
	a->static_rate = av->static_rate;
	a->is_global = av->is_global;
	a->port_num = av->port;
	a->reserved = 0;
	if (!av->is_global)
		return;
	memcpy(a->grh.dgid, av->dgid, sizeof(a->grh.dgid));
	a->grh.flow_label = av->flow_label;
	a->grh.sgid_index = (uint8_t)av->sgid_index;
	a->grh.hop_limit = av->hop_limit;
	a->grh.traffic_class = av->traffic_class;
}

/* Is there an alternate path? As in the kernel this is decided by its DLID. RoCE has none. */
static bool has_alt(const struct cm_priv *p)
{
	return !p->alt.av.roce && p->alt.av.dlid;
}

static void put_alt(struct ib_uverbs_qp_attr *a, const struct cm_priv *p)
{
	a->qp_attr_mask |= IB_QP_ALT_PATH;
	if (p->alt.av.dev)
		a->alt_port_num = p->alt.av.port;
	a->alt_pkey_index = p->alt.av.pkey_index;
	a->alt_timeout = p->alt.timeout;
	put_av(&a->alt_ah_attr, &p->alt.av);
}

static int to_init(const struct cm_priv *p, struct ib_uverbs_qp_attr *a)
{
	if (!state_in(p, CONNECTING | S(REQ_SENT) | S(MRA_REQ_RCVD)))
		return -EINVAL;
	a->qp_attr_mask = IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX | IB_QP_PORT;
	a->qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
	if (p->responder_resources)
		a->qp_access_flags |= IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	a->pkey_index = p->av.av.pkey_index;
	if (p->av.av.dev)
		a->port_num = p->av.av.port;
	return 0;
}

static int to_rtr(const struct cm_priv *p, struct ib_uverbs_qp_attr *a)
{
	if (!state_in(p, CONNECTING))
		return -EINVAL;
	a->qp_attr_mask =
		IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	put_av(&a->ah_attr, &p->av.av);
	if (!p->av.av.roce && p->dlid_datapath && p->dlid_datapath != 0xffff)
		a->ah_attr.dlid = p->dlid_datapath;
	a->path_mtu = p->path_mtu;
	a->dest_qp_num = p->remote_qpn;
	a->rq_psn = p->rq_psn;
	if (p->qp_type == IB_UVERBS_QPT_RC || p->qp_type == IB_UVERBS_QPT_XRC_TGT) {
		a->qp_attr_mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
		a->max_dest_rd_atomic = p->responder_resources;
		a->min_rnr_timer = 0;
	}
	if (has_alt(p) && p->alt.av.dev)
		put_alt(a, p);
	return 0;
}

/* In a LAP state other than UNINIT the QP is in RTS already: only the alternate path is loaded. */
static int to_rts(const struct cm_priv *p, struct ib_uverbs_qp_attr *a)
{
	bool initiator = p->qp_type == IB_UVERBS_QPT_RC || p->qp_type == IB_UVERBS_QPT_XRC_INI;

	if (!state_in(p, CONNECTING))
		return -EINVAL;
	a->qp_attr_mask = 0;
	if (p->id.lap_state != IB_CM_LAP_UNINIT) {
		put_alt(a, p);
		a->qp_attr_mask |= IB_QP_PATH_MIG_STATE;
		a->path_mig_state = MIG_REARM;
		return 0;
	}
	a->qp_attr_mask = IB_QP_STATE | IB_QP_SQ_PSN;
	a->sq_psn = p->sq_psn;
	if (initiator) {
		a->qp_attr_mask |= IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC;
		a->retry_cnt = p->retry_count;
		a->rnr_retry = p->rnr_retry_count;
		a->max_rd_atomic = p->initiator_depth;
	}
	if (initiator || p->qp_type == IB_UVERBS_QPT_XRC_TGT) {
		a->qp_attr_mask |= IB_QP_TIMEOUT;
		a->timeout = p->av.timeout;
	}
	if (has_alt(p)) {
		a->qp_attr_mask |= IB_QP_PATH_MIG_STATE;
		a->path_mig_state = MIG_REARM;
	}
	return 0;
}

int cm_init_qp_attr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	const struct cm_priv *p = container_of(id, const struct cm_priv, id);

	switch (attr->qp_state) {
	case QPS_INIT:
		return to_init(p, attr);
	case QPS_RTR:
		return to_rtr(p, attr);
	case QPS_RTS:
		return to_rts(p, attr);
	default:
		return -EINVAL;
	}
}
