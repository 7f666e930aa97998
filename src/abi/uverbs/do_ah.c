/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles. */
#include <rdma/rdma_user_rxe.h>
#include "abi/uverbs/handlers.h"

int do_create_ah(struct uverbs_req *r)
{
	struct ib_uverbs_create_ah_resp resp = { 0 };
	struct ib_uverbs_create_ah cmd;
	struct pd *pd;
	struct ah *ah;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uobj_alloc(r->f, UVERBS_OBJECT_AH, &r->new_obj);
	if (ret)
		return ret;
	if (!port_valid(cmd.attr.port_num))
		return rdev_refuse(r->f->uctx->dev, -EINVAL, PORT, 1, cmd.attr.port_num);
	ret = uobj_get(r->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
	if (!ret)
		ret = ah_create(pd, &cmd.attr, &ah);
	if (ret)
		return ret;
	r->new_obj->obj = ah;
	/* Old providers, which do not know AH numbers, leave no room for one. */
	if (r->drv_out.len >= sizeof(struct rxe_create_ah_resp) &&
	    user_put(r->drv_out.addr, &ah->num, sizeof(ah->num)))
		return -EFAULT;
	resp.ah_handle = r->new_obj->id;
	return req_put(r, &resp, sizeof(resp));
}

int do_destroy_ah(struct uverbs_req *r)
{
	struct ib_uverbs_destroy_ah cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	return ret ? ret : uobj_destroy_id(r->f, UVERBS_OBJECT_AH, cmd.ah_handle, NULL);
}
