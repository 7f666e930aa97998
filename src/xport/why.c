/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "shared/barrier.h"
#include "wire/aeth.h"
#include "xport/why.h"

noinline __cold const struct qp_fail *xp_fail_find(const struct qp *qp)
{
	const struct fail_log *log = &qp->dev->fails;

	for (uint32_t i = 0; i < DEV_QP_FAILS; i++)
		if (log->qp[i].qpn == qp->qpn)
			return &log->qp[i];
	return NULL;
}

noinline __cold struct qp_fail *xp_fail(struct qp *qp)
{
	struct fail_log *log = &qp->dev->fails;
	struct qp_fail *f = (struct qp_fail *)xp_fail_find(qp);

	if (f)
		return f;
	f = &log->qp[log->next_qp++ % DEV_QP_FAILS];
	*f = (struct qp_fail){ .qpn = qp->qpn };
	return f;
}

noinline __cold void xp_fail_forget(const struct qp *qp)
{
	struct fail_log *log = &qp->dev->fails;

	for (uint32_t i = 0; i < DEV_QP_FAILS && log->next_qp; i++)
		if (log->qp[i].qpn == qp->qpn)
			log->qp[i] = (struct qp_fail){ .qpn = 0 };
}

noinline __cold void xp_why_set(struct qp *qp, enum why_id id, const uint64_t arg[WHY_ARGS])
{
	why_make(&xp_fail(qp)->why, id, arg);
	xp_fail(qp)->whose = WHY_OWN;
	if (unlikely(check_ops) && (id == WHY_MEM_GONE || id == WHY_RECV_MEM))
		check_ops->unmapped(qp, id == WHY_RECV_MEM, arg[0]);
}

noinline __cold void xp_why_key(struct qp *qp, uint32_t key, uint64_t va, uint64_t len,
				uint32_t access)
{
	key_why(qp->dev, qp->pd->id, qp->qpn, key, va, len, access, &xp_fail(qp)->why);
	xp_fail(qp)->whose = WHY_OWN;
}

noinline __cold void xp_why_sge(struct qp *qp, const struct pd *pd, const struct rxe_sge *sge,
				uint32_t num, uint64_t off, uint64_t len, uint32_t access,
				bool recv)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < num && len; i++) {
		uint32_t length = READ_ONCE(sge[i].length), key = READ_ONCE(sge[i].lkey);
		uint64_t addr = READ_ONCE(sge[i].addr) + off, take;
		void *p;

		if (off >= length) {
			off -= length;
			continue;
		}
		take = min(len, length - off);
		if (mr_check(qp->dev, pd->id, qp->qpn, key, addr, take, access | KEY_LOCAL, &p) !=
		    MR_OK) {
			key_why_local(qp->dev, pd->id, i, recv, key, addr, take,
				      access | KEY_LOCAL, &xp_fail(qp)->why);
			xp_fail(qp)->whose = WHY_OWN;
			return;
		}
		first = first ? first : addr;
		off = 0;
		len -= take;
	}
	if (recv)
		xp_why(qp, RECV_MEM, first);
	else
		xp_why(qp, LOCAL_MEM, first);
}

noinline __cold void xp_why_wqe(struct qp *qp, const struct req_wqe *w, uint32_t slot, uint64_t off,
				uint64_t len)
{
	const struct rxe_send_wqe *s = ring_slot(&qp->sq, slot);

	xp_why_sge(qp, qp->pd, s->dma.sge, w->num_sge, off, len,
		   wqe_is_rd(w) ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0, false);
}

noinline __cold void xp_why_recv(struct qp *qp, uint64_t off, uint64_t len)
{
	xp_why_sge(qp, qp->srq ? qp->srq->pd : qp->pd, qp->resp.sge, qp->resp.num_sge, off, len,
		   IB_UVERBS_ACCESS_LOCAL_WRITE, true);
}

noinline __cold void xp_why_bad_recv(struct qp *qp)
{
	if (qp->resp.have_wqe)
		xp_why(qp, RECV_SGES, qp->resp.num_sge,
		       qp->srq ? qp->srq->max_sge : qp->max_recv_sge);
	else
		xp_why(qp, SRQ_FAILED);
}

noinline __cold void xp_why_cq(struct qp *qp, const struct cq *cq)
{
	if (cq->failed)
		xp_why(qp, EVENT_FAULT);
	else
		xp_why(qp, CQ_OVERRUN, cq->ring.mask);
}

noinline __cold void xp_why_nak(struct qp *qp, const struct seg *seg)
{
	uint64_t arg[WHY_ARGS] = { [2] = seg->psn };

	if (seg->why && why_row(seg->why->id)) {
		xp_fail(qp)->why = *seg->why;
		xp_fail(qp)->whose = WHY_PEER;
		return;
	}
	memcpy(arg, qp->attr.ah.grh.dgid, 16);
	xp_why_set(qp, seg->syndrome == AETH_NAK_INV_REQ ? WHY_PEER_INV_REQ :
		       seg->syndrome == AETH_NAK_REM_ACC ? WHY_PEER_ACCESS : WHY_PEER_OP, arg);
}

noinline __cold void xp_rule_sent(struct qp *qp, uint32_t rule)
{
	if (rule || xp_fail_find(qp))
		xp_fail(qp)->rule_out = rule;
}

noinline __cold void xp_rule_came(struct qp *qp, const struct seg *seg)
{
	bool is = seg->why && seg->why->id == WHY_FAULT_RULE;

	if (!is && !xp_fail_find(qp))
		return;
	xp_fail(qp)->rule_in = is ? (uint32_t)seg->why->arg[0] : 0;
	xp_fail(qp)->rule_una = qp->req.una;
}

uint32_t xp_rule_in(const struct qp *qp)
{
	const struct qp_fail *f = xp_fail_find(qp);

	return f && f->rule_una == qp->req.una ? f->rule_in : 0;
}

noinline __cold void xp_why_rnr(struct qp *qp, const struct seg *seg)
{
	uint32_t times = qp->attr.rnr_retry + 1u;

	if (xp_rule_in(qp))
		xp_why(qp, RNR_FAULT, times, xp_rule_in(qp));
	else if (seg->why && (seg->why->id == WHY_RNR_USED || seg->why->id == WHY_RNR_UNUSED))
		xp_why_set(qp, seg->why->id, WHY_VALUES(times, seg->why->arg[1], seg->why->arg[2],
							seg->why->arg[3]));
	else
		xp_why(qp, RNR_RETRY, times);
}

/* Time of an attempt. */
static ns_t xp_why_timeout(const struct qp *qp)
{
	return ack_timeout_ns(qp->attr.timeout & 31);
}

struct peer_qp xp_peer_qp(const struct qp *qp)
{
	struct link *l = qp->link;
	struct peer_qp p = { .known = false };
	const struct qp *peer;

	if (!l || l->dead)
		return p;
	if (l->kind != LINK_LOOP) {
		p.known = l->ops->peer_qp;
		p.exists = p.known && l->ops->peer_qp(l, qp->attr.dest_qpn, &p.state, &p.err,
						      &p.dest_qpn);
		return p;
	}
	peer = rdev_find_qp(qp->dev, qp->attr.dest_qpn);
	p.known = true;
	p.exists = peer;
	if (peer) {
		p.state = peer->state;
		p.err = peer->card->err;
		p.dest_qpn = peer->card->dest_qpn;
	}
	return p;
}

static void xp_why_route(struct qp *qp)
{
	uint64_t arg[WHY_ARGS] = { [2] = (uint64_t)-qp->link->error };

	memcpy(arg, qp->attr.ah.grh.dgid, 16);
	xp_why_set(qp, WHY_RETRY_ROUTE, arg);
}

/* There is no link. RoCEv1 has none to other hosts. */
static void xp_why_no_link(struct qp *qp)
{
	uint64_t arg[WHY_ARGS] = { [2] = qp->attr.ah.grh.sgid_index, [3] = qp->attr.dest_qpn };

	memcpy(arg, qp->attr.ah.grh.dgid, 16);
	if (qp_is_v1(qp))
		xp_why_set(qp, WHY_RETRY_ROCE_V1, arg);
	else
		xp_why(qp, RETRY_NO_QP, qp->attr.dest_qpn);
}

/* Is the peer's QP connected, with the other RoCE version? */
static bool xp_peer_other_version(const struct qp *qp, const struct peer_qp *peer)
{
	return peer->exists && peer->state >= QPS_RTR &&
	       (peer->dest_qpn ^ qp->card_peer) == CARD_V1;
}

/* The peer's QP is not in a state in which it answers. */
static void xp_why_deaf(struct qp *qp, const struct peer_qp *peer)
{
	if (peer->state == QPS_ERR && why_row(peer->err))
		xp_why(qp, RETRY_FAILED, qp->attr.dest_qpn, peer->err);
	else
		xp_why(qp, RETRY_STATE, qp->attr.dest_qpn, peer->state, peer->state == QPS_ERR);
}

noinline __cold void xp_why_retry(struct qp *qp)
{
	const struct qp_fail *f = xp_fail(qp);
	const struct qp_req *r = &qp->req;
	struct peer_qp peer = xp_peer_qp(qp);
	uint32_t tries = qp->attr.retry_cnt + 1u;

	if (!qp->link)
		xp_why_no_link(qp);
	else if (peer.known && !peer.exists)
		xp_why(qp, RETRY_NO_QP, qp->attr.dest_qpn);
	else if (xp_peer_other_version(qp, &peer))
		xp_why(qp, RETRY_ROCE, qp->attr.dest_qpn, qp->attr.ah.grh.sgid_index,
		       qp_is_v1(qp));
	else if (qp->link->rule && qp->link->hang_qpn == qp->attr.dest_qpn)
		xp_why(qp, FAULT_HANGS, qp->attr.dest_qpn, qp->link->rule);
	else if (qp->link->dead)
		xp_why(qp, RETRY_DEAD);
	else if (xp_peer_deaf(&peer))
		xp_why_deaf(qp, &peer);
	else if (qp->link->error)
		xp_why_route(qp);
	else if (xp_rule_in(qp))
		xp_why(qp, NAK_FAULT, r->una, xp_rule_in(qp));
	else if (f->naks && f->nak_una == r->una)
		xp_why(qp, RETRY_PSN, f->naks, f->nak_psn, r->una);
	else if (r->una == (qp->attr.sq_psn & PSN_MASK))
		xp_why(qp, RETRY_NEVER, r->una, tries, xp_why_timeout(qp));
	else
		xp_why(qp, RETRY_LOST, r->una, tries, xp_why_timeout(qp),
		       rdev_now(qp->dev) - f->silent, psn_diff(r->nxt, r->una));
}

static void xp_why_log(struct qp *qp, const struct why *why, uint8_t whose, uint64_t wr_id,
		       uint32_t status)
{
	struct why_rec r = {
		.why = *why, .whose = whose, .status = (uint8_t)status,
		.qpn = qp->qpn, .peer_qpn = qp->attr.dest_qpn, .wr_id = wr_id,
	};

	rdev_failed(qp->dev, &r);
}

noinline __cold uint32_t xp_why_cqe(struct qp *qp, uint64_t wr_id, enum wc_status status)
{
	const struct qp_fail *f = xp_fail(qp);
	struct why flushed;

	if (status != WC_WR_FLUSH_ERR) {
		xp_why_log(qp, &f->why, f->whose, wr_id, status);
		return f->why.id;
	}
	if (f->err)
		why_set(&flushed, FLUSH_FAILED, f->err, rdev_now(qp->dev) - f->err_at);
	else
		why_set(&flushed, FLUSH_MODIFY, qp->state, rdev_now(qp->dev) - f->err_at);
	xp_why_log(qp, &flushed, WHY_OWN, wr_id, status);
	return flushed.id;
}

noinline __cold void xp_why_refused(struct qp *qp)
{
	const struct qp_fail *f = xp_fail(qp);

	if (!qp->resp.have_wqe)
		xp_why_log(qp, &f->why, f->whose, 0, 0);
}

noinline __cold void xp_why_drop(struct qp *qp, const struct why *why)
{
	if (why->id == WHY_DROP_NO_RECV)
		qp->dev->counter[CNT_NO_RECV]++;
	xp_why_log(qp, why, WHY_OWN, 0, 0);
}

noinline __cold void xp_drop_state(struct qp *qp)
{
	if (qp->state != QPS_ERR || !xp_fail(qp)->err)
		xp_drop(qp, DROP_STATE, qp->state);
}

noinline __cold void xp_why_err(struct qp *qp)
{
	struct qp_fail *f = xp_fail(qp);

	f->err = f->why.id;
	f->err_at = rdev_now(qp->dev);
}

noinline __cold void xp_why_event(struct qp *qp, enum xp_event event)
{
	const struct qp_fail *f = xp_fail(qp);
	struct why_rec r = {
		.why = f->why, .whose = f->whose, .event = (uint32_t)event + 1,
		.qpn = qp->qpn, .peer_qpn = qp->attr.dest_qpn,
	};

	if (f->why.id != WHY_NONE)
		rdev_failed(qp->dev, &r);
}

noinline __cold void xp_why_srq(struct qp *qp)
{
	struct why_rec r = { .event = IB_EVENT_SRQ_ERR + 1, .qpn = qp->qpn };

	why_set(&r.why, SRQ_FAILED);
	rdev_failed(qp->dev, &r);
}
