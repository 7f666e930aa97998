/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder's output: sends answers in order, as the link has room.
 *
 * An ACK for PSN p implies that READs before p were answered, so it must not overtake their
 * responses. READ and atomic responses wait in a queue in PSN order. One ACK or NAK may wait behind
 * them. If a second one is to wait, only the one with the later PSN is kept, since it also
 * acknowledges the requests of the earlier one. A fatal NAK waits too: entering ERR discards the
 * queue, so the QP enters ERR only when the responses have been sent.
 */
#include "base/pool.h"
#include "shared/barrier.h"
#include "xport/resp_internal.h"
#include "xport/shaken.h"
#include "xport/why.h"

static struct resp_res *res_at(const struct qp_resp *r, uint32_t i)
{
	return &r->res[(r->res_head + i) & (r->rd_size - 1u)];
}

static size_t resp_rd_bytes(uint32_t n)
{
	return n * (sizeof(struct resp_res) + sizeof(struct resp_replay));
}

noinline bool resp_rd_alloc(struct qp *qp)
{
	struct qp_resp *r = &qp->resp;
	uint32_t n = qp->attr.max_dest_rd_atomic, old = r->rd_size;
	struct resp_replay *replay;
	struct resp_res *res;

	if (likely(n <= old))
		return true;
	if (BUG_ON(n & (n - 1)))
		return false;
	res = pool_alloc(resp_rd_bytes(n));
	if (!res)
		return false;
	replay = (struct resp_replay *)(res + n);
	for (uint32_t i = 0; i < r->res_count; i++)
		res[i] = *res_at(r, i);
	/*
	 * Copy the replay list in order of age. The oldest entry of the old ring is at replay_next,
	 * where the next entry would overwrite it. In the new ring replay_next follows the copied
	 * entries.
	 */
	for (uint32_t i = 0; i < n; i++)
		replay[i].psn = UINT32_MAX;
	for (uint32_t i = 0; i < old; i++)
		replay[i] = r->replay[(r->replay_next + i) & (old - 1)];
	pool_free(r->res, resp_rd_bytes(old));
	r->res = res;
	r->replay = replay;
	r->rd_size = (uint16_t)n;
	r->res_head = 0;
	r->replay_next = (uint8_t)old;
	return true;
}

void resp_rd_free(struct qp *qp)
{
	if (qp->resp.res)
		pool_free(qp->resp.res, resp_rd_bytes(qp->resp.rd_size));
}

static uint32_t res_npkts(const struct qp *qp, const struct resp_res *e)
{
	return e->type == SEG_READ_RESP ? seg_pkts(e->len, 1u << qp->req.mtu_shift) : 1;
}

/* Number of queued responses to new requests, which max_dest_rd_atomic limits. */
uint32_t resp_queue_new(const struct qp *qp)
{
	const struct qp_resp *r = &qp->resp;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->res_count; i++)
		n += !res_at(r, i)->dup;
	return n;
}

/*
 * The requester has repeated a request for [psn, psn + npkts): removes queued responses of
 * this range, and truncates a response that begins before it.
 */
static void res_replace(struct qp *qp, uint32_t psn, uint32_t npkts)
{
	struct qp_resp *r = &qp->resp;
	uint32_t keep = 0;

	for (uint32_t i = 0; i < r->res_count; i++) {
		struct resp_res *e = res_at(r, i);
		int32_t before = psn_diff(psn, e->psn);
		bool touches = before < (int32_t)res_npkts(qp, e) && -before < (int32_t)npkts;

		if (touches && before <= 0)
			continue;
		if (touches)
			e->len = (uint32_t)before << qp->req.mtu_shift;
		*res_at(r, keep++) = *e;
	}
	r->res_count = keep;
}

/* Inserts a response by PSN. False: the queue is full; the request counts as lost. */
bool resp_queue(struct qp *qp, const struct resp_res *res)
{
	struct qp_resp *r = &qp->resp;
	uint32_t i;

	if (unlikely(res->dup && r->res_count))
		res_replace(qp, res->psn, res_npkts(qp, res));
	if (unlikely(r->res_count == r->rd_size))
		return false;
	for (i = r->res_count++; i && psn_diff(res_at(r, i - 1)->psn, res->psn) > 0; i--)
		*res_at(r, i) = *res_at(r, i - 1);
	*res_at(r, i) = *res;
	return true;
}

static void resp_seg_head(const struct qp *qp, struct seg *seg, enum seg_type type, uint32_t psn)
{
	seg->service = SEG_RC;
	seg->type = type;
	seg->pkey = xp_pkey(qp);
	seg->path_mtu = (uint16_t)(1u << qp->req.mtu_shift);
	seg->dqpn = qp->attr.dest_qpn;
	seg->sqpn = qp->qpn;
	seg->psn = psn;
	seg->npkts = 1;
	seg->flags = SEG_F_START | SEG_F_END;
	seg->syndrome = AETH_ACK_UNLIMITED;
}

static int resp_send_counted(struct qp *qp, struct link *l, const struct seg *seg)
{
	int rc = l->ops->send(l, seg);

	if (!rc)
		qp->dev->counter[CNT_SENT_PKTS] += seg->npkts;
	return rc;
}

/* Sends the next segment of READ response e. 0: e has advanced; *done: the response is complete. Else -errno. */
static int resp_send_read(struct qp *qp, struct link *l, struct resp_res *e, bool *done)
{
	uint32_t shift = qp->req.mtu_shift, total = res_npkts(qp, e);
	uint32_t bytes = l->max_copy_seg ? l->max_copy_seg : l->max_seg;
	uint32_t n = min(bytes >> shift, l->max_pkts);
	struct seg seg = { 0 };
	struct iovec iov;
	void *addr = NULL;
	int rc;

	n = min(n ? n : 1, total);
	resp_seg_head(qp, &seg, SEG_READ_RESP, e->psn);
	seg.npkts = n;
	seg.len = (uint32_t)min((uint64_t)n << shift, (uint64_t)e->len);
	seg.msn = e->msn;
	if (e->started)
		seg.flags &= (uint8_t)~SEG_F_START;
	if (n < total)
		seg.flags &= (uint8_t)~SEG_F_END;
	/* Checked for every segment: the key may have been invalidated meanwhile. */
	if (seg.len && mr_check(qp->dev, qp->pd->id, qp->qpn, e->rkey, e->va, seg.len,
				IB_UVERBS_ACCESS_REMOTE_READ, &addr) != MR_OK)
		return -EFAULT;
	iov = (struct iovec){ addr, seg.len };
	seg.iov = &iov;
	seg.niov = seg.len ? 1 : 0;
	rc = resp_send_counted(qp, l, &seg);
	if (rc)
		return rc;
	*done = n == total;
	e->started = true;
	e->va += seg.len;
	e->len -= seg.len;
	e->psn = psn_add(e->psn, n);
	return 0;
}

static int resp_send_atomic(struct qp *qp, struct link *l, const struct resp_res *e)
{
	struct seg seg = { 0 };

	resp_seg_head(qp, &seg, SEG_ATOMIC_ACK, e->psn);
	seg.orig = e->va;
	seg.msn = e->msn;
	return resp_send_counted(qp, l, &seg);
}

/* What has become of the receives, when there is none left. */
static void resp_why_rnr(const struct qp *qp, struct why *why)
{
	const struct qp_resp *r = &qp->resp;
	uint32_t now = (uint32_t)(rdev_now(qp->dev) >> RECV_AT_SHIFT);

	if (r->recvs)
		why_set(why, RNR_USED, 0, qp->srq != NULL, r->recvs,
			(now - r->recv_at + 1ull) << RECV_AT_SHIFT);
	else
		why_set(why, RNR_UNUSED, 0, qp->srq != NULL);
}

/*
 * Within a host a NAK brings its reason; an RNR NAK tells what has become of the receives. A sequence NAK is no failure, and
 * has a reason only if a rule of `ruse fault` has made it.
 */
static noinline __cold int resp_send_nak(struct qp *qp, struct link *l, const struct seg *ack)
{
	const struct qp_fail *f = xp_fail_find(qp);
	struct seg seg = *ack;
	bool rnr = (seg.syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK;
	struct why why;

	if (f && f->rule_out && (rnr || seg.syndrome == AETH_NAK_PSN_SEQ)) {
		why_set(&why, FAULT_RULE, f->rule_out);
		seg.why = &why;
	} else if (rnr) {
		resp_why_rnr(qp, &why);
		seg.why = &why;
	} else if (seg.syndrome > AETH_NAK_PSN_SEQ && seg.syndrome <= AETH_NAK_REM_OP) {
		seg.why = &xp_fail(qp)->why;
	}
	return resp_send_counted(qp, l, &seg);
}

HOT static int resp_send_ack(struct qp *qp, struct link *l, uint32_t psn, uint8_t syndrome,
			     uint32_t msn)
{
	struct seg seg = { 0 };

	resp_seg_head(qp, &seg, SEG_ACK, psn);
	seg.syndrome = syndrome;
	seg.msn = msn;
	if (unlikely((syndrome & AETH_TYPE_MASK) != AETH_ACK))
		return resp_send_nak(qp, l, &seg);
	return resp_send_counted(qp, l, &seg);
}

/* The QP is its own peer, and a request of its own is not answered yet. */
static bool resp_is_own_peer(const struct qp *qp)
{
	const struct ib_uverbs_ah_attr *ah = &qp->attr.ah;
	const struct port_attr *port = &qp->dev->port;

	if (qp->attr.dest_qpn != qp->qpn || qp->req.una == qp->req.nxt)
		return false;
	return port->ib ? ah->dlid >> port->lmc == port->lid >> port->lmc :
			  rdev_find_gid(qp->dev, ah->grh.dgid) >= 0;
}

/*
 * Enters ERR after a responder error. status completes the receive WQE that is in use (qp_resp.have_wqe). The caller
 * has locked the QP's card (struct qp_card).
 *
 * A QP that is connected to itself enters ERR when its requester has received the NAK, as the refused request must complete with
 * the NAK's status, and the responses before it with success (kernel rxe does so, too). Until then it drops requests.
 */
static noinline __cold void resp_fail_now(struct qp *qp, enum wc_status status, enum xp_event event)
{
	bool own = resp_is_own_peer(qp);

	if (own) {
		qp->resp.refused = true;
		qp->card->state = QPS_ERR;
	} else {
		xp_enter_err(qp, true);
	}
	if (event != EV_NONE)
		event_raise(&qp->async, event);
	xp_fail_recv(qp, status);
	if (own)
		return;
	xp_flush_sq(qp);
	xp_flush_rq(qp);
}

/* Why the memory of a READ cannot be read: its key ended meanwhile, or the program has unmapped it. */
static noinline __cold void resp_why_read(struct qp *qp, const struct resp_res *e)
{
	void *addr;

	if (mr_check(qp->dev, qp->pd->id, qp->qpn, e->rkey, e->va, e->len,
		     IB_UVERBS_ACCESS_REMOTE_READ, &addr) == MR_OK)
		xp_why(qp, MEM_GONE, (uintptr_t)addr, e->rkey);
	else
		xp_why_key(qp, e->rkey, e->va, e->len, IB_UVERBS_ACCESS_REMOTE_READ);
}

/* Sends the queued responses. False: the link is full. */
static noinline bool resp_output_res(struct qp *qp, struct link *l)
{
	struct qp_resp *r = &qp->resp;

	while (r->res_count) {
		struct resp_res *e = res_at(r, 0);
		bool done = true;
		int rc = e->type == SEG_READ_RESP ? resp_send_read(qp, l, e, &done) :
						    resp_send_atomic(qp, l, e);

		if (rc == -EAGAIN)
			return false;
		if (unlikely(rc)) {
			uint32_t psn = e->psn;

			resp_why_read(qp, e);
			/* The memory cannot be read: drop all later answers. */
			r->res_count = 0;
			r->ack_due = false;
			resp_fatal(qp, l, psn, AETH_NAK_REM_ACC, WC_WR_FLUSH_ERR,
				   EV_QP_ACCESS_ERR);
			return true;
		}
		if (done) {
			r->res_head = (r->res_head + 1) & (r->rd_size - 1u);
			r->res_count--;
		}
	}
	return true;
}

/* Sends queued answers as far as the link has room. The caller has locked the QP's card (struct qp_card). */
noinline void resp_output(struct qp *qp, struct link *l)
{
	struct qp_resp *r = &qp->resp;

	if (unlikely(qp_shaken(qp)) && qp->shake->reads)
		return;
	if (!l || !resp_output_res(qp, l))
		return;
	if (r->ack_due) {
		if (resp_send_ack(qp, l, r->ack_psn, r->ack_syn, r->ack_msn))
			return;
		r->ack_due = false;
	}
	if (unlikely(r->fatal_syn)) {
		uint8_t syndrome = r->fatal_syn;

		r->fatal_syn = 0;
		resp_fatal(qp, l, r->fatal_psn, syndrome, r->fatal_status, r->fatal_event);
	}
}

/* Sends an ACK, RNR NAK or NAK for psn, or queues it behind other answers. */
HOT void resp_answer(struct qp *qp, struct link *l, uint32_t psn, uint8_t syndrome)
{
	struct qp_resp *r = &qp->resp;

	/*
	 * A queued answer has a later PSN and so acknowledges this request too: send only that one.
	 */
	if (unlikely(r->ack_due && psn_diff(psn, r->ack_psn) < 0)) {
		resp_output(qp, l);
		return;
	}
	/*
	 * Send this answer at once if no response is queued. It also acknowledges what a queued
	 * answer would, whose PSN is not later, so that one is dropped.
	 */
	if (likely(!r->res_count && !resp_send_ack(qp, l, psn, syndrome, qp->card->msn))) {
		r->ack_due = false;
		return;
	}
	r->ack_due = true;
	r->ack_psn = psn;
	r->ack_syn = syndrome;
	r->ack_msn = qp->card->msn;
	if (r->res_count)
		resp_output(qp, l);
}

/*
 * Sends an ACK that precedes no completion. While more segments are to be handled it is
 * delayed, so that a stream of WRITEs gets one ACK per batch. The caller of xp_input() sees
 * xp_blocked() and calls xp_output() at the end of the batch.
 */
noinline void resp_answer_late(struct qp *qp, struct link *l, uint32_t psn)
{
	struct qp_resp *r = &qp->resp;

	if (!l->more) {
		resp_answer(qp, l, psn, AETH_ACK_UNLIMITED);
		return;
	}
	if (r->ack_due && psn_diff(psn, r->ack_psn) < 0)
		return;
	r->ack_due = true;
	r->ack_psn = psn;
	r->ack_syn = AETH_ACK_UNLIMITED;
	r->ack_msn = qp->card->msn;
}

/*
 * Sends a NAK for psn, after queued responses, then moves the QP to ERR. status completes the held
 * receive WQE. event: EV_NONE if that completion reports the error.
 */
noinline void resp_fatal(struct qp *qp, struct link *l, uint32_t psn, uint8_t syndrome,
			 enum wc_status status, enum xp_event event)
{
	struct qp_resp *r = &qp->resp;

	if (unlikely(r->res_count)) {
		r->fatal_syn = syndrome;
		r->fatal_psn = psn;
		r->fatal_status = (uint8_t)status;
		r->fatal_event = (uint8_t)event;
		return;
	}
	xp_why_refused(qp);
	if (syndrome >= AETH_NAK_INV_REQ && syndrome <= AETH_NAK_REM_OP)
		qp->dev->counter[CNT_REFUSED(REFUSED_INVALID + syndrome - AETH_NAK_INV_REQ)]++;
	resp_answer(qp, l, psn, syndrome);
	resp_fail_now(qp, status, event);
}
