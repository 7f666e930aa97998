/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MODIFY_QP and QUERY_QP. The checks here are those of the kernel's uverbs layer, in its order:
 * device ports, states, privileged Q_Keys. qp_modify() of core/ checks address vectors, the state
 * table and values.
 */
#include "abi/uverbs/handlers.h"
#include "wire/mtu.h"
#include "wire/psn.h"

/*
 * The only bit of attr_mask outside IB_QP_ATTR_STANDARD_BITS that the kernel's uverbs knows. qp_modify()
 * refuses it, as rxe does.
 */
#define IB_QP_RATE_LIMIT (1u << 25)
#define QKEY_PRIVILEGED 0x80000000u

static void dest_to_ah(const struct ib_uverbs_qp_dest *d, struct ib_uverbs_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	if (d->is_global) {
		memcpy(ah->grh.dgid, d->dgid, sizeof(ah->grh.dgid));
		ah->grh.flow_label = d->flow_label;
		ah->grh.sgid_index = d->sgid_index;
		ah->grh.hop_limit = d->hop_limit;
		ah->grh.traffic_class = d->traffic_class;
	}
	ah->dlid = d->dlid;
	ah->sl = d->sl;
	ah->src_path_bits = d->src_path_bits;
	ah->static_rate = d->static_rate;
	ah->is_global = d->is_global;
	ah->port_num = d->port_num;
}

/* As in the kernel, is_global is 1 for any path of a RoCE QP, even for one that was never set. */
static void ah_to_dest(const struct rdev *dev, const struct ib_uverbs_ah_attr *ah,
		       struct ib_uverbs_qp_dest *d)
{
	memcpy(d->dgid, ah->grh.dgid, sizeof(d->dgid));
	d->flow_label = ah->grh.flow_label;
	d->sgid_index = ah->grh.sgid_index;
	d->hop_limit = ah->grh.hop_limit;
	d->traffic_class = ah->grh.traffic_class;
	d->sl = ah->sl;
	d->static_rate = ah->static_rate;
	d->is_global = dev->port.ib ? ah->is_global : 1;
	d->dlid = ah->dlid;
	d->src_path_bits = ah->src_path_bits;
	d->port_num = ah->port_num;
}

/*
 * Checks the device port in the address vector. In the transition to RTR it must be the QP's port. In
 * other commands with IB_QP_PORT it must be the port of the command; a command without IB_QP_PORT
 * sets the QP's port to it.
 */
static int qp_check_av_port(const struct qp *qp, struct ib_uverbs_modify_qp *cmd)
{
	uint8_t av = cmd->dest.port_num, port = cmd->port_num;

	if (!port_valid(av))
		return rdev_refuse(qp->dev, -EINVAL, PORT, 1, av);
	if (cmd->attr_mask & IB_QP_STATE && cmd->qp_state == QPS_RTR)
		port = qp->attr.port;
	else if (!(cmd->attr_mask & IB_QP_PORT))
		port = av;
	if (av != port)
		return rdev_refuse(qp->dev, -EINVAL, QP_AV_PORT, av, port);
	if (!(cmd->attr_mask & IB_QP_STATE && cmd->qp_state == QPS_RTR) &&
	    !(cmd->attr_mask & IB_QP_PORT)) {
		cmd->attr_mask |= IB_QP_PORT;
		cmd->port_num = av;
	}
	return 0;
}

static int qp_check_state_values(const struct qp *qp, const struct ib_uverbs_modify_qp *cmd)
{
	if (cmd->attr_mask & IB_QP_CUR_STATE && cmd->cur_qp_state > QPS_ERR)
		return rdev_refuse(qp->dev, -EINVAL, QP_STATE_VALUE, 1, cmd->cur_qp_state);
	if (cmd->attr_mask & IB_QP_STATE && cmd->qp_state > QPS_ERR)
		return rdev_refuse(qp->dev, -EINVAL, QP_STATE_VALUE, 0, cmd->qp_state);
	return 0;
}

static int qp_check_uverbs(struct uverbs_req *r, const struct qp *qp,
			   struct ib_uverbs_modify_qp *cmd)
{
	int ret;

	if (cmd->attr_mask & IB_QP_PORT && !port_valid(cmd->port_num))
		return rdev_refuse(qp->dev, -EINVAL, PORT, 0, cmd->port_num);
	if (cmd->attr_mask & IB_QP_AV) {
		ret = qp_check_av_port(qp, cmd);
		if (ret)
			return ret;
	}
	if (cmd->attr_mask & IB_QP_ALT_PATH &&
	    (!port_valid(cmd->alt_port_num) || cmd->alt_port_num != cmd->alt_dest.port_num))
		return rdev_refuse(qp->dev, -EINVAL, PORT, 2, cmd->alt_port_num);
	ret = qp_check_state_values(qp, cmd);
	if (!ret && cmd->attr_mask & IB_QP_QKEY && cmd->qkey & QKEY_PRIVILEGED &&
	    !capable_net_raw())
		ret = uverbs_refuse_net_raw(r, 1);
	return ret;
}

/* An invalid MTU becomes path_mtu 0, which qp_modify() refuses in its order of checks. */
static void qp_attr_decode(const struct ib_uverbs_modify_qp *cmd, struct qp_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->path_mtu = cmd->path_mtu && cmd->path_mtu <= IB_MTU_4096 ? mtu_bytes(cmd->path_mtu) : 0;
	a->path_mig_state = cmd->path_mig_state;
	a->qkey = cmd->qkey;
	a->rq_psn = cmd->rq_psn & PSN_MASK;
	a->sq_psn = cmd->sq_psn & PSN_MASK;
	a->dest_qpn = cmd->dest_qp_num;
	a->access = cmd->qp_access_flags;
	a->pkey_index = cmd->pkey_index;
	a->en_sqd_async_notify = cmd->en_sqd_async_notify;
	a->max_rd_atomic = cmd->max_rd_atomic;
	a->max_dest_rd_atomic = cmd->max_dest_rd_atomic;
	a->min_rnr_timer = cmd->min_rnr_timer;
	a->port = cmd->port_num;
	a->timeout = cmd->timeout;
	a->retry_cnt = cmd->retry_cnt;
	a->rnr_retry = cmd->rnr_retry;
	a->alt_port = cmd->alt_port_num;
	a->alt_timeout = cmd->alt_timeout;
	a->alt_pkey_index = cmd->alt_pkey_index;
	dest_to_ah(&cmd->dest, &a->ah);
	dest_to_ah(&cmd->alt_dest, &a->alt_ah);
}

static int qp_modify_qp(struct uverbs_req *r, struct qp *qp, struct ib_uverbs_modify_qp *cmd)
{
	enum qp_state old, new;
	struct qp_attr attr;
	int ret;

	ret = qp_check_uverbs(r, qp, cmd);
	if (ret)
		return ret;
	qp_attr_decode(cmd, &attr);
	if (cmd->attr_mask & IB_QP_STATE &&
	    (cmd->qp_state == QPS_RESET || cmd->qp_state == QPS_ERR))
		r->f->host->qp_ending(qp);
	ret = qp_modify(qp, cmd->attr_mask, &attr, cmd->cur_qp_state, cmd->qp_state, &old, &new);
	if (ret)
		return ret;
	r->f->host->qp_modified(qp, old, cmd->attr_mask);
	uobj_changed(r->f, UVERBS_OBJECT_QP, qp);
	return 0;
}

static int qp_modify_cmd(struct uverbs_req *r, struct ib_uverbs_modify_qp *cmd)
{
	struct qp *qp;
	int ret;

	ret = uobj_get(r->f, UVERBS_OBJECT_QP, cmd->qp_handle, &qp);
	if (ret)
		return ret;
	ret = qp_modify_qp(r, qp, cmd);
	if (ret)
		qp->dev->fails.refused_qpn = qp->qpn;
	return ret;
}

int do_modify_qp(struct uverbs_req *r)
{
	struct ib_uverbs_modify_qp cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	return cmd.attr_mask & ~(uint32_t)IB_QP_ATTR_STANDARD_BITS ?
		       -EOPNOTSUPP : qp_modify_cmd(r, &cmd);
}

int do_ex_modify_qp(struct uverbs_req *r)
{
	struct ib_uverbs_ex_modify_qp_resp resp = { 0 };
	struct ib_uverbs_ex_modify_qp cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.base.attr_mask & ~((uint32_t)IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	ret = qp_modify_cmd(r, &cmd.base);
	if (ret)
		return ret;
	resp.response_length = req_response_length(r, sizeof(resp));
	return req_put(r, &resp, sizeof(resp));
}

/* Returns all attributes, whatever attr_mask is. */
int do_query_qp(struct uverbs_req *r)
{
	struct ib_uverbs_query_qp_resp resp = { 0 };
	struct ib_uverbs_query_qp cmd;
	const struct qp_attr *a;
	bool draining = false, rxe;
	struct qp *qp;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_QP, cmd.qp_handle, &qp);
	if (ret)
		return ret;
	rxe = qp->dev->like->driver == LIKE_RXE;
	a = &qp->attr;
	resp.rq_psn = a->rq_psn;
	resp.sq_psn = a->sq_psn;
	r->f->host->qp_query(qp, &resp.rq_psn, &resp.sq_psn, &draining);
	resp.sq_draining = draining;
	ah_to_dest(qp->dev, &a->ah, &resp.dest);
	ah_to_dest(qp->dev, &a->alt_ah, &resp.alt_dest);
	/* rxe tells the sizes of the rings. */
	resp.max_send_wr = rxe ? ring_capacity(&qp->sq) : qp->max_send_wr;
	resp.max_recv_wr = rxe ? ring_capacity(&qp->rq) : qp->max_recv_wr;
	resp.max_send_sge = qp->max_send_sge;
	resp.max_recv_sge = qp->max_recv_sge;
	resp.max_inline_data = qp->max_inline;
	resp.sq_sig_all = qp->sq_sig_all;
	resp.qp_state = qp->state;
	resp.cur_qp_state = qp->state;
	resp.path_mtu = a->path_mtu ? (uint8_t)(ilog2(a->path_mtu) - 7) : 0;
	resp.path_mig_state = a->path_mig_state;
	resp.qkey = a->qkey;
	resp.dest_qp_num = a->dest_qpn;
	resp.qp_access_flags = a->access;
	resp.pkey_index = a->pkey_index;
	resp.alt_pkey_index = a->alt_pkey_index;
	resp.max_rd_atomic = a->max_rd_atomic;
	resp.max_dest_rd_atomic = a->max_dest_rd_atomic;
	resp.min_rnr_timer = a->min_rnr_timer;
	resp.port_num = a->port;
	resp.timeout = a->timeout;
	resp.retry_cnt = a->retry_cnt;
	resp.rnr_retry = a->rnr_retry;
	resp.alt_port_num = a->alt_port;
	resp.alt_timeout = a->alt_timeout;
	return req_put(r, &resp, sizeof(resp));
}
