/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work requests that librxe refuses by itself, without a command: a full queue, too many scatter/gather entries. With
 * RUSE_EXPLAIN=1 the post operations of struct ibv_context.ops, and wr_complete of struct ibv_qp_ex, are replaced by
 * functions that call those of librxe and log why a call has failed. Without it nothing is replaced.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"

static int (*real_post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int (*real_post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
static int (*real_post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
				 struct ibv_recv_wr **bad);
static int (*real_wr_complete)(struct ibv_qp_ex *qp);

static struct qp *postwrap_qp(uint32_t qpn)
{
	struct edev *e;
	struct qp *qp;

	list_for_each_entry(e, &engine.devs, entry) {
		qp = rdev_find_qp(&e->dev, qpn);
		if (qp)
			return qp;
	}
	return NULL;
}

static bool postwrap_is_atomic(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* The checks of librxe's validate_send_wr() and post_one_send(). */
static void postwrap_why_send(const struct qp *qp, const struct ibv_send_wr *wr, struct why *why)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge && (uint32_t)wr->num_sge <= qp->max_send_sge; i++)
		length += wr->sg_list[i].length;
	if ((uint32_t)wr->num_sge > qp->max_send_sge)
		why_set(why, POST_SGES, (uint32_t)wr->num_sge, qp->max_send_sge, 0);
	else if (postwrap_is_atomic(wr) && (length < 8 || wr->wr.atomic.remote_addr & 7))
		why_set(why, POST_ATOMIC, length, wr->wr.atomic.remote_addr);
	else if (wr->send_flags & IBV_SEND_INLINE && length > qp->max_inline)
		why_set(why, POST_INLINE, length, qp->max_inline);
	else if (ring_count(&qp->sq) >= ring_capacity(&qp->sq))
		why_set(why, POST_FULL, ring_count(&qp->sq), ring_capacity(&qp->sq), 0);
}

/* which: 1: the receive queue of a QP, 2: an SRQ, as in the texts of why.def. */
static void postwrap_why_recv(const struct ring *r, uint32_t max_sge, uint32_t which,
			      const struct ibv_recv_wr *wr, struct why *why)
{
	if ((uint32_t)wr->num_sge > max_sge)
		why_set(why, POST_SGES, (uint32_t)wr->num_sge, max_sge, which);
	else if (ring_count(r) >= ring_capacity(r))
		why_set(why, POST_FULL, ring_count(r), ring_capacity(r), which);
}

/* The SRQ at this address in the program, found by a QP that uses it. */
static const struct srq *postwrap_srq(const struct ibv_srq *vsrq, struct rdev **dev)
{
	struct edev *e;
	struct qp *qp;

	list_for_each_entry(e, &engine.devs, entry)
		for (uint32_t b = 0; b < e->dev.nblocks; b++)
			for (uint32_t i = 0; (qp = idtable_next(&e->dev.blocks[b].qps, &i)); i++)
				if (qp->srq && qp->srq->async.user_handle == (uintptr_t)vsrq) {
					*dev = &e->dev;
					return qp->srq;
				}
	return NULL;
}

/* What was refused: a work request of the send or receive queue, or those of ibv_wr_complete(). */
struct postwrap_refused {
	const char *call;
	int ret;
	uint32_t qpn;			/* 0: an SRQ */
	const struct ibv_send_wr *send;
	const struct ibv_recv_wr *recv;
	const struct ibv_srq *srq;
};

static void postwrap_find(const struct postwrap_refused *p, struct rdev **dev, struct why_rec *rec)
{
	const struct qp *qp = p->srq ? NULL : postwrap_qp(p->qpn);
	const struct srq *srq = p->srq ? postwrap_srq(p->srq, dev) : NULL;

	if (qp)
		*dev = qp->dev;
	if (srq)
		postwrap_why_recv(&srq->rq, srq->max_sge, 2, p->recv, &rec->why);
	else if (qp && p->send)
		postwrap_why_send(qp, p->send, &rec->why);
	else if (qp && p->recv && !qp->srq)
		postwrap_why_recv(&qp->rq, qp->max_recv_sge, 1, p->recv, &rec->why);
	else if (qp && !p->recv)
		why_set(&rec->why, POST_WR, qp->max_send_sge, qp->max_inline,
			ring_count(&qp->sq), ring_capacity(&qp->sq));
}

static noinline __cold void postwrap_refused(const struct postwrap_refused *p)
{
	struct why_rec rec = { .qpn = p->qpn, .error = (uint16_t)(p->ret < 0 ? -p->ret : p->ret) };
	struct rdev *dev = NULL;

	why_set(&rec.why, COMMAND, rec.error);
	strncpy(rec.call, p->call, sizeof(rec.call) - 1);
	engine_check_fork();
	if (!engine.attached || !engine_lock())
		return;
	postwrap_find(p, &dev, &rec);
	engine_unlock();
	explain_failed(dev, &rec);
}

/* If librxe names no bad work request, the command POST_SEND has failed, which is logged already. */
static int postwrap_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int ret = real_post_send(qp, wr, bad);

	if (unlikely(ret) && bad && *bad)
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_post_send", .ret = ret,
							     .qpn = qp->qp_num, .send = *bad });
	return ret;
}

static int postwrap_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = real_post_recv(qp, wr, bad);

	if (unlikely(ret) && bad && *bad)
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_post_recv", .ret = ret,
							     .qpn = qp->qp_num, .recv = *bad });
	return ret;
}

static int postwrap_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = real_post_srq_recv(srq, wr, bad);

	if (unlikely(ret) && bad && *bad)
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_post_srq_recv", .ret = ret,
							     .recv = *bad, .srq = srq });
	return ret;
}

/* librxe's checks give ENOSPC. Another error is that of the command POST_SEND, which is logged already. */
static int postwrap_wr_complete(struct ibv_qp_ex *qp)
{
	int ret = real_wr_complete(qp);

	if (unlikely(ret == ENOSPC))
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_wr_complete", .ret = ret,
							     .qpn = qp->qp_base.qp_num });
	return ret;
}

void postwrap_qp_ex(struct ibv_qp_ex *qp)
{
	int (*fn)(struct ibv_qp_ex *);

	/* librxe allocates every QP as ibv_qp_ex; wr_complete is NULL in a plain one. */
	if (!engine.explain || umem_copy(&fn, &qp->wr_complete, sizeof(fn)) || !fn ||
	    fn == postwrap_wr_complete || (real_wr_complete && real_wr_complete != fn) ||
	    !pollwrap_in_librxe((void *)fn))
		return;
	real_wr_complete = fn;
	fn = postwrap_wr_complete;
	umem_copy(&qp->wr_complete, &fn, sizeof(fn));
}

void postwrap_context(struct ibv_context *ctx)
{
	struct ibv_context_ops ops;

	if (!engine.explain || umem_copy(&ops, &ctx->ops, sizeof(ops)) ||
	    ops.post_send == postwrap_send || !pollwrap_in_librxe((void *)ops.post_send) ||
	    !pollwrap_in_librxe((void *)ops.post_recv) ||
	    !pollwrap_in_librxe((void *)ops.post_srq_recv) ||
	    (real_post_send && real_post_send != ops.post_send))
		return;
	real_post_send = ops.post_send;
	real_post_recv = ops.post_recv;
	real_post_srq_recv = ops.post_srq_recv;
	ops.post_send = postwrap_send;
	ops.post_recv = postwrap_recv;
	ops.post_srq_recv = postwrap_srq_recv;
	umem_copy(&ctx->ops.post_send, &ops.post_send, sizeof(ops.post_send));
	umem_copy(&ctx->ops.post_recv, &ops.post_recv, sizeof(ops.post_recv));
	umem_copy(&ctx->ops.post_srq_recv, &ops.post_srq_recv, sizeof(ops.post_srq_recv));
}
