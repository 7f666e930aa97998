/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands that fail because the host wants it (uverbs_ops.fault), and the QP that such a command is about. */
#include "abi/uverbs/handlers.h"

/* Where the handle of the QP is in the request of a write() command; also of the extended one. */
static const struct {
	const char *command;
	size_t at;
} fault_handles[] = {
	{ "MODIFY_QP", offsetof(struct ib_uverbs_modify_qp, qp_handle) },
	{ "EX_MODIFY_QP", offsetof(struct ib_uverbs_ex_modify_qp, base.qp_handle) },
	{ "QUERY_QP", offsetof(struct ib_uverbs_query_qp, qp_handle) },
	{ "DESTROY_QP", offsetof(struct ib_uverbs_destroy_qp, qp_handle) },
	{ "ATTACH_MCAST", offsetof(struct ib_uverbs_attach_mcast, qp_handle) },
	{ "DETACH_MCAST", offsetof(struct ib_uverbs_detach_mcast, qp_handle) },
};

const struct qp *uverbs_fault_qp(const struct uverbs_req *r, const char *name)
{
	struct uobj *o = NULL;
	uint32_t handle;

	for (uint32_t i = 0; r->m && i < r->m->nattrs; i++)
		if (r->m->attrs[i].type == ATTR_IDR && r->m->attrs[i].kind == UVERBS_OBJECT_QP &&
		    r->m->attrs[i].access != ACC_NEW)
			o = r->attr[i].obj;
	for (size_t i = 0; i < ARRAY_SIZE(fault_handles); i++)
		if (!strcmp(name, fault_handles[i].command) &&
		    r->in.len >= fault_handles[i].at + sizeof(handle) &&
		    !user_get(&handle, r->in.addr + fault_handles[i].at, sizeof(handle)))
			uobj_lookup(r->f, UVERBS_OBJECT_QP, handle, true, &o);
	return o ? o->obj : NULL;
}

int uverbs_fault(struct uverbs_req *r, const char *name)
{
	return r->f->host->fault ? r->f->host->fault(r->f, r, name) : 0;
}
