/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder's steps after the checks of resp.c: execution, completion, and duplicates.
 * Executed READs and atomics are kept in a replay list, so that a duplicate READ is executed
 * again only if it matches one of them, and a duplicate atomic is answered from the list.
 */
#include <rdma/ib_user_verbs.h>
#include <string.h>
#include "core/mw.h"
#include "xport/resp_internal.h"
#include "xport/shaken.h"
#include "xport/why.h"

/*
 * Executes SEND with invalidate. The key must be that of a type 2 window of this QP (IBA
 * 9.9.6.1, responder class J). An error is reported by the receive WQE, without an event.
 */
static noinline enum resp_step resp_exec_inv(struct resp_ctx *c)
{
	if (likely(mw_invalidate(c->qp, c->seg->imm) == MW_OK))
		return RESP_COMPLETE;
	xp_why(c->qp, INV_KEY, c->seg->imm);
	c->syndrome = AETH_NAK_REM_ACC;
	c->status = WC_REM_INV_REQ_ERR;
	c->event = EV_NONE;
	return RESP_FATAL;
}

/* The region is valid, but the program has unmapped its memory or changed the protection. */
static noinline __cold enum resp_step resp_mem_gone(struct resp_ctx *c)
{
	xp_why(c->qp, MEM_GONE, (uintptr_t)c->addr,
	       resp_is_write(c) ? c->qp->resp.rkey : c->seg->rkey);
	return resp_rem_acc(c);
}

static enum resp_step resp_exec_send(struct resp_ctx *c)
{
	struct iovec iov[SEG_MAX_IOV];
	int n = recv_iov(c->qp, c->qp->resp.off, c->len, iov);

	if (unlikely(n < 0)) {
		xp_why_recv(c->qp, c->qp->resp.off, c->len);
		return resp_rem_op(c, WC_LOC_PROT_ERR);
	}
	switch (xp_place(c->seg, c->cut, iov, n, c->len)) {
	case 0:
		if (unlikely(c->seg->type == SEG_SEND_INV && c->flags & SEG_F_END))
			return resp_exec_inv(c);
		return RESP_COMPLETE;
	case -EFAULT:
		xp_why_recv(c->qp, c->qp->resp.off, c->len);
		return resp_rem_op(c, WC_LOC_PROT_ERR);
	default:
		return RESP_DONE;
	}
}

static enum resp_step resp_exec_write(struct resp_ctx *c)
{
	struct iovec iov = { c->addr, c->len };
	int rc;

	if (unlikely(qp_shaken(c->qp)) && c->flags & SEG_F_END && c->len)
		rc = xp_place_shaken(c->qp, c->seg, c->cut, c->qp->resp.off, &iov, 1, c->len);
	else
		rc = xp_place(c->seg, c->cut, &iov, 1, c->len);
	switch (rc) {
	case 0:
		return RESP_COMPLETE;
	case -EFAULT:
		return resp_mem_gone(c);
	default:
		return RESP_DONE;
	}
}

/*
 * Advances PSN and MSN for a READ, atomic, ATOMIC WRITE or FLUSH and queues its response. Queued
 * responses are sent in PSN order.
 */
static noinline enum resp_step resp_exec_rd(struct resp_ctx *c, struct resp_res *res,
					    uint32_t npkts)
{
	struct qp *qp = c->qp;

	qp->card->epsn = psn_add(c->psn, npkts);
	qp->card->msn = psn_add(qp->card->msn, 1);
	res->msn = qp->card->msn;
	resp_queue(qp, res);
	if (unlikely(qp_shaken(qp)) && c->seg->type == SEG_READ_REQ && shake_ops->read(qp))
		return RESP_DONE;
	resp_output(qp, c->from);
	return RESP_DONE;
}

/* Adds an entry to the replay list, in place of the oldest. */
static void replay_push(struct qp *qp, const struct resp_replay *e)
{
	struct qp_resp *r = &qp->resp;

	r->replay[r->replay_next] = *e;
	r->replay_next = (uint8_t)((r->replay_next + 1u) & (r->rd_size - 1u));
}

/* The latest replay entry of psn (older ones may be from before a PSN wrap); NULL: none. */
static const struct resp_replay *replay_find(const struct qp *qp, uint32_t psn, bool atomic)
{
	const struct qp_resp *r = &qp->resp;

	for (uint32_t i = 1; i <= r->rd_size; i++) {
		const struct resp_replay *e = &r->replay[(r->replay_next - i) & (r->rd_size - 1u)];
		bool is_atomic = e->len == REPLAY_ATOMIC;
		uint32_t npkts = is_atomic ? 1 : seg_pkts(e->len, 1u << qp->req.mtu_shift);

		if (e->psn <= PSN_MASK && psn_off(psn, e->psn) < npkts)
			return is_atomic == atomic ? e : NULL;
	}
	return NULL;
}

static void resp_read_res(const struct resp_ctx *c, struct resp_res *res)
{
	*res = (struct resp_res){
		.type = SEG_READ_RESP,
		.va = c->seg->va,
		.rkey = c->seg->rkey,
		.psn = c->psn,
		.len = c->seg->dma_len,
	};
}

static noinline enum resp_step resp_exec_atomic(struct resp_ctx *c)
{
	const struct seg *seg = c->seg;
	struct resp_res res = { .type = SEG_ATOMIC_ACK, .psn = c->psn };
	int rc;

	check_placed(c->addr, sizeof(uint64_t));
	if (unlikely((uintptr_t)c->addr & 7)) {
		xp_why(c->qp, ATOMIC_ALIGN, (uintptr_t)c->addr);
		return resp_inv_req(c, WC_REM_INV_REQ_ERR);
	}
	if (seg->type == SEG_CMP_SWP)
		rc = umem_cmp_swp(c->addr, seg->compare, seg->swap_add, &res.va);
	else
		rc = umem_fetch_add(c->addr, seg->swap_add, &res.va);
	if (unlikely(rc))
		return resp_mem_gone(c);
	replay_push(c->qp, &(struct resp_replay){ .va = res.va, .psn = c->psn,
						  .len = REPLAY_ATOMIC });
	return resp_exec_rd(c, &res, 1);
}

/* An atomic store of 8 bytes. */
static noinline enum resp_step resp_exec_atomic_write(struct resp_ctx *c)
{
	struct resp_res res = { .type = SEG_READ_RESP, .psn = c->psn };
	uint64_t v;
	struct iovec iov = { &v, sizeof(v) };

	if (unlikely((uintptr_t)c->addr & 7)) {
		xp_why(c->qp, ATOMIC_ALIGN, (uintptr_t)c->addr);
		return resp_inv_req(c, WC_REM_INV_REQ_ERR);
	}
	if (unlikely(xp_place(c->seg, 0, &iov, 1, sizeof(v))))
		return RESP_DONE;
	check_placed(c->addr, sizeof(v));
	if (unlikely(umem_store64(c->addr, v)))
		return resp_mem_gone(c);
	return resp_exec_rd(c, &res, 1);
}

/*
 * The data of earlier requests has already been stored, by this process or by a peer on the same
 * host (direct placement). So a barrier makes it globally visible. No memory is persistent here, so
 * no key permits a persistent flush (kernel: only for pmem).
 */
static noinline enum resp_step resp_exec_flush(struct resp_ctx *c)
{
	struct resp_res res = { .type = SEG_READ_RESP, .psn = c->psn };

	smp_mb();
	return resp_exec_rd(c, &res, 1);
}

HOT enum resp_step resp_execute(struct resp_ctx *c)
{
	struct resp_res res;

	if (resp_is_send(c))
		return resp_exec_send(c);
	if (resp_is_write(c))
		return resp_exec_write(c);
	if (unlikely(c->seg->type == SEG_ATOMIC_WRITE))
		return resp_exec_atomic_write(c);
	if (unlikely(c->seg->type == SEG_FLUSH))
		return resp_exec_flush(c);
	if (c->seg->type != SEG_READ_REQ)
		return resp_exec_atomic(c);
	resp_read_res(c, &res);
	replay_push(c->qp, &(struct resp_replay){ .va = res.va, .psn = c->psn, .len = res.len,
						  .rkey = res.rkey });
	return resp_exec_rd(c, &res, seg_pkts(res.len, 1u << c->qp->req.mtu_shift));
}

/* Completes the receive WQE of the message (qp_resp.have_wqe). A full CQ fails the QP. */
static void resp_recv_complete(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct qp_resp *r = &qp->resp;
	struct ib_uverbs_wc *wc = recv_wc(qp, r->off);

	if (unlikely(!wc))
		return;
	r->recv_at = (uint32_t)(c->now >> RECV_AT_SHIFT);
	wc->opcode = c->seg->type == SEG_WRITE_IMM ? WC_OP_RECV_RDMA_WITH_IMM : WC_OP_RECV;
	wc->wc_flags = WC_FLAG_GRH;
	if (c->seg->type != SEG_SEND) {
		/*
		 * ex.imm_data and ex.invalidate_rkey share memory in a union, so this sets either.
		 */
		wc->wc_flags |= c->seg->type == SEG_SEND_INV ? WC_FLAG_INV : WC_FLAG_IMM;
		wc->ex.imm_data = c->seg->imm;
	}
	if (c->flags & SEG_F_ACKREQ)
		resp_answer(qp, c->from, psn_add(c->psn, c->npkts - 1), AETH_ACK_UNLIMITED);
	cq_publish(qp->recv_cq, c->flags & SEG_F_SOLICITED);
}

/* Updates PSN and MSN, then sends the ACK, then publishes the completion. */
HOT enum resp_step resp_complete(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	struct qp_resp *r = &qp->resp;

	qp->card->epsn = psn_add(c->psn, c->npkts);
	r->off += c->len;
	if (resp_is_write(c)) {
		r->va += c->len;
		r->resid -= c->len;
	}
	if (!(c->flags & SEG_F_END)) {
		r->msg = resp_is_send(c) ? RESP_MSG_SEND : RESP_MSG_WRITE;
		if (c->rnr_next)
			return RESP_RNR;
	} else {
		r->msg = RESP_MSG_NONE;
		qp->card->msn = psn_add(qp->card->msn, 1);
		if (c->seg->type != SEG_WRITE) {
			resp_recv_complete(c);
			return RESP_DONE;
		}
	}
	if (c->flags & SEG_F_ACKREQ)
		resp_answer_late(qp, c->from, psn_add(c->psn, c->npkts - 1));
	return RESP_DONE;
}

/*
 * A duplicate READ is executed again if it begins within a READ in the replay list. If it extends
 * beyond the end of that READ, the response is cut there. Other duplicate READs are dropped, as in
 * kernel rxe ("class D error"); a correct requester does not send them.
 */
static enum resp_step resp_dup_read(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	const struct resp_replay *e = replay_find(qp, c->psn, false);
	uint32_t left;
	struct resp_res res;

	resp_read_res(c, &res);
	if (!e || res.rkey != e->rkey || res.va < e->va || res.va - e->va > e->len)
		return RESP_DONE;
	left = e->len - (uint32_t)(res.va - e->va);
	res.len = min(res.len, left);
	if (!(qp->attr.access & IB_UVERBS_ACCESS_REMOTE_READ)) {
		xp_why(qp, QP_ACCESS, qp->attr.access, IB_UVERBS_ACCESS_REMOTE_READ);
		return resp_inv_req(c, WC_REM_INV_REQ_ERR);
	}
	if (res.len && mr_check(qp->dev, qp->pd->id, qp->qpn, res.rkey, res.va, res.len,
				IB_UVERBS_ACCESS_REMOTE_READ, &c->addr) != MR_OK) {
		xp_why_key(qp, res.rkey, res.va, res.len, IB_UVERBS_ACCESS_REMOTE_READ);
		return resp_rem_acc(c);
	}
	res.msn = qp->card->msn;
	res.dup = true;
	resp_queue(qp, &res);
	resp_output(qp, c->from);
	return RESP_DONE;
}

static enum resp_step resp_dup_atomic(struct resp_ctx *c)
{
	const struct resp_replay *e = replay_find(c->qp, c->psn, true);
	struct resp_res res = {
		.type = SEG_ATOMIC_ACK,
		.psn = c->psn,
		.msn = c->qp->card->msn,
		.dup = true,
	};

	if (!e)
		return RESP_DONE;
	res.va = e->va;
	resp_queue(c->qp, &res);
	resp_output(c->qp, c->from);
	return RESP_DONE;
}

/* ATOMIC WRITE and FLUSH are not executed twice (oA19-14, oA19-15); the answer is empty. */
static enum resp_step resp_dup_empty(struct resp_ctx *c)
{
	struct resp_res res = {
		.type = SEG_READ_RESP,
		.psn = c->psn,
		.msn = c->qp->card->msn,
		.dup = true,
	};

	resp_queue(c->qp, &res);
	resp_output(c->qp, c->from);
	return RESP_DONE;
}

/*
 * Handles a duplicate request (IBA 9.7.5.1.3). A SEND or WRITE is acknowledged again, with the PSN
 * of its own last packet. A later PSN would also acknowledge the requests in between, and one of
 * these may be a READ whose response the requester still awaits. A READ is executed again; an
 * atomic is answered from the replay list.
 */
noinline enum resp_step resp_duplicate(struct resp_ctx *c)
{
	if (resp_is_send(c) || resp_is_write(c)) {
		if (c->flags & SEG_F_ACKREQ)
			resp_answer(c->qp, c->from, psn_add(c->psn, c->npkts - 1),
				    AETH_ACK_UNLIMITED);
		return RESP_DONE;
	}
	if (c->seg->type == SEG_ATOMIC_WRITE || c->seg->type == SEG_FLUSH)
		return resp_dup_empty(c);
	return c->seg->type == SEG_READ_REQ ? resp_dup_read(c) : resp_dup_atomic(c);
}
