/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posts to a device that is like an adapter: the user VERBS_CREDITS of verbs/verbs.h. Before librxe looks for room in a send
 * queue, the slots are freed whose completions the program has polled (core/credits.h). What librxe refuses gets the
 * adapter's errno, and what the adapter does not have is refused. Without --like nothing is wrapped.
 */
#include <errno.h>
#include "core/credits.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/postone.h"
#include "verbs/verbs.h"

static struct verbs_ops likewrap_next;
/* engine.like; a forked child keeps it for the QPs of its parent. */
static struct like likewrap_like;

/* What the adapter returns for this errno of a member of struct like. */
static int likewrap_errno(uint64_t member)
{
	return (int)(int64_t)member;
}

/* Takes the engine lock and returns the QP. NULL, and no lock, for a QP of the process that this one was forked from. */
static struct qp *likewrap_lock(uint32_t qpn)
{
	struct qp *qp;

	engine_check_fork();
	if (!engine.attached || !engine_lock())
		return NULL;
	qp = engine_qp(qpn);
	if (!qp)
		engine_unlock();
	return qp;
}

static void likewrap_return(uint32_t qpn)
{
	struct qp *qp = likewrap_lock(qpn);

	if (!qp)
		return;
	credits_return(qp->send_cq);
	engine_unlock();
}

/* Why librxe has refused a work request. WHY_NONE: it is not known, or the command has failed. */
static enum why_id likewrap_why(uint32_t qpn, const struct ibv_send_wr *wr)
{
	struct why why = { .id = WHY_NONE };
	struct qp *qp = likewrap_lock(qpn);

	if (!qp)
		return WHY_NONE;
	verbs_why_send(qp, wr, &why);
	engine_unlock();
	return why.id;
}

static int likewrap_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const struct like *l = &likewrap_like;
	int ret = likewrap_next.post_send(qp, wr, bad);

	if (likely(!ret) || !bad || !*bad)
		return ret;
	switch (likewrap_why(qp->qp_num, *bad)) {
	case WHY_POST_SGES:
		return likewrap_errno(l->e_send_sge);
	case WHY_POST_INLINE:
		return likewrap_errno(l->e_send_inline);
	case WHY_POST_CREDITS:
	case WHY_POST_FULL:
		return likewrap_errno(l->e_send_full);
	case WHY_POST_ATOMIC:
		return likewrap_errno(l->e_send_atomic);
	default:
		return ret;
	}
}

/* The work requests before one that the adapter does not have are posted. */
static int likewrap_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr *lacks = wr;
	int ret = 0;

	likewrap_return(qp->qp_num);
	while (lacks && verbs_lacks(&likewrap_like, lacks) < 0)
		lacks = lacks->next;
	if (likely(!lacks) || !bad)
		return likewrap_post(qp, wr, bad);
	for (; wr != lacks && !ret; wr = wr->next)
		ret = postone_send(likewrap_post, qp, wr, bad);
	if (ret)
		return ret;
	*bad = lacks;
	return likewrap_errno(likewrap_like.e_send_opcode);
}

/* librxe's function for memory windows of type 1 does not call the one that posts a list. */
static int likewrap_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int ret;

	if (like_lacks(&likewrap_like, LIKE_NO_BIND_MW))
		return likewrap_errno(likewrap_like.e_send_opcode);
	likewrap_return(qp->qp_num);
	ret = likewrap_next.bind_mw(qp, mw, bind);
	return ret == ENOMEM ? likewrap_errno(likewrap_like.e_send_full) : ret;
}

/* How many work requests the receive queue takes: the ring may have room for more than the queue. */
static uint32_t likewrap_room(uint32_t qpn)
{
	uint32_t room = UINT32_MAX, n;
	struct qp *qp;

	if (likewrap_like.driver == LIKE_RXE)
		return room;
	qp = likewrap_lock(qpn);
	if (!qp)
		return room;
	if (!qp->srq) {
		n = ring_count(&qp->rq);
		room = qp->max_recv_wr - min(n, qp->max_recv_wr);
	}
	engine_unlock();
	return room;
}

/* bad is NULL if librxe has looked at no work request: the QP is in RESET. */
static int likewrap_recv_errno(int ret, const struct ibv_recv_wr *bad, uint64_t full, uint64_t sge)
{
	return ret == ENOMEM	    ? likewrap_errno(full) :
	       ret == EINVAL && bad ? likewrap_errno(sge) :
				      ret;
}

static int likewrap_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr *rest = wr;
	int ret = 0;

	for (uint32_t room = likewrap_room(qp->qp_num); rest && room; room--)
		rest = rest->next;
	if (!rest || !bad)
		ret = likewrap_next.post_recv(qp, wr, bad);
	for (; rest && bad && wr != rest && !ret; wr = wr->next)
		ret = postone_recv(&likewrap_next, qp, NULL, wr, bad);
	if (!ret && rest && bad) {
		*bad = rest;
		ret = ENOMEM;
	}
	if (likely(!ret) || !bad)
		return ret;
	return likewrap_recv_errno(ret, *bad, likewrap_like.e_recv_full, likewrap_like.e_recv_sge);
}

static int likewrap_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret = likewrap_next.post_srq_recv(srq, wr, bad);

	if (likely(!ret) || !bad)
		return ret;
	return likewrap_recv_errno(ret, *bad, likewrap_like.e_srq_recv_full,
				   likewrap_like.e_srq_recv_sge);
}

/*
 * Work requests of ibv_wr_start() to ibv_wr_complete(), during which the thread holds librxe's lock of the queue. One that
 * the adapter does not have is built all the same, so that the functions that set its data find it, and is not posted. A
 * thread may have started several QPs; of more than LIKEWRAP_STARTED with such a work request one is forgotten.
 */
#define LIKEWRAP_STARTED 8
static __thread struct {
	const struct ibv_qp_ex *qp[LIKEWRAP_STARTED];	/* with such a work request; NULL: free */
	int lacks[LIKEWRAP_STARTED];			/* enum like_missing */
	int refused;		/* that of the last ibv_wr_complete(); -1: none */
} likewrap_wr __attribute__((tls_model("initial-exec"))) = { .refused = -1 };

/* The index of the QP, or of a free entry. */
static int likewrap_wr_at(const struct ibv_qp_ex *qp)
{
	int at = 0;

	for (int i = 0; i < LIKEWRAP_STARTED; i++) {
		if (likewrap_wr.qp[i] == qp)
			return i;
		if (!likewrap_wr.qp[i])
			at = i;
	}
	return at;
}

static void likewrap_wr_start(struct ibv_qp_ex *qp)
{
	int at = likewrap_wr_at(qp);

	likewrap_return(qp->qp_base.qp_num);
	if (likewrap_wr.qp[at] == qp)
		likewrap_wr.qp[at] = NULL;
	likewrap_next.wr_start(qp);
}

static void likewrap_wr_needs(const struct ibv_qp_ex *qp, enum like_missing what)
{
	int at = likewrap_wr_at(qp);

	if (!like_lacks(&likewrap_like, what))
		return;
	likewrap_wr.qp[at] = qp;
	likewrap_wr.lacks[at] = (int)what;
}

static void likewrap_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			     uint64_t swap)
{
	likewrap_wr_needs(qp, LIKE_NO_ATOMIC);
	likewrap_next.wr_atomic_cmp_swp(qp, rkey, addr, compare, swap);
}

static void likewrap_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	likewrap_wr_needs(qp, LIKE_NO_ATOMIC);
	likewrap_next.wr_atomic_fetch_add(qp, rkey, addr, add);
}

static void likewrap_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
			     const struct ibv_mw_bind_info *info)
{
	likewrap_wr_needs(qp, LIKE_NO_BIND_MW);
	likewrap_next.wr_bind_mw(qp, mw, rkey, info);
}

static void likewrap_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	likewrap_wr_needs(qp, LIKE_NO_LOCAL_INV);
	likewrap_next.wr_local_inv(qp, rkey);
}

/* librxe has one errno, ENOSPC, for all that it refuses; adapters that of a full queue. */
static int likewrap_wr_complete(struct ibv_qp_ex *qp)
{
	int ret, at = likewrap_wr_at(qp);

	likewrap_wr.refused = -1;
	if (unlikely(likewrap_wr.qp[at] == qp)) {
		likewrap_wr.qp[at] = NULL;
		likewrap_wr.refused = likewrap_wr.lacks[at];
		qp->wr_abort(qp);
		return likewrap_errno(likewrap_like.e_send_opcode);
	}
	ret = likewrap_next.wr_complete(qp);
	return ret == ENOSPC ? likewrap_errno(likewrap_like.e_send_full) : ret;
}

int likewrap_lacked(void)
{
	return likewrap_wr.refused;
}

static bool likewrap_used;

int likewrap_full(void)
{
	return likewrap_used ? likewrap_errno(likewrap_like.e_send_full) : 0;
}

void likewrap_use(bool wanted)
{
	static const struct verbs_ops ops = {
		.post_send = likewrap_send,
		.bind_mw = likewrap_bind,
		.post_recv = likewrap_recv,
		.post_srq_recv = likewrap_srq_recv,
		.wr_start = likewrap_wr_start,
		.wr_atomic_cmp_swp = likewrap_cmp_swp,
		.wr_atomic_fetch_add = likewrap_fetch_add,
		.wr_bind_mw = likewrap_bind_mw,
		.wr_local_inv = likewrap_local_inv,
		.wr_complete = likewrap_wr_complete,
	};

	likewrap_used = wanted;
	likewrap_like = engine.like;
	verbs_use(VERBS_CREDITS, wanted ? &ops : NULL, &likewrap_next);
}
