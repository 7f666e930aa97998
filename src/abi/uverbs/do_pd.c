/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains. */
#include "abi/uverbs/handlers.h"

int do_alloc_pd(struct uverbs_req *r)
{
	struct ib_uverbs_alloc_pd_resp resp = { 0 };
	struct ib_uverbs_alloc_pd cmd;
	struct pd *pd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_alloc(r->f, UVERBS_OBJECT_PD, &r->new_obj);
	if (!ret)
		ret = pd_create(r->f->uctx, &pd);
	if (ret)
		return ret;
	r->new_obj->obj = pd;
	resp.pd_handle = r->new_obj->id;
	return req_put(r, &resp, sizeof(resp));
}

int do_dealloc_pd(struct uverbs_req *r)
{
	struct ib_uverbs_dealloc_pd cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	return ret ? ret : uobj_destroy_id(r->f, UVERBS_OBJECT_PD, cmd.pd_handle, NULL);
}
