/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#include "abi/uverbs/handlers.h"

#define PAGE_BITS 4095ull
#define ACCESS_KNOWN (0xffu | IB_UVERBS_ACCESS_OPTIONAL_RANGE)
#define ACCESS_REMOTE_CHANGE (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

/* ib_check_mr_access(); comes before the PD is looked up. */
static int check_access(uint32_t access)
{
	if ((access & ACCESS_REMOTE_CHANGE) && !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (access & ~ACCESS_KNOWN || access & IB_UVERBS_ACCESS_ON_DEMAND)
		return -EINVAL;
	return 0;
}

int do_reg_mr(struct uverbs_req *r)
{
	struct ib_uverbs_reg_mr_resp resp = { 0 };
	struct ib_uverbs_reg_mr cmd;
	struct pd *pd;
	struct mr *mr;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if ((cmd.start ^ cmd.hca_va) & PAGE_BITS)
		return -EINVAL;
	ret = uobj_alloc(r->f, UVERBS_OBJECT_MR, &r->new_obj);
	if (!ret)
		ret = check_access(cmd.access_flags);
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_PD, cmd.pd_handle, &pd);
	if (!ret)
		ret = mr_create(pd, cmd.start, cmd.length, cmd.hca_va, cmd.access_flags, &mr);
	if (ret)
		return ret;
	r->new_obj->obj = mr;
	resp.mr_handle = r->new_obj->id;
	resp.lkey = mr->lkey;
	resp.rkey = mr->rkey;
	return req_put(r, &resp, sizeof(resp));
}

int do_dereg_mr(struct uverbs_req *r)
{
	struct ib_uverbs_dereg_mr cmd;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	return ret ? ret : uobj_destroy_id(r->f, UVERBS_OBJECT_MR, cmd.mr_handle, NULL);
}

int io_query_mr(struct uverbs_req *r)
{
	const struct mr *mr = attr_find(r, UVERBS_ATTR_QUERY_MR_HANDLE)->obj->obj;
	const struct key_card *card = &r->f->uctx->dev->keys[mr->index];
	uint64_t length = card->length, iova = card->iova;
	int ret;

	ret = attr_put(r, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->lkey, sizeof(mr->lkey));
	if (!ret)
		ret = attr_put(r, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->rkey, sizeof(mr->rkey));
	if (!ret)
		ret = attr_put(r, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &length, sizeof(length));
	if (ret)
		return ret;
	ret = attr_put(r, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &iova, sizeof(iova));
	return ret == -ENOENT ? 0 : ret;
}

int io_not_provided(struct uverbs_req *r)
{
	int ret;

	ret = uverbs_check_context(r->f);
	return ret ? ret : -EOPNOTSUPP;
}
