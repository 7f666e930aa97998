/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester (IBA 9.7.2, 9.7.3): from send WQEs to request segments.
 *
 * A cursor (slot cur, and cur_pkt packets in it) points to the next packet to send. The WQEs from
 * sq.index to the cursor await acknowledgement. Those from the cursor to tail have been read from
 * the ring and are sent next: again if the cursor has gone back, else for the first time. Those
 * from tail on are unread. PSNs are assigned when a WQE is read, so each PSN is a position in the
 * queue. To go back means to set the cursor to una, the oldest unacknowledged PSN. This works for
 * READs too: their PSNs are those of the responses, una advances with each response, and a repeated
 * READ requests what is missing.
 *
 *	sq.index        cur               tail        producer
 *	   | sent, unacked |  (sent before)  |  unread    |
 *	una ............ cursor ........... nxt
 *
 * Sending stops at the end of the ring, and while one of these holds: the window is full, the link
 * has no room, an RNR wait runs, a WQE with a fence waits, no READ credit is left, or the QP is in
 * SQD. It also stops at a WQE with an error status. Such a WQE fails the QP when it is the oldest,
 * so that all WQEs before it complete (kernel: wqe_state_error).
 *
 * Direct placement: if the peer is on the same host and the link offers it, the requester executes
 * a WRITE or READ itself, by a copy to or from the peer's memory (queue/card.h). The WQE then
 * completes at once. This is possible only while no packet of the QP is in flight.
 */
#include "xport/shaken.h"
#include "xport/why.h"
#include "xport/window.h"
#include "xport/xport_internal.h"

/*
 * Decides whether a message of a stream is worth the system call of a direct placement: from this length on, one such copy
 * is faster than two copies through the ring.
 */
#define DIRECT_ALWAYS 4096
/* Direct placements of one doorbell that share a lock of the peer's QP: how many, and how long each may be. */
#define DIRECT_ROW 16
#define DIRECT_ROW_LEN 1024

HOT static int req_xmit(struct qp *qp, const struct seg *seg)
{
	int rc;

	/* Without a link the packet is lost. */
	if (unlikely(!qp->link))
		return 0;
	rc = qp->link->ops->send(qp->link, seg);
	if (likely(!rc))
		qp->dev->counter[CNT_SENT_PKTS] +=
			seg->type == SEG_READ_REQ ? 1 : seg->npkts;
	return rc;
}

/* Maximum number of packets of a data segment. */
static uint32_t req_seg_limit(const struct qp *qp)
{
	const struct link *l = qp->link;
	uint32_t n;

	if (unlikely(!l))
		return UINT32_MAX >> 12;
	n = min(l->max_seg >> qp->req.mtu_shift, l->max_pkts);
	return n ? n : 1;
}

static void req_seg_head(const struct qp *qp, const struct req_wqe *w, struct seg *seg)
{
	const struct qp_req *r = &qp->req;

	seg->service = SEG_RC;
	seg->type = w->type;
	seg->pkey = xp_pkey(qp);
	seg->path_mtu = (uint16_t)(1u << r->mtu_shift);
	seg->dqpn = qp->attr.dest_qpn;
	seg->sqpn = qp->qpn;
	seg->psn = psn_add(w->first_psn, r->cur_pkt);
}

/* Moves the cursor npkts packets ahead; after the last packet of w it is at the next WQE. Raises nxt if needed. */
static void req_advance(struct qp *qp, const struct req_wqe *w, uint32_t npkts, ns_t now)
{
	struct qp_req *r = &qp->req;
	uint32_t end;

	r->cur_pkt += npkts;
	end = psn_add(w->first_psn, r->cur_pkt);
	if (psn_off(end, r->una) > psn_off(r->nxt, r->una))
		r->nxt = end;
	if (r->cur_pkt == w->npkts) {
		r->cur = (r->cur + 1) & qp->sq.mask;
		r->cur_pkt = 0;
	}
	xp_timer_sent(qp, now);
}

/* Sends the next segment of a SEND or WRITE. 0, or an error as link_ops.send. */
HOT static int req_send_data(struct qp *qp, struct req_wqe *w, ns_t now)
{
	struct qp_req *r = &qp->req;
	struct iovec iov[SEG_MAX_IOV];
	uint64_t off = (uint64_t)r->cur_pkt << r->mtu_shift;
	uint32_t ahead = psn_off(psn_add(w->first_psn, r->cur_pkt), r->una);
	uint32_t n = w->npkts - r->cur_pkt;
	struct seg seg = { 0 };
	int rc;

	if (unlikely(ahead >= r->window))
		return -EAGAIN;
	n = min(n, min(req_seg_limit(qp), r->window - ahead));
	req_seg_head(qp, w, &seg);
	seg.npkts = n;
	seg.len = (uint32_t)min((uint64_t)n << r->mtu_shift, w->len - off);
	if (r->cur_pkt == 0) {
		seg.flags = SEG_F_START;
		seg.va = w->rdma.va;
		seg.rkey = w->rdma.rkey;
		seg.dma_len = w->len;
	}
	r->unasked += seg.len;
	if (r->cur_pkt + n == w->npkts) {
		seg.flags |= SEG_F_END | SEG_F_ACKREQ;
		if (w->flags & WQE_SOLICITED && w->type != SEG_WRITE)
			seg.flags |= SEG_F_SOLICITED;
		seg.imm = w->imm;
	} else if (r->unasked >= r->ask_bytes || ahead + n == r->window) {
		seg.flags |= SEG_F_ACKREQ;
	}
	seg.niov = wqe_iov(qp, w, r->cur, off, seg.len, iov);
	if (unlikely(seg.niov < 0))
		return seg.niov;
	seg.iov = iov;
	rc = req_xmit(qp, &seg);
	if (unlikely(rc))
		return rc;
	if (seg.flags & SEG_F_ACKREQ)
		r->unasked = 0;
	req_advance(qp, w, n, now);
	return 0;
}

/*
 * Number of packets to request next of the READ w; 0: wait for responses.
 *
 * A READ that has not been requested yet: On a wire the response must not exceed the window, so a
 * long READ is requested in parts of at most one window, each when the part before it has been
 * answered. On other links all of it is requested at once.
 *
 * After a loss: The missing rest of a part is requested again, on a wire in pieces of win_piece()
 * packets. A responder may drop a repeated request that extends beyond the original one (IBA
 * 9.7.5.1.3; kernel rxe does), and the requester does not know which of its requests have arrived.
 * So a repeated request never extends beyond an earlier one. If the last request for this WQE was a
 * piece (it ended at w->rdma.asked) and has not been answered completely, the rest of that piece is
 * requested; otherwise the next piece, which ends at the end of the part at the latest.
 */
static uint32_t req_read_ask(const struct qp *qp, const struct req_wqe *w)
{
	const struct qp_req *r = &qp->req;
	uint32_t n = w->npkts - r->cur_pkt, at = psn_off(psn_add(w->first_psn, r->cur_pkt), r->una);
	uint32_t all = xp_outstanding(qp), part;

	if (likely(at >= all)) {
		if (likely(!r->slow_start))
			return n;
		return r->cur_pkt && at ? 0 : min(n, r->window);
	}
	if (r->cur_pkt && at)
		return 0;
	part = min(n, all - at);
	n = w->rdma.asked - r->cur_pkt;
	if (w->rdma.asked > r->cur_pkt && n < part)
		return n;
	return r->slow_start ? min(part, win_piece(qp)) : part;
}

/*
 * Sends the request packet of a READ, atomic, ATOMIC WRITE or FLUSH. A READ requests as many
 * packets as req_read_ask() returns.
 */
static noinline int req_send_rd(struct qp *qp, struct req_wqe *w, ns_t now)
{
	struct qp_req *r = &qp->req;
	struct iovec iov[SEG_MAX_IOV];
	uint32_t n = w->type == SEG_READ_REQ ? req_read_ask(qp, w) : 1;
	struct seg seg = { 0 };
	int rc;

	if (unlikely(!n))
		return -EAGAIN;
	req_seg_head(qp, w, &seg);
	seg.flags = SEG_F_START | SEG_F_END | SEG_F_ACKREQ;
	seg.npkts = n;
	/*
	 * The window limits repeated READs too, so that a further loss costs at most one window of
	 * responses.
	 */
	if (unlikely(psn_off(seg.psn, r->una) >= r->window))
		return -EAGAIN;
	if (w->type == SEG_READ_REQ) {
		uint64_t off = (uint64_t)r->cur_pkt << r->mtu_shift;

		seg.va = w->rdma.va + off;
		seg.rkey = w->rdma.rkey;
		seg.dma_len = (uint32_t)min((uint64_t)n << r->mtu_shift, w->len - off);
	} else if (w->type == SEG_ATOMIC_WRITE) {
		seg.va = w->rdma.va;
		seg.rkey = w->rdma.rkey;
		seg.dma_len = seg.len = w->len;
		seg.iov = iov;
		seg.niov = wqe_iov(qp, w, r->cur, 0, w->len, iov);
	} else if (w->type == SEG_FLUSH) {
		seg.va = w->flush.va;
		seg.rkey = w->flush.rkey;
		seg.dma_len = w->flush.len;
		seg.imm = w->feth;
	} else {
		seg.va = w->atomic.va;
		seg.rkey = w->atomic.rkey;
		seg.swap_add = w->atomic.swap_add;
		seg.compare = w->atomic.compare;
	}
	rc = req_xmit(qp, &seg);
	if (unlikely(rc))
		return rc;
	if (w->type == SEG_READ_REQ)
		w->rdma.asked = r->cur_pkt + n;
	req_advance(qp, w, n, now);
	return 0;
}

/* True if this WQE may send its first packet. A READ or atomic then holds one of max_rd_atomic credits. */
static bool req_may_start(struct qp *qp, struct req_wqe *w)
{
	struct qp_req *r = &qp->req;

	if (qp->state == QPS_SQD)
		return false;
	if (w->flags & WQE_FENCE && r->rd_out)
		return false;
	if (wqe_is_rd(w)) {
		if (r->rd_out >= qp->attr.max_rd_atomic)
			return false;
		r->rd_out++;
	}
	if (w->flags & WQE_FENCE && unlikely(qp_checked(qp)))
		check_ops->fenced(qp);
	w->flags |= WQE_STARTED;
	return true;
}

static bool req_is_atomic(const struct req_wqe *w)
{
	return w->type == SEG_CMP_SWP || w->type == SEG_FETCH_ADD;
}

/* Direct placement (link_ops.direct: a copy to or from the peer's memory) needs a QP with no packet in flight. */
static bool req_direct_possible(struct qp *qp, const struct req_wqe *w)
{
	struct qp_req *r = &qp->req;

	if (!qp->link || !(qp->link->caps & LINK_CAP_DIRECT) || r->una != r->nxt ||
	    (unlikely(qp_checked(qp)) && r->cur != qp->sq.index) ||
	    r->cur_pkt || !w->len)
		return false;
	return w->type == SEG_WRITE || w->type == SEG_READ_REQ || req_is_atomic(w);
}

/*
 * Is a direct placement worth a system call? It has the lower latency; segments have the higher rate for a stream of
 * small messages. A program streams if it posts again before it has polled a CQ or consumed the completion of the last
 * direct placement.
 */
static bool req_direct_worth(struct qp *qp, const struct req_wqe *w)
{
	struct qp_req *r = &qp->req;

	/* An atomic has no system call that could do it. */
	if (req_is_atomic(w))
		return false;
	if (w->len >= DIRECT_ALWAYS || !r->direct_busy || r->direct_polls != qp->dev->polls)
		return true;
	return r->direct_cqe && ring_drained(&qp->send_cq->ring);
}

/*
 * Counts a direct placement in the counters of the ports of both devices, as the packets that it would be
 * on a wire. The requester does both, because the responder does not see a direct placement. in:
 * number of response packets.
 */
static void req_direct_count(struct qp *qp, const struct req_wqe *w, uint32_t in)
{
	uint32_t out = wqe_is_rd(w) ? 1 : w->npkts;

	qp->dev->counter[CNT_SENT_PKTS] += out;
	qp->dev->counter[CNT_RCVD_PKTS] += in;
	qp->peer_counter[CNT_RCVD_PKTS] += out;
	qp->peer_counter[CNT_SENT_PKTS] += in;
}

/* Stores the result of an atomic. False: the program's memory is bad. */
static bool req_direct_result(const struct direct_op *op)
{
	const struct iovec orig = { (void *)&op->orig, sizeof(op->orig) };

	return !umem_copy_iov(op->iov, op->niov, 0, &orig, 1, 0, sizeof(op->orig));
}

/* With --check the answer to a READ or atomic is put aside: it replaces the addresses of the oldest WQE. */
static noinline int req_direct_aside(struct qp *qp, const struct req_wqe *w,
				     struct iovec *iov, int niov)
{
	void *aside = check_ops->target(qp, 0, w->len);

	if (!aside)
		return niov;
	iov[0] = (struct iovec){ aside, w->len };
	return 1;
}

/*
 * Tries direct placement (link_ops.direct). True: the WQE is complete or has an error status. False: send it in
 * segments. more: see direct_op.
 */
static bool req_direct(struct qp *qp, struct req_wqe *w, bool more)
{
	struct qp_req *r = &qp->req;
	struct iovec iov[SEG_MAX_IOV];
	struct direct_op op = {
		.read = w->type == SEG_READ_REQ,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->card_peer,
		.psn = w->first_psn,
		.npkts = w->npkts,
		.va = w->rdma.va,
		.rkey = w->rdma.rkey,
		.len = w->len,
		.free_only = !req_direct_worth(qp, w),
		.more = more,
		.iov = iov,
	};

	op.niov = wqe_iov(qp, w, r->cur, 0, w->len, iov);
	if (op.niov < 0) {
		xp_why_wqe(qp, w, r->cur, 0, w->len);
		w->status = op.niov == -EFAULT ? WC_LOC_PROT_ERR : WC_LOC_QP_OP_ERR;
		return true;
	}
	if (unlikely(qp_checked(qp)) && op.niov && wqe_is_rd(w))
		op.niov = req_direct_aside(qp, w, iov, op.niov);
	if (req_is_atomic(w)) {
		op.atomic = w->type;
		op.va = w->atomic.va;
		op.rkey = w->atomic.rkey;
		op.compare = w->atomic.compare;
		op.swap_add = w->atomic.swap_add;
	}
	switch (qp->link->ops->direct(qp->link, &op)) {
	case DIRECT_DONE:
		if (op.atomic && !req_direct_result(&op)) {
			xp_why_wqe(qp, w, r->cur, 0, w->len);
			w->status = WC_LOC_PROT_ERR;
			return true;
		}
		req_direct_count(qp, w, op.read ? w->npkts : 1);
		r->direct_busy = true;
		r->direct_polls = qp->dev->polls;
		r->direct_cqe = w->flags & WQE_SIGNALED || qp->sq_sig_all;
		r->una = r->nxt = psn_add(w->first_psn, w->npkts);
		r->cur = (r->cur + 1) & qp->sq.mask;
		comp_success(qp, w);
		xp_timer_progress(qp, 0);
		return true;
	case DIRECT_NO:
		return false;
	case DIRECT_LOCAL:
		xp_why_wqe(qp, w, r->cur, 0, w->len);
		w->status = WC_LOC_PROT_ERR;
		return true;
	}
	return false;
}

/* After a direct placement: starts the next WQE. NULL: none that can be placed directly. */
static struct req_wqe *req_direct_next(struct qp *qp)
{
	struct qp_req *r = &qp->req;
	struct req_wqe *w;

	if (r->cur != r->tail || !wqe_fetch(qp))
		return NULL;
	w = req_wqe(qp, r->cur);
	if (w->status || w->flags & WQE_LOCAL || !req_direct_possible(qp, w) ||
	    !req_may_start(qp, w))
		return NULL;
	return w;
}

/*
 * Tries direct placement of a WQE and of those that were posted with it. A peer that waits for its QP waits for at most
 * one row.
 */
static noinline void req_direct_row(struct qp *qp, struct req_wqe *w)
{
	bool more = true, row = false;

	for (int n = DIRECT_ROW; w && more; n--) {
		more = n > 1 && w->len <= DIRECT_ROW_LEN && qp->req.tail != ring_producer(&qp->sq);
		row |= more;
		w = req_direct(qp, w, more) && more ? req_direct_next(qp) : NULL;
	}
	if (row)
		qp->link->ops->direct_end(qp->link);
}

/*
 * Executes BIND_MW or LOCAL_INV when the cursor reaches it, and thus before later WQEs are sent
 * (IBA 10.8.3.3). With a fence the WQE waits for all READs and atomics. If the cursor has gone back
 * over the WQE, it is not executed a second time. False: the WQE must wait.
 */
static noinline bool req_local(struct qp *qp, struct req_wqe *w)
{
	struct qp_req *r = &qp->req;

	if (!(w->flags & WQE_STARTED)) {
		if (!req_may_start(qp, w))
			return false;
		r->local = true;
		w->status = (uint8_t)wqe_bind(qp, w);
		if (w->status)
			return true;
	}
	r->cur = (r->cur + 1) & qp->sq.mask;
	r->cur_pkt = 0;
	comp_local(qp);
	return true;
}

/* In SQD: raises SQ_DRAINED once, when all started WQEs are complete (IBA 10.3.1.5). */
void req_check_drained(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	if (qp->state != QPS_SQD || !qp->sq_draining || r->una != r->nxt)
		return;
	if (r->cur != r->tail && req_wqe(qp, r->cur)->flags & WQE_STARTED)
		return;
	qp->sq_draining = false;
	event_raise(&qp->async, EV_SQ_DRAINED);
}

/* Moves the cursor back to the oldest unacknowledged packet. */
noinline void req_go_back(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	r->cur = qp->sq.index;
	r->cur_pkt = r->cur == r->tail ? 0 : psn_off(r->una, req_wqe(qp, r->cur)->first_psn);
}

/* True if the oldest unacknowledged WQE is a READ, atomic, ATOMIC WRITE or FLUSH. */
bool req_head_is_rd(const struct qp *qp)
{
	return qp->sq.index != qp->req.tail && wqe_is_rd(req_wqe(qp, qp->sq.index));
}

/* Repeats only the oldest packet, of a SEND or WRITE, with AckReq. Keeps the cursor. */
void req_probe(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;
	uint32_t cur = r->cur, cur_pkt = r->cur_pkt, window = r->window;

	if (r->una == r->nxt || qp->sq.index == r->tail)
		return;
	req_go_back(qp);
	r->window = 1;
	if (!req_send_data(qp, req_wqe(qp, r->cur), now))
		r->probing = true;
	r->window = window;
	r->cur = cur;
	r->cur_pkt = cur_pkt;
}

/* To be called when una has advanced after req_probe(). If only the probe was acked, the later packets were lost: go back. */
noinline void req_probed(struct qp *qp, uint32_t una)
{
	qp->req.probing = false;
	if (qp->req.una != psn_add(una, 1) || qp->req.una == qp->req.nxt)
		return;
	win_lost(qp, false);
	req_go_back(qp);
}

/* To be called when una has advanced: moves a cursor that is now before una (or sq.index) up to it. */
HOT void req_acked(struct qp *qp)
{
	struct qp_req *r = &qp->req;
	uint32_t head = qp->sq.index, mask = qp->sq.mask;

	if (unlikely(((r->cur - head) & mask) > ((r->tail - head) & mask))) {
		r->cur = head;
		r->cur_pkt = 0;
	}
	if (r->cur == head && head != r->tail) {
		struct req_wqe *w = req_wqe(qp, head);
		uint32_t acked = psn_off(r->una, w->first_psn);

		r->cur_pkt = max(r->cur_pkt, acked);
	}
}

/* The link cannot read the payload of w, at the cursor; or a rule of `ruse fault` demands that it fails. */
static noinline __cold void req_unsent(struct qp *qp, struct req_wqe *w, int rc)
{
	if (rc > 0) {
		xp_why(qp, FAULT_STATUS, LINK_FAILS_RULE(rc));
		w->status = LINK_FAILS_STATUS(rc);
		return;
	}
	xp_why_wqe(qp, w, qp->req.cur, 0, w->len);
	w->status = rc == -EFAULT ? WC_LOC_PROT_ERR : WC_LOC_QP_OP_ERR;
}

/* Does `ruse run --shake` let a request wait that needs a receive of the peer? */
static noinline __cold bool req_shaken(struct qp *qp, const struct req_wqe *w, ns_t now)
{
	return (w->type <= SEG_SEND_INV || w->type == SEG_WRITE_IMM) &&
	       shake_ops->rnr(qp, w->first_psn, now);
}

/* Sends as much as possible. */
HOT __flatten noinline void req_run(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	r->blocked = false;
	while (xp_sends(qp) && !r->rnr_until) {
		struct req_wqe *w;
		int rc;

		if (r->cur == r->tail && (qp->state == QPS_SQD || !wqe_fetch(qp)))
			break;
		w = req_wqe(qp, r->cur);
		if (unlikely(w->status)) {
			if (r->cur == qp->sq.index)
				xp_fail_head(qp, w->status);
			break;
		}
		if (unlikely(w->flags & WQE_LOCAL)) {
			if (!req_local(qp, w))
				break;
			continue;
		}
		if (!(w->flags & WQE_STARTED)) {
			if (unlikely(qp_shaken(qp)) && req_shaken(qp, w, now))
				break;
			if (!req_may_start(qp, w) || xp_outstanding(qp) >= r->window) {
				break;
			}
			if (req_direct_possible(qp, w)) {
				req_direct_row(qp, w);
				continue;
			}
		}
		rc = wqe_is_rd(w) ? req_send_rd(qp, w, now) : req_send_data(qp, w, now);
		if (rc == -EAGAIN) {
			r->blocked = true;
			break;
		}
		if (unlikely(rc))
			req_unsent(qp, w, rc);
	}
	if (unlikely(r->overrun))
		comp_overrun(qp, now);
	req_check_drained(qp);
}
