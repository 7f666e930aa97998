/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * write() commands: framing, the command table, and the fast path of POST_SEND.
 *
 * Checks in the kernel's order, up to the handler: the command word (write_find), the length in the
 * header against that of the write(), and the size of the command's structs.
 *
 * - A command that is in the table but not enabled is framed as a plain command, even if it is an
 *   extended one. It fails with EINVAL if the length in its header is wrong, else with EOPNOTSUPP.
 * - Plain commands have a minimum size of request and response (ENOSPC). Extended ones have none: a
 *   short request is completed with zeros.
 */
#include "abi/uverbs/handlers.h"

/*
 * The kernel's rxe has plain commands with numbers below WRITE_LIMIT and extended ones with numbers
 * below WRITE_EX_LIMIT. All other numbers fail with EOPNOTSUPP before the length in the header is checked.
 */
#define WRITE_LIMIT (IB_USER_VERBS_CMD_CREATE_XSRQ + 1)
#define WRITE_EX_LIMIT (IB_USER_VERBS_EX_CMD_MODIFY_QP + 1)
#define EX_HDRS (sizeof(struct ib_uverbs_cmd_hdr) + sizeof(struct ib_uverbs_ex_cmd_hdr))
/* End of user addresses, as checked by the kernel's access_ok(). */
#define USER_END 0x7ffffffff000ull
#define DESTROY_CQ_OLD 16	/* size in bytes of DESTROY_CQ from rdma-core 18 and 19 */

#define IO(req, resp) \
	.req_size = sizeof(struct req), .resp_size = sizeof(struct resp), .has_resp = true
#define IO_UDATA(req, resp) IO(req, resp), .has_udata = true
#define I(req) .req_size = sizeof(struct req)
#define ON .enabled = true
#define ROW(nr, fn, ...) \
	[IB_USER_VERBS_CMD_##nr] = { .name = #nr, .handler = fn, __VA_ARGS__ }
#define EX_ROW(nr, fn, ...) \
	[IB_USER_VERBS_EX_CMD_##nr] = { .name = "EX_" #nr, .handler = fn, __VA_ARGS__ }

const struct write_row write_rows[WRITE_ROWS] = {
	ROW(GET_CONTEXT, do_get_context,
	    IO_UDATA(ib_uverbs_get_context, ib_uverbs_get_context_resp), ON),
	ROW(QUERY_DEVICE, do_query_device,
	    IO(ib_uverbs_query_device, ib_uverbs_query_device_resp), ON),
	ROW(QUERY_PORT, do_query_port, IO(ib_uverbs_query_port, ib_uverbs_query_port_resp), ON),
	ROW(ALLOC_PD, do_alloc_pd, IO_UDATA(ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp), ON),
	ROW(DEALLOC_PD, do_dealloc_pd, I(ib_uverbs_dealloc_pd), ON),
	ROW(CREATE_AH, do_create_ah, IO_UDATA(ib_uverbs_create_ah, ib_uverbs_create_ah_resp), ON),
	ROW(DESTROY_AH, do_destroy_ah, I(ib_uverbs_destroy_ah), ON),
	ROW(REG_MR, do_reg_mr, IO_UDATA(ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp), ON),
	ROW(REREG_MR, do_rereg_mr,
	    IO_UDATA(ib_uverbs_rereg_mr, ib_uverbs_rereg_mr_resp), ON),
	ROW(DEREG_MR, do_dereg_mr, I(ib_uverbs_dereg_mr), ON),
	ROW(ALLOC_MW, do_alloc_mw, IO_UDATA(ib_uverbs_alloc_mw, ib_uverbs_alloc_mw_resp), ON),
	ROW(DEALLOC_MW, do_dealloc_mw, I(ib_uverbs_dealloc_mw), ON),
	ROW(CREATE_COMP_CHANNEL, do_create_comp_channel,
	    IO(ib_uverbs_create_comp_channel, ib_uverbs_create_comp_channel_resp), ON),
	ROW(CREATE_CQ, do_create_cq, IO_UDATA(ib_uverbs_create_cq, ib_uverbs_create_cq_resp), ON),
	ROW(RESIZE_CQ, do_resize_cq, IO_UDATA(ib_uverbs_resize_cq, ib_uverbs_resize_cq_resp), ON),
	ROW(DESTROY_CQ, do_destroy_cq, IO(ib_uverbs_destroy_cq, ib_uverbs_destroy_cq_resp), ON),
	ROW(POLL_CQ, NULL, IO(ib_uverbs_poll_cq, ib_uverbs_poll_cq_resp)),
	ROW(REQ_NOTIFY_CQ, do_req_notify_cq, I(ib_uverbs_req_notify_cq), ON),
	ROW(CREATE_QP, do_create_qp, IO_UDATA(ib_uverbs_create_qp, ib_uverbs_create_qp_resp), ON),
	ROW(QUERY_QP, do_query_qp, IO(ib_uverbs_query_qp, ib_uverbs_query_qp_resp), ON),
	ROW(MODIFY_QP, do_modify_qp, I(ib_uverbs_modify_qp), ON),
	ROW(DESTROY_QP, do_destroy_qp, IO(ib_uverbs_destroy_qp, ib_uverbs_destroy_qp_resp), ON),
	ROW(POST_SEND, do_post_send, IO(ib_uverbs_post_send, ib_uverbs_post_send_resp), ON),
	ROW(POST_RECV, NULL, IO(ib_uverbs_post_recv, ib_uverbs_post_recv_resp)),
	ROW(ATTACH_MCAST, do_attach_mcast, I(ib_uverbs_attach_mcast), ON),
	ROW(DETACH_MCAST, do_detach_mcast, I(ib_uverbs_detach_mcast), ON),
	ROW(CREATE_SRQ, do_create_srq,
	    IO_UDATA(ib_uverbs_create_srq, ib_uverbs_create_srq_resp), ON),
	ROW(MODIFY_SRQ, do_modify_srq, I(ib_uverbs_modify_srq), .has_udata = true, ON),
	ROW(QUERY_SRQ, do_query_srq, IO(ib_uverbs_query_srq, ib_uverbs_query_srq_resp), ON),
	ROW(DESTROY_SRQ, do_destroy_srq,
	    IO(ib_uverbs_destroy_srq, ib_uverbs_destroy_srq_resp), ON),
	ROW(POST_SRQ_RECV, NULL, IO(ib_uverbs_post_srq_recv, ib_uverbs_post_srq_recv_resp)),
	ROW(OPEN_XRCD, NULL, IO_UDATA(ib_uverbs_open_xrcd, ib_uverbs_open_xrcd_resp)),
	ROW(CLOSE_XRCD, NULL, I(ib_uverbs_close_xrcd)),
	ROW(CREATE_XSRQ, do_create_xsrq,
	    IO_UDATA(ib_uverbs_create_xsrq, ib_uverbs_create_srq_resp), ON),
	ROW(OPEN_QP, NULL, IO_UDATA(ib_uverbs_open_qp, ib_uverbs_create_qp_resp)),
};

const struct write_row write_ex_rows[WRITE_EX_ROWS] = {
	EX_ROW(QUERY_DEVICE, do_ex_query_device,
	       IO(ib_uverbs_ex_query_device, ib_uverbs_ex_query_device_resp), ON),
	EX_ROW(CREATE_CQ, do_ex_create_cq,
	       IO(ib_uverbs_ex_create_cq, ib_uverbs_ex_create_cq_resp), ON),
	EX_ROW(CREATE_QP, do_ex_create_qp,
	       IO(ib_uverbs_ex_create_qp, ib_uverbs_ex_create_qp_resp), ON),
	EX_ROW(MODIFY_QP, do_ex_modify_qp,
	       IO(ib_uverbs_ex_modify_qp, ib_uverbs_ex_modify_qp_resp), ON),
	EX_ROW(CREATE_FLOW, NULL, IO(ib_uverbs_create_flow, ib_uverbs_create_flow_resp)),
	EX_ROW(DESTROY_FLOW, NULL, I(ib_uverbs_destroy_flow)),
	EX_ROW(CREATE_WQ, NULL, IO(ib_uverbs_ex_create_wq, ib_uverbs_ex_create_wq_resp)),
	EX_ROW(MODIFY_WQ, NULL, I(ib_uverbs_ex_modify_wq)),
	EX_ROW(DESTROY_WQ, NULL, IO(ib_uverbs_ex_destroy_wq, ib_uverbs_ex_destroy_wq_resp)),
	EX_ROW(CREATE_RWQ_IND_TBL, NULL,
	       IO(ib_uverbs_ex_create_rwq_ind_table, ib_uverbs_ex_create_rwq_ind_table_resp)),
	EX_ROW(DESTROY_RWQ_IND_TBL, NULL, I(ib_uverbs_ex_destroy_rwq_ind_table)),
	EX_ROW(MODIFY_CQ, NULL, I(ib_uverbs_ex_modify_cq)),
};

int write_find(uint32_t command, bool *ex, const struct write_row **row)
{
	uint32_t nr = command & IB_USER_VERBS_CMD_COMMAND_MASK;

	if (command & ~(IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_CMD_COMMAND_MASK))
		return -EINVAL;
	*ex = command & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	if (nr >= (*ex ? WRITE_EX_LIMIT : WRITE_LIMIT))
		return -EOPNOTSUPP;
	*row = *ex ? &write_ex_rows[nr] : &write_rows[nr];
	if (!(*row)->enabled)
		*row = NULL;
	return 0;
}

int write_run(struct uverbs_req *r, const struct write_row *row)
{
	int ret;

	r->new_obj = NULL;
	ret = uverbs_fault(r, row->name);
	if (ret)
		return ret;
	ret = row->handler(r);
	if (r->new_obj) {
		if (ret)
			uobj_abort(r->f, r->new_obj);
		else
			uobj_commit(r->f, r->new_obj);
	}
	return ret;
}

/* Finds the core and provider parts of the request and response of an extended command. 0 or -errno. */
static int write_frame_ex(struct uverbs_req *r, const struct ib_uverbs_cmd_hdr *hdr, uint64_t buf,
			  size_t count)
{
	struct ib_uverbs_ex_cmd_hdr ex;
	size_t out_len;

	if (count < EX_HDRS)
		return -EINVAL;
	if (user_get(&ex, buf + sizeof(*hdr), sizeof(ex)))
		return -EFAULT;
	if ((size_t)(hdr->in_words + ex.provider_in_words) * 8 != count - EX_HDRS)
		return -EINVAL;
	if (ex.cmd_hdr_reserved)
		return -EINVAL;
	out_len = (size_t)(hdr->out_words + ex.provider_out_words) * 8;
	if (!ex.response != !out_len)
		return -EINVAL;
	if (out_len && (ex.response > USER_END || out_len > USER_END - ex.response))
		return -EFAULT;
	r->in = (struct ubuf){ buf + EX_HDRS, (size_t)hdr->in_words * 8 };
	r->drv_in = (struct ubuf){ r->in.addr + r->in.len, (size_t)ex.provider_in_words * 8 };
	r->out = (struct ubuf){ ex.response, (size_t)hdr->out_words * 8 };
	r->drv_out = (struct ubuf){ ex.response + r->out.len, (size_t)ex.provider_out_words * 8 };
	return 0;
}

/*
 * Does the same for a plain command. Its provider data, if any, follows the core part in the same buffer.
 */
static int write_frame_plain(struct uverbs_req *r, struct ib_uverbs_cmd_hdr *hdr,
			     const struct write_row *row, uint64_t buf, size_t count)
{
	size_t in_len, out_len = (size_t)hdr->out_words * 4;
	uint64_t response = 0;

	if ((size_t)hdr->in_words * 4 != count)
		return -EINVAL;
	if (!row)
		return -EOPNOTSUPP;
	if (count < row->req_size + sizeof(*hdr)) {
		if (hdr->command != IB_USER_VERBS_CMD_DESTROY_CQ || count != DESTROY_CQ_OLD)
			return -ENOSPC;
		count = row->req_size + sizeof(*hdr);
	} else if (out_len < row->resp_size) {
		return -ENOSPC;
	}
	in_len = count - sizeof(*hdr);
	r->in = (struct ubuf){ buf + sizeof(*hdr), in_len };
	if (row->has_udata) {
		r->in.len = row->req_size;
		r->drv_in = (struct ubuf){ r->in.addr + r->in.len, in_len - r->in.len };
	}
	if (row->has_resp) {
		if (user_get(&response, r->in.addr, sizeof(response)))
			return -EFAULT;
		r->out = (struct ubuf){ response, out_len };
		if (row->has_udata) {
			r->out.len = row->resp_size;
			r->drv_out = (struct ubuf){ response + r->out.len, out_len - r->out.len };
		}
	}
	return 0;
}

static noinline ssize_t write_any(struct uverbs_file *f, const void *buf, size_t count)
{
	struct uverbs_req r;
	struct ib_uverbs_cmd_hdr hdr;
	const struct write_row *row;
	uint64_t addr = (uintptr_t)buf;
	bool ex;
	int ret;

	uverbs_no_reason(f);
	if (count < sizeof(hdr))
		return uverbs_refused(f, "", -EINVAL);
	if (user_get(&hdr, addr, sizeof(hdr)))
		return uverbs_refused(f, "", -EFAULT);
	ret = write_find(hdr.command, &ex, &row);
	if (ret)
		return uverbs_refused(f, "", ret);
	memset(&r, 0, offsetof(struct uverbs_req, attr));
	r.f = f;
	ret = ex && row ? write_frame_ex(&r, &hdr, addr, count) :
			  write_frame_plain(&r, &hdr, row, addr, count);
	if (!ret)
		ret = write_run(&r, row);
	return ret ? uverbs_refused(f, row ? row->name : "", ret) : (ssize_t)count;
}

static noinline __cold int write_post_refused(struct uverbs_file *f, const struct qp *qp, int ret)
{
	uverbs_no_reason(f);
	f->uctx->dev->fails.refused_qpn = qp->qpn;
	if (ret == -EINVAL)
		rdev_refuse(f->uctx->dev, ret, POST_STATE, qp->state);
	return uverbs_refused(f, "POST_SEND", ret);
}

/*
 * Fast path of the doorbell, the only command of the data path: a POST_SEND of 32 bytes
 * without work requests. If anything about it is unusual, write_any() handles it and makes
 * all checks in the kernel's order.
 */
HOT ssize_t uverbs_write(struct uverbs_file *f, const void *buf, size_t count)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} d;
	static const struct ib_uverbs_post_send_resp resp;
	const struct uobj *o;
	int ret;

	if (count != sizeof(d) || umem_copy(&d, buf, sizeof(d)) ||
	    d.hdr.command != IB_USER_VERBS_CMD_POST_SEND || d.hdr.in_words != sizeof(d) / 4 ||
	    d.hdr.out_words != sizeof(resp) / 4 || d.cmd.wr_count || d.cmd.sge_count ||
	    d.cmd.wqe_size < sizeof(struct ib_uverbs_send_wr))
		return write_any(f, buf, count);
	o = idtable_find(&f->ids, d.cmd.qp_handle);
	if (unlikely(!o || !o->live || o->kind != UVERBS_OBJECT_QP || !o->obj ||
		     f->uctx->dev->gone))
		return write_any(f, buf, count);
	ret = f->host->doorbell(o->obj);
	if (umem_copy((void *)(uintptr_t)d.cmd.response, &resp, sizeof(resp)))
		ret = -EFAULT;
	return unlikely(ret) ? write_post_refused(f, o->obj, ret) : (ssize_t)count;
}
