/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CREATE_QP and DESTROY_QP, as write() commands and as ioctl methods. Each form makes its own
 * checks in the kernel's order and fills a struct qp_init_attr; qp_make() does the driver's
 * part of both.
 */
#include <linux/capability.h>
#include <rdma/rdma_user_rxe.h>
#include "abi/uverbs/handlers.h"
#include "base/sys.h"

/* create_flags known to the kernel's uverbs. rxe accepts none of them. */
#define CREATE_SOURCE_QPN (1u << 10)
#define CREATE_CROSS_CHANNEL (7u << 2)	/* CROSS_CHANNEL, MANAGED_SEND, MANAGED_RECV */
#define CREATE_IOCTL (IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK |  \
		      IB_UVERBS_QP_CREATE_SCATTER_FCS |                \
		      IB_UVERBS_QP_CREATE_CVLAN_STRIPPING |            \
		      IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING)
#define CREATE_WRITE (CREATE_IOCTL | CREATE_CROSS_CHANNEL | CREATE_SOURCE_QPN)
#define CREATE_EX_COMP_MASK 1u		/* IB_UVERBS_CREATE_QP_MASK_IND_TABLE */

bool capable_net_raw(void)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return !sys_call(SYS_capget, &hdr, data) &&
	       (data[CAP_TO_INDEX(CAP_NET_RAW)].effective & CAP_TO_MASK(CAP_NET_RAW));
}

int uverbs_refuse_net_raw(const struct uverbs_req *r, uint64_t what)
{
	return rdev_refuse(r->f->uctx->dev, -EPERM, NEED_NET_RAW, what);
}

/* Checks that uverbs knows the type. qp_create() refuses types that are not supported. */
static int qp_check_type(const struct uverbs_req *r, uint64_t type)
{
	switch (type) {
	case IB_UVERBS_QPT_RAW_PACKET:
		return capable_net_raw() ? 0 : uverbs_refuse_net_raw(r, 0);
	case IB_UVERBS_QPT_RC:
	case IB_UVERBS_QPT_UC:
	case IB_UVERBS_QPT_UD:
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_XRC_TGT:
	case IB_UVERBS_QPT_DRIVER:
		return 0;
	default:
		return rdev_refuse(r->f->uctx->dev, -EINVAL, QP_TYPE, type);
	}
}

static struct mminfo ring_mi(const struct ring *ring)
{
	return (struct mminfo){ .offset = ring->offset, .size = ring->buf_size };
}

/*
 * Does what the kernel's driver (rxe) does for all forms of CREATE_QP: makes the driver's checks,
 * creates the QP, and writes the response for the provider, the location of the rings.
 */
static int qp_make(struct uverbs_req *r, struct pd *pd, struct qp_init_attr *init,
		   uint32_t create_flags, struct uobj *o)
{
	struct rxe_create_qp_resp drv = { 0 };
	uint32_t reported;
	struct qp *qp;
	int ret;

	if (r->drv_out.len < sizeof(drv))
		return -EINVAL;
	if (create_flags)
		return -EOPNOTSUPP;
	ret = qp_create(pd, init, &qp);
	if (ret)
		return ret;
	ret = r->drv_in.len ? -EINVAL : r->f->host->qp_created(qp);
	if (ret) {
		qp_destroy(qp, &reported);
		return ret;
	}
	o->obj = qp;
	if (!qp->srq)
		drv.rq_mi = ring_mi(&qp->rq);
	drv.sq_mi = ring_mi(&qp->sq);
	return user_put(r->drv_out.addr, &drv, sizeof(drv));
}

/* Looks up the handles of the write() command in the kernel's order. */
static int qp_get_handles(struct uverbs_file *f, const struct ib_uverbs_ex_create_qp *cmd,
			  struct pd **pd, struct qp_init_attr *init)
{
	struct uobj *o;
	int ret;

	if (cmd->comp_mask & CREATE_EX_COMP_MASK) {
		ret = uobj_lookup(f, UVERBS_OBJECT_RWQ_IND_TBL, cmd->rwq_ind_tbl_handle, false, &o);
		return ret ? ret : -EOPNOTSUPP;
	}
	if (cmd->qp_type == IB_UVERBS_QPT_XRC_TGT)
		return -EINVAL;
	if (cmd->is_srq && cmd->qp_type != IB_UVERBS_QPT_XRC_INI) {
		ret = uobj_get(f, UVERBS_OBJECT_SRQ, cmd->srq_handle, &init->srq);
		if (ret)
			return ret;
	}
	if (cmd->recv_cq_handle != cmd->send_cq_handle && cmd->qp_type != IB_UVERBS_QPT_XRC_INI) {
		ret = uobj_get(f, UVERBS_OBJECT_CQ, cmd->recv_cq_handle, &init->recv_cq);
		if (ret)
			return ret;
	}
	ret = uobj_get(f, UVERBS_OBJECT_CQ, cmd->send_cq_handle, &init->send_cq);
	if (ret)
		return ret;
	if (!init->recv_cq && cmd->qp_type != IB_UVERBS_QPT_XRC_INI)
		init->recv_cq = init->send_cq;
	return uobj_get(f, UVERBS_OBJECT_PD, cmd->pd_handle, pd);
}

static int qp_create_write(struct uverbs_req *r, const struct ib_uverbs_ex_create_qp *cmd)
{
	struct ib_uverbs_ex_create_qp_resp resp = { 0 };
	struct qp_init_attr init = {
		.max_send_wr = cmd->max_send_wr, .max_recv_wr = cmd->max_recv_wr,
		.max_send_sge = cmd->max_send_sge, .max_recv_sge = cmd->max_recv_sge,
		.max_inline = cmd->max_inline_data, .type = cmd->qp_type,
		.sq_sig_all = cmd->sq_sig_all, .user_handle = cmd->user_handle,
	};
	struct pd *pd;
	int ret;

	ret = qp_check_type(r, cmd->qp_type);
	if (!ret)
		ret = uobj_alloc(r->f, UVERBS_OBJECT_QP, &r->new_obj);
	if (!ret)
		ret = qp_get_handles(r->f, cmd, &pd, &init);
	if (ret)
		return ret;
	if (cmd->create_flags & ~CREATE_WRITE)
		return -EINVAL;
	if (cmd->create_flags & CREATE_SOURCE_QPN && !capable_net_raw())
		return uverbs_refuse_net_raw(r, 2);
	init.async = r->f->uctx->async;
	ret = qp_make(r, pd, &init, cmd->create_flags, r->new_obj);
	if (ret)
		return ret;
	resp.base.qp_handle = r->new_obj->id;
	resp.base.qpn = ((struct qp *)r->new_obj->obj)->qpn;
	resp.base.max_send_wr = init.max_send_wr;
	resp.base.max_recv_wr = init.max_recv_wr;
	resp.base.max_send_sge = init.max_send_sge;
	resp.base.max_recv_sge = init.max_recv_sge;
	resp.base.max_inline_data = init.max_inline;
	resp.response_length = req_response_length(r, sizeof(resp));
	return req_put(r, &resp, sizeof(resp));
}

int do_create_qp(struct uverbs_req *r)
{
	struct ib_uverbs_ex_create_qp ex = { 0 };
	struct ib_uverbs_create_qp cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ex.user_handle = cmd.user_handle;
	ex.pd_handle = cmd.pd_handle;
	ex.send_cq_handle = cmd.send_cq_handle;
	ex.recv_cq_handle = cmd.recv_cq_handle;
	ex.srq_handle = cmd.srq_handle;
	ex.max_send_wr = cmd.max_send_wr;
	ex.max_recv_wr = cmd.max_recv_wr;
	ex.max_send_sge = cmd.max_send_sge;
	ex.max_recv_sge = cmd.max_recv_sge;
	ex.max_inline_data = cmd.max_inline_data;
	ex.sq_sig_all = cmd.sq_sig_all;
	ex.qp_type = cmd.qp_type;
	ex.is_srq = cmd.is_srq;
	return qp_create_write(r, &ex);
}

int do_ex_create_qp(struct uverbs_req *r)
{
	struct ib_uverbs_ex_create_qp cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask & ~CREATE_EX_COMP_MASK || cmd.reserved)
		return -EINVAL;
	return qp_create_write(r, &cmd);
}

/* The object of a handle attribute; -ENOENT: not passed. */
static int qp_obj_of(const struct uverbs_req *r, uint16_t id, void *obj)
{
	const struct attr_val *a = attr_find(r, id);

	if (!a)
		return -ENOENT;
	memcpy(obj, &a->obj->obj, sizeof(a->obj->obj));
	return 0;
}

/*
 * Gets the objects of the handle attributes, which the parser has looked up. It has refused
 * XRCDs and indirection tables, since none exist. So XRC_TGT always lacks its XRCD; all other
 * types need a PD and CQs.
 */
static int qp_get_objects(const struct uverbs_req *r, uint64_t type, struct pd **pd,
			  struct qp_init_attr *init)
{
	int ret;

	ret = qp_check_type(r, type);
	if (ret)
		return ret;
	if (type == IB_UVERBS_QPT_XRC_TGT)
		return attr_find(r, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE) ||
		       attr_find(r, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE) ||
		       attr_find(r, UVERBS_ATTR_CREATE_QP_PD_HANDLE) ? -EINVAL : -ENOENT;
	if (type == IB_UVERBS_QPT_XRC_INI && attr_find(r, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE))
		return -EINVAL;
	ret = qp_obj_of(r, UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd);
	if (!ret)
		ret = qp_obj_of(r, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, &init->send_cq);
	if (!ret && type != IB_UVERBS_QPT_XRC_INI)
		ret = qp_obj_of(r, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, &init->recv_cq);
	if (!ret && qp_obj_of(r, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, &init->srq))
		init->srq = NULL;
	return ret;
}

static int qp_check_flags(uint64_t type, uint32_t flags)
{
	if (!flags || type == IB_UVERBS_QPT_DRIVER || type == IB_UVERBS_QPT_RAW_PACKET)
		return 0;
	if (type != IB_UVERBS_QPT_UD)
		return -EINVAL;
	return flags & (IB_UVERBS_QP_CREATE_SCATTER_FCS | IB_UVERBS_QP_CREATE_CVLAN_STRIPPING) ?
		-EINVAL : 0;
}

int io_qp_create(struct uverbs_req *r)
{
	const struct attr_val *async = attr_find(r, UVERBS_ATTR_CREATE_QP_EVENT_FD);
	struct uobj *o = attr_find(r, UVERBS_ATTR_CREATE_QP_HANDLE)->obj;
	struct ib_uverbs_qp_cap cap;
	struct qp_init_attr init = { 0 };
	uint32_t flags, source_qpn;
	uint64_t type;
	struct pd *pd;
	int ret;

	ret = attr_get(r, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	if (!ret)
		ret = attr_get(r, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &init.user_handle,
			       sizeof(init.user_handle));
	if (!ret)
		ret = attr_const(r, UVERBS_ATTR_CREATE_QP_TYPE, UINT32_MAX, &type);
	if (!ret)
		ret = qp_get_objects(r, type, &pd, &init);
	if (!ret)
		ret = attr_flags(r, UVERBS_ATTR_CREATE_QP_FLAGS,
				 CREATE_IOCTL | IB_UVERBS_QP_CREATE_SQ_SIG_ALL, &flags);
	if (ret)
		return ret;
	init.sq_sig_all = flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	flags &= ~(uint32_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL;
	ret = qp_check_flags(type, flags);
	if (ret)
		return ret;
	if (attr_find(r, UVERBS_ATTR_CREATE_QP_SOURCE_QPN)) {
		ret = attr_get(r, UVERBS_ATTR_CREATE_QP_SOURCE_QPN, &source_qpn,
			       sizeof(source_qpn));
		if (ret)
			return ret;
		flags |= CREATE_SOURCE_QPN;
	}
	init.type = (uint8_t)type;
	init.async = async ? async->ev : r->f->uctx->async;
	init.max_send_wr = cap.max_send_wr;
	init.max_recv_wr = cap.max_recv_wr;
	init.max_send_sge = cap.max_send_sge;
	init.max_recv_sge = cap.max_recv_sge;
	init.max_inline = cap.max_inline_data;
	ret = qp_make(r, pd, &init, flags, o);
	if (ret)
		return ret;
	cap = (struct ib_uverbs_qp_cap){
		.max_send_wr = init.max_send_wr, .max_recv_wr = init.max_recv_wr,
		.max_send_sge = init.max_send_sge, .max_recv_sge = init.max_recv_sge,
		.max_inline_data = init.max_inline,
	};
	ret = attr_put_struct(r, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));
	if (ret)
		return ret;
	return attr_put(r, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &((struct qp *)o->obj)->qpn,
			sizeof(uint32_t));
}

int do_destroy_qp(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_qp_resp resp = { 0 };
	struct ib_uverbs_destroy_qp cmd;
	struct uobj gone;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_destroy_id(r->f, UVERBS_OBJECT_QP, cmd.qp_handle, &gone);
	if (ret)
		return ret;
	resp.events_reported = gone.async_reported;
	return req_put(r, &resp, sizeof(resp));
}

int io_qp_destroy(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_qp_resp resp = {
		.events_reported = attr_find(r, UVERBS_ATTR_DESTROY_QP_HANDLE)->obj->async_reported,
	};

	return attr_put(r, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}
