/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues. */
#include <rdma/rdma_user_rxe.h>
#include "abi/uverbs/handlers.h"

struct cq_args {
	uint32_t cqe, comp_vector, flags;
	uint64_t user_handle;
	struct event_file *channel, *async;
};

/*
 * Does what the kernel's driver (rxe) does for all forms of CREATE_CQ: makes the driver's checks,
 * creates the CQ, and writes the response for the provider, the location of the ring.
 */
static int cq_make(struct uverbs_req *r, const struct cq_args *a, struct uobj *o)
{
	struct rxe_create_cq_resp drv;
	struct cq *cq;
	int ret;

	if (r->drv_out.len < sizeof(drv))
		return -EINVAL;
	if (a->flags)
		return rdev_refuse(r->f->uctx->dev, -EOPNOTSUPP, CQ_FLAGS, a->flags);
	ret = cq_create(r->f->uctx, a->cqe, a->comp_vector, a->channel, a->async,
			a->user_handle, &cq);
	if (ret)
		return ret;
	o->obj = cq;
	drv.mi = (struct mminfo){ .offset = cq->ring.offset, .size = cq->ring.buf_size };
	return user_put(r->drv_out.addr, &drv, sizeof(drv));
}

static int cq_create_write(struct uverbs_req *r, const struct ib_uverbs_ex_create_cq *cmd)
{
	struct ib_uverbs_ex_create_cq_resp resp = { 0 };
	struct cq_args a = {
		.cqe = cmd->cqe, .comp_vector = cmd->comp_vector, .flags = cmd->flags,
		.user_handle = cmd->user_handle,
	};
	const struct cq *cq;
	int ret;

	if (cmd->comp_vector >= r->f->uctx->dev->num_comp_vectors)
		return cq_refuse_vector(r->f->uctx->dev, cmd->comp_vector);
	ret = uobj_alloc(r->f, UVERBS_OBJECT_CQ, &r->new_obj);
	if (!ret && cmd->comp_channel >= 0)
		ret = ev_lookup(r->f, false, cmd->comp_channel, &a.channel);
	if (ret)
		return ret;
	a.async = r->f->uctx->async;
	ret = cq_make(r, &a, r->new_obj);
	if (ret)
		return ret;
	cq = r->new_obj->obj;
	resp.base.cq_handle = r->new_obj->id;
	resp.base.cqe = cq->cqe;
	resp.response_length = req_response_length(r, sizeof(resp));
	return req_put(r, &resp, sizeof(resp));
}

int do_create_cq(struct uverbs_req *r)
{
	struct ib_uverbs_ex_create_cq ex = { 0 };
	struct ib_uverbs_create_cq cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ex.user_handle = cmd.user_handle;
	ex.cqe = cmd.cqe;
	ex.comp_vector = cmd.comp_vector;
	ex.comp_channel = cmd.comp_channel;
	return cq_create_write(r, &ex);
}

int do_ex_create_cq(struct uverbs_req *r)
{
	struct ib_uverbs_ex_create_cq cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	return cq_create_write(r, &cmd);
}

int io_cq_create(struct uverbs_req *r)
{
	struct uobj *o = attr_find(r, UVERBS_ATTR_CREATE_CQ_HANDLE)->obj;
	const struct attr_val *channel = attr_find(r, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);
	const struct attr_val *async = attr_find(r, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
	struct cq_args a;
	uint32_t cqe;
	int ret;

	ret = attr_get(r, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &a.comp_vector, sizeof(a.comp_vector));
	if (!ret)
		ret = attr_get(r, UVERBS_ATTR_CREATE_CQ_CQE, &a.cqe, sizeof(a.cqe));
	if (!ret)
		ret = attr_get(r, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &a.user_handle,
			       sizeof(a.user_handle));
	if (!ret)
		ret = attr_flags(r, UVERBS_ATTR_CREATE_CQ_FLAGS,
				 IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
				 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN, &a.flags);
	if (ret)
		return ret;
	a.channel = channel ? channel->ev : NULL;
	a.async = async ? async->ev : r->f->uctx->async;
	if (a.comp_vector >= r->f->uctx->dev->num_comp_vectors)
		return cq_refuse_vector(r->f->uctx->dev, a.comp_vector);
	ret = cq_make(r, &a, o);
	if (ret)
		return ret;
	cqe = ((struct cq *)o->obj)->cqe;
	return attr_put(r, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
}

int do_resize_cq(struct uverbs_req *r)
{
	struct ib_uverbs_resize_cq_resp resp = { 0 };
	struct rxe_resize_cq_resp drv;
	struct ib_uverbs_resize_cq cmd;
	struct ring ring;
	struct cq *cq;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &cq);
	if (ret)
		return ret;
	if (r->drv_out.len < sizeof(drv))
		return -EINVAL;
	ret = cq_resize_alloc(cq, cmd.cqe, &ring);
	if (ret)
		return ret;
	drv.mi = (struct mminfo){ .offset = ring.offset, .size = ring.buf_size };
	ret = user_put(r->drv_out.addr, &drv, sizeof(drv));
	if (ret) {
		cq_resize_drop(cq, &ring);
		return ret;
	}
	cq_resize_commit(cq, &ring);
	uobj_changed(r->f, UVERBS_OBJECT_CQ, cq);
	resp.cqe = cq->cqe;
	return req_put(r, &resp, sizeof(resp));
}

/* Writes the response: the numbers of events that the program has read. Unread ones were dropped. */
static struct ib_uverbs_destroy_cq_resp cq_destroyed(const struct uobj *gone)
{
	return (struct ib_uverbs_destroy_cq_resp){
		.comp_events_reported = gone->comp_reported,
		.async_events_reported = gone->async_reported,
	};
}

int do_destroy_cq(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_cq cmd;
	struct uobj gone;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_destroy_id(r->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &gone);
	if (ret)
		return ret;
	resp = cq_destroyed(&gone);
	return req_put(r, &resp, sizeof(resp));
}

int io_cq_destroy(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_cq_resp resp =
		cq_destroyed(attr_find(r, UVERBS_ATTR_DESTROY_CQ_HANDLE)->obj);

	return attr_put(r, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}

int do_req_notify_cq(struct uverbs_req *r)
{
	struct ib_uverbs_req_notify_cq cmd;
	struct cq *cq;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_CQ, cmd.cq_handle, &cq);
	if (ret)
		return ret;
	cq_arm(cq, cmd.solicited_only);
	r->f->host->cq_armed(cq);
	return 0;
}
