/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * POST_SEND with all its checks. The send WQEs are in the QP's ring; the command is only a
 * doorbell. Work requests in the command itself are checked like in the kernel's ib_uverbs, and
 * then ignored like in its rxe. write.c has a fast path for commands without work requests.
 */
#include "abi/uverbs/handlers.h"

/* Opcodes (enum ib_uverbs_wr_opcode) that the kernel accepts in this command. */
#define OPCODES_UD (1u << IB_UVERBS_WR_SEND | 1u << IB_UVERBS_WR_SEND_WITH_IMM)
#define OPCODES (OPCODES_UD | 1u << IB_UVERBS_WR_RDMA_WRITE |                            \
		 1u << IB_UVERBS_WR_RDMA_WRITE_WITH_IMM | 1u << IB_UVERBS_WR_RDMA_READ | \
		 1u << IB_UVERBS_WR_ATOMIC_CMP_AND_SWP |                                 \
		 1u << IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD | 1u << IB_UVERBS_WR_SEND_WITH_INV)

static bool post_user_readable(uint64_t addr, uint64_t len)
{
	char buf[256];
	uint64_t n;

	for (; len; addr += n, len -= n) {
		n = min(len, (uint64_t)sizeof(buf));
		if (user_get(buf, addr, n))
			return false;
	}
	return true;
}

static int post_check_wrs(struct uverbs_req *r, const struct ib_uverbs_post_send *cmd,
			  const struct qp *qp, uint64_t wqes, uint64_t sges)
{
	uint32_t i, known = qp->type == QPT_UD ? OPCODES_UD : OPCODES;
	struct ib_uverbs_send_wr wr;
	uint64_t used = 0, len;
	struct ah *ah;
	int ret;

	for (i = 0; i < cmd->wr_count; i++, wqes += cmd->wqe_size) {
		if (!post_user_readable(wqes, cmd->wqe_size) || user_get(&wr, wqes, sizeof(wr)))
			return -EFAULT;
		if (wr.num_sge + used > cmd->sge_count)
			return -EINVAL;
		if (wr.opcode > 31 || !(known & 1u << wr.opcode))
			return -EINVAL;
		if (qp->type == QPT_UD) {
			ret = uobj_get(r->f, UVERBS_OBJECT_AH, wr.wr.ud.ah, &ah);
			if (ret)
				return ret;
		}
		len = wr.num_sge * sizeof(struct ib_uverbs_sge);
		if (!post_user_readable(sges + used * sizeof(struct ib_uverbs_sge), len))
			return -EFAULT;
		used += wr.num_sge;
	}
	return 0;
}

int do_post_send(struct uverbs_req *r)
{
	struct ib_uverbs_post_send_resp resp = { 0 };
	struct ib_uverbs_post_send cmd;
	uint64_t wqes, wqe_bytes, sge_bytes, left;
	struct qp *qp;
	int ret, put;

	if (r->in.len < sizeof(cmd))
		return -ENOSPC;
	if (user_get(&cmd, r->in.addr, sizeof(cmd)))
		return -EFAULT;
	wqes = r->in.addr + sizeof(cmd);
	left = r->in.len - sizeof(cmd);
	wqe_bytes = (uint64_t)cmd.wqe_size * cmd.wr_count;
	sge_bytes = (uint64_t)cmd.sge_count * sizeof(struct ib_uverbs_sge);
	if (wqe_bytes > left || sge_bytes > left - wqe_bytes)
		return -ENOSPC;
	left -= wqe_bytes + sge_bytes;
	if (!user_is_zero(wqes + wqe_bytes + sge_bytes, left))
		return -EOPNOTSUPP;
	if (cmd.wqe_size < sizeof(struct ib_uverbs_send_wr))
		return -EINVAL;
	ret = uobj_get(r->f, UVERBS_OBJECT_QP, cmd.qp_handle, &qp);
	if (!ret)
		ret = post_check_wrs(r, &cmd, qp, wqes, wqes + wqe_bytes);
	if (ret)
		return ret;
	ret = r->f->host->doorbell(qp);
	put = req_put(r, &resp, sizeof(resp));
	return put ? put : ret;
}
