/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work requests that librxe refuses by itself, without a command: a full queue, too many scatter/gather entries. With
 * RUSE_EXPLAIN=1 the operations that post are wrapped (the user VERBS_EXPLAIN of verbs/verbs.h) by functions that log why a
 * call has failed.
 */
#include <errno.h>
#include <string.h>
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "verbs/verbs.h"

static struct verbs_ops postwrap_next;

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

/* How many work requests the receive queue takes. rxe: as many as the ring. */
static uint32_t postwrap_room(const struct qp *qp)
{
	return qp->dev->like->driver == LIKE_RXE ? ring_capacity(&qp->rq) : qp->max_recv_wr;
}

static void postwrap_find(const struct postwrap_refused *p, struct rdev **dev, struct why_rec *rec)
{
	const struct qp *qp = p->srq ? NULL : engine_qp(p->qpn);
	const struct srq *srq = p->srq ? postwrap_srq(p->srq, dev) : NULL;

	if (qp)
		*dev = qp->dev;
	if (srq)
		verbs_why_recv(&srq->rq, ring_capacity(&srq->rq), srq->max_sge, 2, p->recv,
			       &rec->why);
	else if (qp && p->send)
		verbs_why_send(qp, p->send, &rec->why);
	else if (qp && p->recv && !qp->srq)
		verbs_why_recv(&qp->rq, postwrap_room(qp), qp->max_recv_sge, 1, p->recv, &rec->why);
	else if (qp && !p->recv && likewrap_lacked() >= 0)
		why_set(&rec->why, DEV_LACKS, (uint32_t)likewrap_lacked());
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
	int ret = postwrap_next.post_send(qp, wr, bad);

	if (unlikely(ret) && bad && *bad)
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_post_send", .ret = ret,
							     .qpn = qp->qp_num, .send = *bad });
	return ret;
}

static int postwrap_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = postwrap_next.post_recv(qp, wr, bad);

	if (unlikely(ret) && bad && *bad)
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_post_recv", .ret = ret,
							     .qpn = qp->qp_num, .recv = *bad });
	return ret;
}

static int postwrap_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = postwrap_next.post_srq_recv(srq, wr, bad);

	if (unlikely(ret) && bad && *bad)
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_post_srq_recv", .ret = ret,
							     .recv = *bad, .srq = srq });
	return ret;
}

/* librxe's checks give ENOSPC, or what likewrap.c makes of it. Another error is that of POST_SEND, which is logged already. */
static int postwrap_wr_complete(struct ibv_qp_ex *qp)
{
	int ret = postwrap_next.wr_complete(qp);

	if (unlikely(ret && (ret == ENOSPC || ret == likewrap_full() || likewrap_lacked() >= 0)))
		postwrap_refused(&(struct postwrap_refused){ .call = "ibv_wr_complete", .ret = ret,
							     .qpn = qp->qp_base.qp_num });
	return ret;
}

void postwrap_use(bool wanted)
{
	static const struct verbs_ops ops = {
		.post_send = postwrap_send,
		.post_recv = postwrap_recv,
		.post_srq_recv = postwrap_srq_recv,
		.wr_complete = postwrap_wr_complete,
	};

	verbs_use(VERBS_EXPLAIN, wanted ? &ops : NULL, &postwrap_next);
}
