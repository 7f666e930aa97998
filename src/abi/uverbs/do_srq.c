/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands and methods of shared receive queues (SRQs). A program creates one by write() command CREATE_SRQ, write()
 * command CREATE_XSRQ or ioctl method SRQ_CREATE.
 */
#include <rdma/rdma_user_rxe.h>
#include "abi/uverbs/handlers.h"

/* attr_mask of MODIFY_SRQ (enum ib_srq_attr_mask). rxe ignores other bits. */
#define SRQ_MAX_WR 1u
#define SRQ_LIMIT 2u

/*
 * The part that CREATE_SRQ, CREATE_XSRQ and SRQ_CREATE have in common, as in the kernel's driver (rxe): makes the
 * driver's checks, creates the SRQ, and writes the response for the provider, the location of the ring.
 */
static int srq_make(struct uverbs_req *r, struct pd *pd, struct srq_init_attr *init, uint32_t type,
		    struct uobj *o)
{
	struct rxe_create_srq_resp drv = { 0 };
	struct srq *srq;
	int ret;

	if (r->drv_out.len < sizeof(drv))
		return -EINVAL;
	if (type != IB_UVERBS_SRQT_BASIC)
		return -EOPNOTSUPP;
	ret = srq_create(pd, init, &srq);
	if (ret)
		return ret;
	o->obj = srq;
	drv.mi = (struct mminfo){ .offset = srq->rq.offset, .size = srq->rq.buf_size };
	drv.srq_num = srq->num;
	return user_put(r->drv_out.addr, &drv, sizeof(drv));
}

/*
 * Looks up the handles that an SRQ of this type needs, in the kernel's order. Handles are also looked
 * up for types that are not supported, because a wrong handle has another errno than the type.
 */
static int srq_get_handles(struct uverbs_file *f, const struct ib_uverbs_create_xsrq *cmd,
			   struct pd **pd)
{
	struct uobj *o;
	int ret;

	if (cmd->srq_type == IB_UVERBS_SRQT_XRC)
		return -EINVAL;
	if (cmd->srq_type == IB_UVERBS_SRQT_TM) {
		ret = uobj_lookup(f, UVERBS_OBJECT_CQ, cmd->cq_handle, false, &o);
		if (ret)
			return ret;
	}
	return uobj_get(f, UVERBS_OBJECT_PD, cmd->pd_handle, pd);
}

static int srq_create_write(struct uverbs_req *r, const struct ib_uverbs_create_xsrq *cmd)
{
	struct ib_uverbs_create_srq_resp resp = { 0 };
	struct srq_init_attr init = {
		.max_wr = cmd->max_wr, .max_sge = cmd->max_sge, .limit = cmd->srq_limit,
		.user_handle = cmd->user_handle,
	};
	struct pd *pd;
	int ret;

	ret = uobj_alloc(r->f, UVERBS_OBJECT_SRQ, &r->new_obj);
	if (!ret)
		ret = srq_get_handles(r->f, cmd, &pd);
	if (ret)
		return ret;
	init.async = r->f->uctx->async;
	ret = srq_make(r, pd, &init, cmd->srq_type, r->new_obj);
	if (ret)
		return ret;
	resp.srq_handle = r->new_obj->id;
	resp.max_wr = init.max_wr;
	resp.max_sge = init.max_sge;
	return req_put(r, &resp, sizeof(resp));
}

int do_create_srq(struct uverbs_req *r)
{
	struct ib_uverbs_create_xsrq x = { 0 };
	struct ib_uverbs_create_srq cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	x.user_handle = cmd.user_handle;
	x.srq_type = IB_UVERBS_SRQT_BASIC;
	x.pd_handle = cmd.pd_handle;
	x.max_wr = cmd.max_wr;
	x.max_sge = cmd.max_sge;
	x.srq_limit = cmd.srq_limit;
	return srq_create_write(r, &x);
}

int do_create_xsrq(struct uverbs_req *r)
{
	struct ib_uverbs_create_xsrq cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	return ret ? ret : srq_create_write(r, &cmd);
}

int io_srq_create(struct uverbs_req *r)
{
	const struct attr_val *async = attr_find(r, UVERBS_ATTR_CREATE_SRQ_EVENT_FD);
	struct pd *pd = attr_find(r, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE)->obj->obj;
	struct uobj *o = attr_find(r, UVERBS_ATTR_CREATE_SRQ_HANDLE)->obj;
	struct srq_init_attr init = { 0 };
	uint64_t type;
	int ret;

	ret = attr_get(r, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &init.max_sge, sizeof(init.max_sge));
	if (!ret)
		ret = attr_get(r, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &init.max_wr,
			       sizeof(init.max_wr));
	if (!ret)
		ret = attr_get(r, UVERBS_ATTR_CREATE_SRQ_LIMIT, &init.limit, sizeof(init.limit));
	if (!ret)
		ret = attr_get(r, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &init.user_handle,
			       sizeof(init.user_handle));
	if (!ret)
		ret = attr_const(r, UVERBS_ATTR_CREATE_SRQ_TYPE, UINT32_MAX, &type);
	if (ret)
		return ret;
	if (type == IB_UVERBS_SRQT_TM && (!attr_find(r, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE) ||
					  !attr_find(r, UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS)))
		return -ENOENT;
	/* The program has no XRCD, since none can be created. */
	if (type == IB_UVERBS_SRQT_XRC)
		return -ENOENT;
	if (type > IB_UVERBS_SRQT_TM)
		return -EINVAL;
	init.async = async ? async->ev : r->f->uctx->async;
	ret = srq_make(r, pd, &init, (uint32_t)type, o);
	if (!ret)
		ret = attr_put(r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &init.max_wr,
			       sizeof(init.max_wr));
	if (!ret)
		ret = attr_put(r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &init.max_sge,
			       sizeof(init.max_sge));
	return ret;
}

/*
 * Replaces the ring by one for max_wr work requests. As in the kernel's rxe, the location of the new
 * ring is written to the address mi_addr, which the provider has passed in its part of the command.
 */
static int srq_resize(struct srq *srq, uint32_t max_wr, uint64_t mi_addr)
{
	struct mminfo mi = { 0 };
	struct ring ring;
	int ret;

	ret = srq_resize_alloc(srq, max_wr, &ring);
	if (ret)
		return ret;
	mi.offset = ring.offset;
	mi.size = ring.buf_size;
	ret = user_put(mi_addr, &mi, sizeof(mi));
	if (ret)
		srq_resize_drop(srq, &ring);
	else
		srq_resize_commit(srq, &ring);
	return ret;
}

int do_modify_srq(struct uverbs_req *r)
{
	struct rxe_modify_srq_cmd drv;
	struct ib_uverbs_modify_srq cmd;
	struct srq *srq;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_SRQ, cmd.srq_handle, &srq);
	if (ret)
		return ret;
	if (r->drv_in.len < sizeof(drv))
		return -EINVAL;
	ret = user_get(&drv, r->drv_in.addr, sizeof(drv));
	if (ret)
		return ret;
	if (srq->error)
		return -EINVAL;
	if (cmd.attr_mask & SRQ_LIMIT && cmd.srq_limit > srq->max_wr)
		return rdev_refuse(r->f->uctx->dev, -EINVAL, SRQ_LIMIT, 2, cmd.srq_limit, 0,
				   srq->max_wr);
	if (cmd.attr_mask & SRQ_MAX_WR)
		ret = srq_resize(srq, cmd.max_wr, drv.mmap_info_addr);
	if (!ret && cmd.attr_mask & SRQ_LIMIT)
		srq->limit = cmd.srq_limit;
	return ret;
}

int do_query_srq(struct uverbs_req *r)
{
	struct ib_uverbs_query_srq_resp resp = { 0 };
	struct ib_uverbs_query_srq cmd;
	struct srq *srq;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_SRQ, cmd.srq_handle, &srq);
	if (ret)
		return ret;
	if (srq->error)
		return -EINVAL;
	resp.max_wr = srq->max_wr;
	resp.max_sge = srq->max_sge;
	resp.srq_limit = srq->limit;
	return req_put(r, &resp, sizeof(resp));
}

int do_destroy_srq(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_srq_resp resp = { 0 };
	struct ib_uverbs_destroy_srq cmd;
	struct uobj gone;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_destroy_id(r->f, UVERBS_OBJECT_SRQ, cmd.srq_handle, &gone);
	if (ret)
		return ret;
	resp.events_reported = gone.async_reported;
	return req_put(r, &resp, sizeof(resp));
}

int io_srq_destroy(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_srq_resp resp = {
		.events_reported =
			attr_find(r, UVERBS_ATTR_DESTROY_SRQ_HANDLE)->obj->async_reported,
	};

	return attr_put(r, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}
