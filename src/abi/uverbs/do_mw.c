/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows and multicast attachments. */
#include "abi/uverbs/handlers.h"
#include "core/mcast.h"
#include "core/mw.h"

int do_alloc_mw(struct uverbs_req *r)
{
	struct ib_uverbs_alloc_mw_resp resp = { 0 };
	struct ib_uverbs_alloc_mw cmd;
	struct pd *pd;
	struct mw *mw;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_alloc(r->f, UVERBS_OBJECT_MW, &r->new_obj);
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
	if (!ret)
		ret = mw_alloc(pd, cmd.mw_type, &mw);
	if (ret)
		return ret;
	r->new_obj->obj = mw;
	resp.rkey = mw->rkey;
	resp.mw_handle = r->new_obj->id;
	return req_put(r, &resp, sizeof(resp));
}

int do_dealloc_mw(struct uverbs_req *r)
{
	struct ib_uverbs_dealloc_mw cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	return ret ? ret : uobj_destroy_id(r->f, UVERBS_OBJECT_MW, cmd.mw_handle, NULL);
}

int do_attach_mcast(struct uverbs_req *r)
{
	struct ib_uverbs_attach_mcast cmd;
	struct qp *qp;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_QP, cmd.qp_handle, &qp);
	return ret ? ret : mcast_attach(qp, cmd.gid, cmd.mlid);
}

int do_detach_mcast(struct uverbs_req *r)
{
	struct ib_uverbs_detach_mcast cmd;
	struct qp *qp;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_QP, cmd.qp_handle, &qp);
	return ret ? ret : mcast_detach(qp, cmd.gid, cmd.mlid);
}
