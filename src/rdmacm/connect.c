/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connecting, accepting, rejecting and disconnecting: calls of an id's owner. Each checks the id's
 * state, adds the RDMA CM header to the private data where the address family has one, and sends a
 * CM message: REQ, REP, RTU, REJ, DREQ or DREP for connected QPs, SIDR_REQ or SIDR_REP for UD. The
 * CM repeats messages; its events are in event.c and req.c.
 *
 * This file also has the QP attributes of a connection (rdma_init_qp_attr()) and rdma_id_can(),
 * which tells the calls that cannot fail in the id's present state.
 */
#include <errno.h>
#include <string.h>
#include "core/qp_attr.h"
#include "cmshare/ucma_shm.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/rdmacm_internal.h"
#include "wire/cm_msg.h"

int cma_set_qkey(struct rdma_id_private *p, uint32_t qkey)
{
	if (!qkey || (p->qkey && p->qkey != qkey))
		return -EINVAL;
	p->qkey = qkey;
	return 0;
}

int cma_set_default_qkey(struct rdma_id_private *p)
{
	if (p->id.ps == RDMA_PS_IPOIB && cma_is_ib(p))
		return cma_ip_qkey(p, &p->qkey);
	if (p->id.ps == RDMA_PS_UDP || p->id.ps == RDMA_PS_IB)
		p->qkey = RDMA_UDP_QKEY;
	return 0;
}

static struct cm_sgid sgid_of(const struct rdma_id_private *p)
{
	return (struct cm_sgid){
		.dev = p->sgid_index < 0 ? NULL : p->cma_dev->cdev,
		.port = CMA_PORT,
		.index = p->sgid_index < 0 ? 0 : (uint16_t)p->sgid_index,
	};
}

/* The RDMA CM header, if any, then the program's data. Returns the length, or -EINVAL over 255. */
static int private_data(const struct rdma_id_private *p, const struct rdma_conn_param *param,
			uint8_t buf[UINT8_MAX])
{
	unsigned int offset = cma_user_data_offset(p);

	if (offset + param->private_data_len > UINT8_MAX)
		return -EINVAL;
	if (offset)
		cma_format_hdr(buf, p);
	if (param->private_data_len)
		memcpy(buf + offset, param->private_data, param->private_data_len);
	return (int)(offset + param->private_data_len);
}

/* Creates the CM id of a connection attempt; cm_id_started() destroys it if sending failed. */
static int cm_id_start(struct rdma_id_private *p, cm_handler handler)
{
	p->cm_id = cm_create_id(p->id.rm->cm, p->cma_dev->cdev, handler, p);
	return p->cm_id ? 0 : -ENOMEM;
}

static int cm_id_started(struct rdma_id_private *p, int ret)
{
	if (ret) {
		cm_destroy_id(p->cm_id, cma_now(p->id.rm));
		p->cm_id = NULL;
	}
	return ret;
}

static int resolve_ib_udp(struct rdma_id_private *p, const struct rdma_conn_param *param)
{
	uint8_t data[UINT8_MAX];
	int len = private_data(p, param, data);
	struct cm_path path;
	struct cm_sidr_req_param req = {
		.path = &path,
		.sgid = sgid_of(p),
		.service_id = rdma_get_service_id(&p->id, cma_dst(p)),
		.timeout_ms = 1 << (CMA_CM_RESPONSE_TIMEOUT - 8),
		.private_data = data,
		.private_data_len = (uint8_t)len,
		.max_cm_retries = CMA_MAX_CM_RETRIES,
	};
	int ret = len < 0 ? len : cm_id_start(p, cma_sidr_rep_handler);

	if (ret)
		return ret;
	sa_path_to_cm(&p->id.path[0], &path);
	return cm_id_started(p, cm_send_sidr_req(p->cm_id, &req, cma_now(p->id.rm)));
}

static int connect_ib(struct rdma_id_private *p, const struct rdma_conn_param *param)
{
	uint8_t data[UINT8_MAX];
	int len = private_data(p, param, data);
	struct cm_path path, alt;
	struct cm_req_param req = {
		.primary_path = &path,
		.alternate_path = p->id.num_paths == 2 ? &alt : NULL,
		.ppath_sgid = sgid_of(p),
		.service_id = rdma_get_service_id(&p->id, cma_dst(p)),
		.qp_num = p->qp_num,
		.starting_psn = p->seq_num,
		.qp_type = p->id.qp_type,
		.private_data = data,
		.private_data_len = (uint8_t)len,
		.responder_resources = param->responder_resources,
		.initiator_depth = param->initiator_depth,
		.remote_cm_response_timeout = CMA_CM_RESPONSE_TIMEOUT,
		.local_cm_response_timeout = CMA_CM_RESPONSE_TIMEOUT,
		.flow_control = param->flow_control,
		.retry_count = min((uint8_t)7, param->retry_count),
		.rnr_retry_count = min((uint8_t)7, param->rnr_retry_count),
		.max_cm_retries = CMA_MAX_CM_RETRIES,
		.srq = p->srq,
		.ece = p->ece,
	};
	int ret = len < 0 ? len : cm_id_start(p, cma_ib_handler);

	if (ret)
		return ret;
	sa_path_to_cm(&p->id.path[0], &path);
	if (req.alternate_path)
		sa_path_to_cm(&p->id.path[1], &alt);
	return cm_id_started(p, cm_send_req(p->cm_id, &req, cma_now(p->id.rm)));
}

int rdma_connect_ece(struct rdma_cm_id *id, const struct rdma_conn_param *param, struct cm_ece ece)
{
	struct rdma_id_private *p = id_to_priv(id);
	int ret;

	p->ece = ece;
	if (!cma_comp_exch(p, RDMA_CM_ROUTE_RESOLVED, RDMA_CM_CONNECT))
		return cma_why_state(p, CMA_CONNECT);
	p->qp_num = param->qp_num;
	p->srq = param->srq;
	ret = id->qp_type == CMA_QPT_UD ? resolve_ib_udp(p, param) : connect_ib(p, param);
	if (!ret)
		return 0;
	cma_set_state(p, RDMA_CM_ROUTE_RESOLVED);
	return cma_why_private(p, CMA_CONNECT, param->private_data_len,
			       (id->qp_type == CMA_QPT_UD ? CM_LEN_SIDR_REQ_PRIVATE_DATA :
							    CM_LEN_REQ_PRIVATE_DATA) -
				       cma_user_data_offset(p), ret);
}

static int accept_ib(struct rdma_id_private *p, const struct rdma_conn_param *param)
{
	struct cm_rep_param rep = {
		.qp_num = p->qp_num,
		.starting_psn = p->seq_num,
		.private_data = param->private_data,
		.private_data_len = param->private_data_len,
		.responder_resources = param->responder_resources,
		.initiator_depth = param->initiator_depth,
		.flow_control = param->flow_control,
		.rnr_retry_count = min((uint8_t)7, param->rnr_retry_count),
		.srq = p->srq,
		.ece = p->ece,
	};

	return cm_send_rep(p->cm_id, &rep, cma_now(p->id.rm));
}

/* As the kernel's cma_rep_recv(): the owner's QP is ready, so send the RTU. */
static int rep_recv(struct rdma_id_private *p)
{
	ns_t now = cma_now(p->id.rm);
	int ret = cm_send_rtu(p->cm_id, NULL, 0, now);

	if (ret)
		cm_send_rej(p->cm_id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL, 0, now);
	return ret;
}

static int send_sidr_rep(struct rdma_id_private *p, enum ib_cm_sidr_status status, uint32_t qkey,
			 const void *data, uint8_t len)
{
	struct cm_sidr_rep_param rep = {
		.status = status,
		.private_data = data,
		.private_data_len = len,
	};

	if (status == IB_SIDR_SUCCESS) {
		int ret = 0;

		if (qkey)
			ret = cma_set_qkey(p, qkey);
		else
			ret = cma_set_default_qkey(p);
		if (ret)
			return ret;
		rep.qp_num = p->qp_num;
		rep.qkey = p->qkey;
		rep.ece = p->ece;
	}
	return cm_send_sidr_rep(p->cm_id, &rep, cma_now(p->id.rm));
}

int rdma_accept_ece(struct rdma_cm_id *id, const struct rdma_conn_param *param, struct cm_ece ece)
{
	struct rdma_id_private *p = id_to_priv(id);
	int ret;

	p->ece = ece;
	/* Without a CM id the peer has given up the request; the kernel fails here as well. */
	if (p->state != RDMA_CM_CONNECT || !p->cm_id)
		return cma_why_state(p, CMA_ACCEPT);
	if (param) {
		p->qp_num = param->qp_num;
		p->srq = param->srq;
	}
	if (id->qp_type == CMA_QPT_UD)
		ret = send_sidr_rep(p, IB_SIDR_SUCCESS, param ? param->qkey : 0,
				    param ? param->private_data : NULL,
				    param ? param->private_data_len : 0);
	else
		ret = param ? accept_ib(p, param) : rep_recv(p);
	if (!ret)
		return 0;
	rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	return cma_why_private(p, CMA_ACCEPT, param ? param->private_data_len : 0,
			       id->qp_type == CMA_QPT_UD ? CM_LEN_SIDR_REP_PRIVATE_DATA :
							   CM_LEN_REP_PRIVATE_DATA, ret);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len, uint8_t reason)
{
	struct rdma_id_private *p = id_to_priv(id);
	int ret;

	if (!p->cm_id)
		return cma_why_state(p, CMA_REJECT);
	if (id->qp_type == CMA_QPT_UD)
		return send_sidr_rep(p, IB_SIDR_REJECT, 0, data, len);
	ret = cm_send_rej(p->cm_id, (enum ib_cm_rej_reason)reason, NULL, 0, data, len,
			  cma_now(id->rm));
	return ret ? cma_why_private(p, CMA_REJECT, len, CM_LEN_REJ_PRIVATE_DATA, ret) : 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	struct rdma_id_private *p = id_to_priv(id);
	ns_t now = cma_now(id->rm);

	if (!p->cm_id)
		return -EINVAL;
	/*
	 * Sends a DREQ if the connection's state permits it, else a DREP, which answers the peer's
	 * DREQ. If the state permits neither, nothing is sent and the call succeeds.
	 */
	if (cm_send_dreq(p->cm_id, NULL, 0, now))
		cm_send_drep(p->cm_id, NULL, 0, now);
	return 0;
}

int rdma_notify(struct rdma_cm_id *id, uint32_t event)
{
	struct rdma_id_private *p = id_to_priv(id);

	if (!p->cm_id || event > INT32_MAX)
		return -EINVAL;
	return cm_notify(p->cm_id, (int)event, cma_now(id->rm));
}

/*
 * As the kernel's cma_ib_init_qp_attr(): the QP attributes of an id that either has no connection yet, or is for a UD
 * QP and thus never has one.
 */
static int init_unconnected(struct rdma_id_private *p, struct ib_uverbs_qp_attr *attr)
{
	int pkey = 0;		/* P_Key index; on RoCE index 0 is 0xffff */

	if (cma_is_ib(p))
		pkey = host_ib_find_pkey(&p->cma_dev->hd->ib, p->id.pkey);
	if (pkey < 0)
		return pkey;
	attr->pkey_index = (uint16_t)pkey;
	attr->port_num = p->id.port_num;
	attr->qp_attr_mask = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT;
	if (p->id.qp_type == CMA_QPT_UD) {
		int ret = cma_set_default_qkey(p);

		if (ret)
			return ret;
		attr->qkey = p->qkey;
		attr->qp_attr_mask |= IB_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		attr->qp_attr_mask |= IB_QP_ACCESS_FLAGS;
	}
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	struct rdma_id_private *p = id_to_priv(id);
	int ret = 0;

	if (!p->cm_id || id->qp_type == CMA_QPT_UD)
		ret = init_unconnected(p, attr);
	else
		ret = cm_init_qp_attr(p->cm_id, attr);
	if (attr->qp_state == QPS_RTR)
		attr->rq_psn = p->seq_num;
	if ((attr->qp_attr_mask & IB_QP_TIMEOUT) && p->timeout_set)
		attr->timeout = p->timeout;
	return ret;
}

/*
 * True if the peer is on this host. Its CM is then in the same rused, so a CM message reaches it
 * before any packet that the program sends afterwards. To another host this order is not kept if
 * the program posts its command without waiting for rused (cmshare/ucma_shm.h): the CM message is sent
 * only when rused executes the command, and a packet that the program sends on its connected QP may
 * leave earlier.
 */
static bool peer_is_here(const struct rdma_cm_id *id)
{
	uint8_t dgid[16];

	rdma_read_gids(id, NULL, dgid);
	return cma_gid_is_local(id->rm, dgid);
}

uint32_t rdma_id_can(const struct rdma_cm_id *id)
{
	const struct rdma_id_private *p = id_to_priv(id);
	uint32_t can = 0;

	if (id->qp_type != CMA_QPT_RC)
		return 0;
	if (p->state == RDMA_CM_IDLE && id->rm->many_ports)
		can |= CMSHARE_CAN_RESOLVE;
	if (!id->device)
		return can;
	if (p->state == RDMA_CM_ADDR_RESOLVED)
		can |= CMSHARE_CAN_ROUTE;
	if (p->state == RDMA_CM_ROUTE_RESOLVED)
		can |= CMSHARE_CAN_CONNECT;
	if (!p->cm_id || !peer_is_here(id))
		return can;
	can |= CMSHARE_CAN_DISCONNECT;
	if (p->state != RDMA_CM_CONNECT)
		return can;
	if (p->cm_id->state == IB_CM_REQ_RCVD || p->cm_id->state == IB_CM_MRA_REQ_SENT)
		can |= CMSHARE_CAN_ACCEPT;
	if (p->cm_id->state == IB_CM_REP_RCVD || p->cm_id->state == IB_CM_MRA_REP_SENT)
		can |= CMSHARE_CAN_RTU;
	return can;
}
