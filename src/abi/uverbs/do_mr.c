/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions. */
#include "abi/uverbs/handlers.h"
#include "core/objects.h"

#define ACCESS_REMOTE_CHANGE (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)

/* ib_check_mr_access(): the kernel makes these checks before it looks up the PD. */
static int reg_mr_check_access(struct uverbs_req *r, uint32_t access)
{
	if ((access & ACCESS_REMOTE_CHANGE) && !(access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return rdev_refuse(r->f->uctx->dev, -EINVAL, MR_ACCESS, access);
	if (access & ~MR_ACCESS_KNOWN)
		return rdev_refuse(r->f->uctx->dev, -EINVAL, MR_FLAGS, access);
	return 0;
}

static int reg_mr_check_iova(struct uverbs_req *r, uint64_t start, uint64_t iova)
{
	if ((start ^ iova) & (PAGE - 1))
		return rdev_refuse(r->f->uctx->dev, -EINVAL, MR_IOVA, start, iova);
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
	if (!ret)
		ret = reg_mr_check_iova(r, cmd.start, cmd.hca_va);
	if (!ret)
		ret = uobj_alloc(r->f, UVERBS_OBJECT_MR, &r->new_obj);
	if (!ret)
		ret = reg_mr_check_access(r, cmd.access_flags);
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

/* flags of REREG_MR (enum ib_mr_rereg_flags) */
#define REREG_TRANS 1u
#define REREG_PD 2u
#define REREG_ACCESS 4u

int do_rereg_mr(struct uverbs_req *r)
{
	struct ib_uverbs_rereg_mr_resp resp = { 0 };
	struct ib_uverbs_rereg_mr cmd;
	struct mr_change change;
	struct mr *mr;
	int ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!cmd.flags)
		return -EINVAL;
	if (cmd.flags & ~(REREG_TRANS | REREG_PD | REREG_ACCESS))
		return -EOPNOTSUPP;
	if (cmd.flags & REREG_TRANS)
		ret = reg_mr_check_iova(r, cmd.start, cmd.hca_va);
	if (!ret)
		ret = uobj_get(r->f, UVERBS_OBJECT_MR, cmd.mr_handle, &mr);
	if (!ret && cmd.flags & REREG_ACCESS)
		ret = reg_mr_check_access(r, cmd.access_flags);
	if (ret)
		return ret;
	mr_change_init(&change, mr);
	if (cmd.flags & REREG_PD)
		ret = uobj_get(r->f, UVERBS_OBJECT_PD, cmd.pd_handle, &change.pd);
	if (ret)
		return ret;
	if (cmd.flags & REREG_ACCESS)
		change.access = cmd.access_flags;
	if (cmd.flags & REREG_TRANS) {
		change.start = cmd.start;
		change.length = cmd.length;
		change.iova = cmd.hca_va;
	}
	ret = mr_rereg(mr, &change);
	if (ret)
		return ret;
	uobj_changed(r->f, UVERBS_OBJECT_MR, mr);
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

/*
 * Like the kernel's mlx5_ib_advise_mr(): checks all keys first, then prefetches. An error of the prefetch is
 * returned with flag FLUSH only.
 */
int io_advise_mr(struct uverbs_req *r)
{
	const struct attr_val *list = attr_find(r, UVERBS_ATTR_ADVISE_MR_SGE_LIST);
	const struct pd *pd = attr_find(r, UVERBS_ATTR_ADVISE_MR_PD_HANDLE)->obj->obj;
	struct ubuf in = attr_buf(r, UVERBS_ATTR_ADVISE_MR_SGE_LIST, true);
	struct ib_uverbs_sge sge;
	uint64_t advice;
	uint32_t flags;
	int ret;

	ret = attr_const(r, UVERBS_ATTR_ADVISE_MR_ADVICE, UINT32_MAX, &advice);
	if (!ret)
		ret = attr_flags(r, UVERBS_ATTR_ADVISE_MR_FLAGS, IB_UVERBS_ADVISE_MR_FLAG_FLUSH,
				 &flags);
	if (ret)
		return ret;
	if (list->len % sizeof(sge))
		return -EINVAL;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	for (int pass = 0; pass < 2; pass++)
		for (size_t off = 0; off < in.len; off += sizeof(sge)) {
			ret = user_get(&sge, in.addr + off, sizeof(sge));
			if (!ret)
				ret = mr_prefetch(pd, sge.lkey, sge.addr, sge.length,
						  (enum mr_advice)advice, pass == 0);
			if (ret && (pass == 0 || flags))
				return ret;
		}
	return 0;
}

int io_not_provided(struct uverbs_req *r)
{
	int ret;

	ret = uverbs_check_context(r->f);
	return ret ? ret : -EOPNOTSUPP;
}
