/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport's entry points: creation, reset and destruction of a QP's transport state;
 * doorbells, received segments, state changes. The work is done elsewhere: req.c sends,
 * comp.c handles responses, resp.c requests, timer.c counts attempts, flush.c fails a QP.
 */
#include <stdlib.h>
#include <string.h>
#include "core/credits.h"
#include "base/pool.h"
#include "shared/barrier.h"
#include "wire/pkey.h"
#include "xport/shaken.h"
#include "xport/traffic.h"
#include "xport/why.h"
#include "xport/window.h"
#include "xport/xport_internal.h"

/* Initial number of struct req_wqe of a QP: enough for ping-pong traffic. */
#define WQES_FIRST 8u

/* How many times xp_settle() waits for room in the link. */
#define SETTLE_TRIES 8

/*
 * Sends queued answers; a function of its own to keep xp_output() short. False: a peer is stopped with the card's lock.
 */
static noinline bool xp_output_owed(struct qp *qp)
{
	if (unlikely(!card_lock(qp->card, CARD_OWNER)))
		return false;
	resp_output(qp, qp->resp.from);
	qp->card->busy = resp_busy(qp);
	card_unlock(qp->card);
	return true;
}

/*
 * An ACK may still wait for room in the link when the program has seen the completion of the
 * message and destroys the QP or exits. Without the ACK the peer would repeat the message until its
 * retries are spent, or for ever (kernel rxe with retry count 7). An RDMA adapter avoids this: it
 * sends the ACK before the completion.
 */
void xp_settle(struct qp *qp)
{
	struct link *l = qp->resp.from;

	if (unlikely(qp_shaken(qp)))
		qp->shake->reads = false;
	for (int i = 0; unlikely(qp->resp.ack_due) && l && i < SETTLE_TRIES; i++) {
		if (!xp_output_owed(qp) || !qp->resp.ack_due)
			return;
		if (!l->ops->wait_room || !l->ops->wait_room(l))
			return;
	}
}

/* Resets the state to that of a new QP; keeps the allocations. */
static void xp_state_reset(struct qp *qp)
{
	struct qp_req *r = &qp->req;
	struct req_wqe *wqe = r->wqe;
	uint32_t wqe_mask = r->wqe_mask;
	struct qp_resp *p = &qp->resp, keep = *p;

	resp_set_from(qp, NULL);
	memset(r, 0, sizeof(*r));
	r->wqe = wqe;
	r->wqe_mask = wqe_mask;
	r->cur = r->tail = qp->sq.index;
	r->window = XP_WINDOW;
	r->ask_bytes = XP_ACK_BYTES;
	r->deadline = r->early = NS_NEVER;
	r->mtu_shift = 8;

	xp_fail_forget(qp);
	memset(p, 0, sizeof(*p));
	p->sge = keep.sge;
	p->res = keep.res;
	p->replay = keep.replay;
	p->rd_size = keep.rd_size;
	for (uint32_t i = 0; i < p->rd_size; i++)
		p->replay[i].psn = UINT32_MAX;
}

static size_t xp_recv_sge_size(const struct qp *qp)
{
	uint32_t n = qp->srq ? qp->srq->max_sge : qp->max_recv_sge;

	return max(n, 1u) * sizeof(struct rxe_sge);
}

int xp_init(struct qp *qp)
{
	uint32_t mask = min(qp->sq.mask, WQES_FIRST - 1);

	memset(&qp->req, 0, sizeof(qp->req));
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->req.wqe_mask = mask;
	qp->req.wqe = pool_alloc(((size_t)mask + 1) * sizeof(struct req_wqe));
	qp->resp.sge = pool_alloc(xp_recv_sge_size(qp));
	if (!qp->req.wqe || !qp->resp.sge) {
		xp_fini(qp);
		return -ENOMEM;
	}
	xp_state_reset(qp);
	return 0;
}

void xp_fini(struct qp *qp)
{
	xp_settle(qp);
	if (qp->link)
		qp->link->ops->revoke(qp->link, qp->qpn);
	resp_set_from(qp, NULL);
	pool_free(qp->req.wqe, ((size_t)qp->req.wqe_mask + 1) * sizeof(struct req_wqe));
	pool_free(qp->resp.sge, xp_recv_sge_size(qp));
	resp_rd_free(qp);
	memset(&qp->req, 0, sizeof(qp->req));
	memset(&qp->resp, 0, sizeof(qp->resp));
}

/*
 * Discards all WQEs in the send and receive queue without completions. The ring indices do not return to 0 (kernel:
 * rxe_qp_reset()). The number of WQEs is read once, since the program may post more at the same
 * time.
 */
static void xp_rings_forget(struct qp *qp)
{
	uint32_t n;

	for (n = qp->srq ? 0 : ring_count(&qp->rq); n; n--)
		ring_consume(&qp->rq);
	if (unlikely(qp_checked(qp)))
		check_ops->recv_forget(qp);
	for (n = ring_count(&qp->sq); n; n--)
		credits_consume(qp);
	credits_forget(qp);
	memset(qp->sq.buf->data, 0, qp->sq.buf_size - sizeof(struct rxe_queue_buf));
}

/*
 * Drops the send WQEs that the program has put into the send queue in state RESET, INIT or RTR. POST_SEND fails with
 * -EINVAL, so they must never be executed. librxe has already moved the producer index past them.
 */
static noinline __cold void xp_drop_sends(struct qp *qp)
{
	for (uint32_t n = ring_count(&qp->sq); n; n--)
		credits_consume(qp);
	credits_forget(qp);
	qp->req.cur = qp->req.tail = qp->sq.index;
}

/*
 * Copies state and attributes to the QP's card (queue/card.h), where peers on the same host read
 * them before they execute a WRITE or READ themselves (direct placement). The card's lock makes all
 * of them change at once for these peers. A peer that is stopped with the lock has made its checks, and will write epsn
 * and msn: they are not written here without the lock.
 */
static void xp_card_write(struct qp *qp, uint32_t mask)
{
	const uint32_t reads = IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	bool locked = qp_card_lock(qp, qp->state == QPS_RESET || mask & IB_QP_RQ_PSN);
	struct qp_card *c = qp->card;

	/* The responder refuses READs and atomics without resources (IBA 9.7.5.2.6). */
	c->access = qp->attr.access & (qp->attr.max_dest_rd_atomic ? UINT32_MAX : ~reads);
	c->dest_qpn = qp->attr.dest_qpn | (qp_is_v1(qp) ? CARD_V1 : 0);
	c->path_mtu = qp->attr.path_mtu;
	c->err = WHY_NONE;
	if (mask & IB_QP_RQ_PSN && locked) {
		c->epsn = qp->attr.rq_psn & PSN_MASK;
		c->msn = 0;
	}
	if (qp->state == QPS_RESET)
		c->busy = 0;
	/*
	 * Direct placement is for RC only, so the card (struct qp_card) of another QP type always
	 * has the state RESET.
	 */
	c->state = qp->type == QPT_RC ? qp->state : (uint32_t)QPS_RESET;
	if (locked)
		card_unlock(c);
}

/* Enters RESET. Peers' references are revoked before ring slots and buffers belong to the program again. */
static void xp_enter_reset(struct qp *qp, uint32_t mask)
{
	xp_settle(qp);
	if (qp->link)
		qp->link->ops->revoke(qp->link, qp->qpn);
	xp_card_write(qp, mask);
	if (unlikely(qp_shaken(qp)))
		shake_ops->forget(qp, true);
	xp_rings_forget(qp);
	xp_state_reset(qp);
	if (qp->link)
		qp->dev->ops->qp_disconnect(qp);
}

static void xp_modified_err(struct qp *qp)
{
	bool locked = qp_card_lock(qp, false);

	xp_fail(qp)->why.id = WHY_NONE;
	xp_enter_err(qp, true);
	if (locked)
		card_unlock(qp->card);
	xp_flush_sq(qp);
	xp_flush_rq(qp);
}

/* Called after qp_modify() has stored state and attributes. */
void xp_modified(struct qp *qp, enum qp_state old, uint32_t mask, ns_t now)
{
	struct qp_req *r = &qp->req;

	switch ((enum qp_state)qp->state) {
	case QPS_RESET:
		xp_enter_reset(qp, mask);
		return;
	case QPS_ERR:
		if (old == QPS_ERR)
			return;
		xp_modified_err(qp);
		return;
	case QPS_INIT:
	case QPS_RTR:
	case QPS_RTS:
	case QPS_SQD:
	case QPS_SQE:
	case QPS_COUNT:
		break;
	}
	if (mask & IB_QP_SQ_PSN)
		r->psn = r->una = r->nxt = qp->attr.sq_psn & PSN_MASK;
	/* UD: 4096, so that a datagram is always one packet. */
	r->mtu_shift = qp->type == QPT_UD ? 12 : (uint8_t)ilog2(qp->attr.path_mtu);
	xp_timer_config(qp);
	if (mask & IB_QP_AV)
		win_reset(qp);
	xp_traffic(qp, qp->link);
	xp_card_write(qp, mask);
	xp_run(qp, now);
}

HOT int xp_output(struct qp *qp, ns_t now)
{
	if (unlikely(resp_owes(qp)))
		xp_output_owed(qp);
	if (likely(xp_sends(qp))) {
		xp_run(qp, now);
		return 0;
	}
	if (qp->state < QPS_RTS) {
		xp_drop_sends(qp);
		return -EINVAL;
	}
	xp_flush_sq(qp);
	return 0;
}

/* True if the QP does not admit this P_Key. Counts the packet in bad_pkeys. */
static noinline bool xp_other_pkey(struct qp *qp, uint16_t pkey, const struct link *from)
{
	uint16_t ours = xp_pkey(qp);

	if (pkey_admits(ours, pkey) || (pkey == PKEY_NONE && from->kind == LINK_SHM))
		return false;
	if (ours == PKEY_ROCE_V1 || pkey == PKEY_ROCE_V1) {
		if (qp->state < QPS_RTR)
			xp_drop_state(qp);
		else
			xp_drop(qp, DROP_ROCE, qp->attr.dest_qpn, qp_is_v1(qp));
		return true;
	}
	qp->dev->bad_pkeys++;
	xp_drop(qp, DROP_PKEY, pkey, ours);
	return true;
}

static noinline void unrel_input(struct qp *qp, const struct seg *seg)
{
	qp->dev->counter[CNT_RCVD_PKTS] += seg->npkts;
	if (qp->type == QPT_UD)
		ud_input(qp, seg);
	else if (!seg->sqpn || seg->sqpn == qp->attr.dest_qpn || qp->state < QPS_RTR)
		uc_input(qp, seg);
	else
		xp_drop(qp, DROP_STRANGER, seg->sqpn, qp->attr.dest_qpn);
}

static inline __attribute__((always_inline)) void xp_take(struct qp *qp, const struct seg *seg,
							  struct link *from, ns_t now)
{
	if (unlikely(qp->type != QPT_RC)) {
		unrel_input(qp, seg);
		return;
	}
	if (unlikely(seg->type >= SEG_NTYPES || seg->service != SEG_RC))
		return;
	/* Drop a segment from a QP other than the one that this QP is connected to. */
	if (unlikely(seg->sqpn && seg->sqpn != qp->attr.dest_qpn)) {
		if (qp->state < QPS_RTR)
			xp_drop_state(qp);
		else
			xp_drop(qp, DROP_STRANGER, seg->sqpn, qp->attr.dest_qpn);
		return;
	}
	qp->dev->counter[CNT_RCVD_PKTS] += seg->type == SEG_READ_REQ ? 1 : seg->npkts;
	if (seg_is_answer(seg))
		comp_input(qp, seg, now);
	else
		resp_input(qp, seg, from, now);
}

/* The answers that `ruse run --shake` has let wait may be sent: send them before the next request is executed. */
static void xp_shaken_answers(struct qp *qp)
{
	if (!qp->shake->reads && resp_owes(qp))
		xp_output_owed(qp);
}

/* shake_replay */
static void xp_replay(struct qp *qp, const struct seg *seg, struct link *from, ns_t now)
{
	xp_shaken_answers(qp);
	xp_take(qp, seg, from, now);
}

/* Does `ruse run --shake` keep the segment, or lose it? */
static noinline __cold bool xp_shakes(struct qp *qp, const struct seg *seg, struct link *from,
				      ns_t now)
{
	bool taken = shake_ops->input(qp, seg, from, now, xp_replay);

	xp_shaken_answers(qp);
	return taken;
}

HOT void xp_input(struct qp *qp, const struct seg *seg, struct link *from, ns_t now)
{
	if (unlikely(seg->pkey != xp_pkey(qp) && xp_other_pkey(qp, seg->pkey, from)))
		return;
	if (unlikely(qp_shaken(qp)) && xp_shakes(qp, seg, from, now))
		return;
	xp_take(qp, seg, from, now);
}

void xp_shaken_due(struct qp *qp, ns_t now)
{
	shake_ops->due(qp, now, xp_replay);
	xp_shaken_answers(qp);
	if (xp_sends(qp))
		xp_run(qp, now);
}

void xp_shaken_release(struct qp *qp, ns_t now)
{
	if (likely(!qp_shaken(qp)))
		return;
	shake_ops->release(qp, now, xp_replay);
	xp_shaken_answers(qp);
}

void xp_query(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining)
{
	*rq_psn = READ_ONCE(qp->card->epsn);
	*sq_psn = qp->req.nxt;
	*draining = qp->state == QPS_SQD && qp->sq_draining;
}

bool xp_idle(const struct qp *qp)
{
	const struct qp_req *r = &qp->req;
	bool started = r->cur != r->tail && req_wqe(qp, r->cur)->flags & WQE_STARTED;

	return r->una == r->nxt && !started && !resp_busy(qp);
}

bool xp_blocked(const struct qp *qp)
{
	return qp->req.blocked || qp->resp.res_count || qp->resp.ack_due;
}
