/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The completer (IBA 9.7.6): from response segments to completions.
 *
 * A response for PSN p acknowledges all SENDs and WRITEs before p. Responses are sent in
 * order, so if a READ or atomic before p is still unanswered, its response was lost. This
 * is an implied NAK: the requester goes back to that request. Responses for PSNs before una
 * are duplicates and are ignored. One exception: a READ response that begins before una and
 * ends after it, as a repeated READ may cause, is used from una on.
 */
#include <rdma/ib_user_verbs.h>
#include "core/credits.h"
#include "xport/shaken.h"
#include "xport/why.h"
#include "xport/window.h"
#include "xport/xport_internal.h"

/* What the requester does after a response. */
enum comp_verdict {
	COMP_OK,	/* continue sending */
	COMP_RETRY,	/* go back to una */
	COMP_RNR,	/* wait, then go back to una */
	COMP_FAIL	/* the oldest WQE fails */
};

static inline void comp_count(struct qp *qp, const struct req_wqe *w)
{
	/* Twice the enum traffic_op. FLUSH moves no data, and counts as the WRITE that it belongs to, with 0 bytes. */
	static const uint8_t at[SEG_NTYPES] = {
		[SEG_WRITE] = 2 * TRAFFIC_WRITE, [SEG_WRITE_IMM] = 2 * TRAFFIC_WRITE,
		[SEG_ATOMIC_WRITE] = 2 * TRAFFIC_WRITE, [SEG_FLUSH] = 2 * TRAFFIC_WRITE,
		[SEG_READ_REQ] = 2 * TRAFFIC_READ,
		[SEG_CMP_SWP] = 2 * TRAFFIC_ATOMIC, [SEG_FETCH_ADD] = 2 * TRAFFIC_ATOMIC,
	};
	uint64_t *traffic = &qp->dev->counter[qp->traffic + at[w->type]];

	traffic[0]++;
	traffic[1] += w->len;
	if (w->type <= SEG_SEND_INV)
		qp->dev->counter[CNT_RDMA_SENDS]++;
}

/*
 * Completes w, which must be the oldest WQE, and releases its slot in the send ring. A full CQ
 * fails the QP (IBA 11.6.3.2). This function only notes it, because its callers iterate over WQEs;
 * req_run() and unrel_run() call comp_overrun() afterwards, which fails the QP.
 */
HOT void comp_success(struct qp *qp, struct req_wqe *w)
{
	struct ib_uverbs_wc *wc;

	if (wqe_is_rd(w))
		qp->req.rd_out--;
	if (!(w->flags & WQE_LOCAL))
		comp_count(qp, w);
	/* Release the WQE's slot first: the program may post into it once it sees the completion. */
	credits_consume(qp);
	if (!(w->flags & WQE_SIGNALED) && !qp->sq_sig_all)
		return;
	wc = cq_reserve(qp->send_cq);
	if (unlikely(!wc)) {
		qp->req.overrun = true;
		return;
	}
	wc->wr_id = w->wr_id;
	wc->opcode = wqe_wc_opcode(w->opcode);
	wc->byte_len = w->len;
	wc->qp_num = qp->qpn;
	if (w->type == SEG_SEND_IMM || w->type == SEG_WRITE_IMM)
		wc->wc_flags = WC_FLAG_IMM;
	if (unlikely(qp->special))
		credits_note(qp, true);
	cq_publish(qp->send_cq, false);
}

noinline void comp_overrun(struct qp *qp, ns_t now)
{
	qp->req.overrun = false;
	xp_why_cq(qp, qp->send_cq);
	xp_error(qp, now);
}

/* Completes executed BIND_MWs and LOCAL_INVs that are the oldest WQEs. */
noinline void comp_local(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	while (qp->sq.index != r->tail) {
		struct req_wqe *w = req_wqe(qp, qp->sq.index);

		if (!(w->flags & WQE_LOCAL) || !(w->flags & WQE_STARTED) || w->status)
			return;
		comp_success(qp, w);
	}
}

/* Completes the WQEs before the outstanding PSN psn. Returns the WQE of psn, or NULL for an implied NAK. */
static struct req_wqe *comp_before(struct qp *qp, uint32_t psn)
{
	struct qp_req *r = &qp->req;

	for (;;) {
		struct req_wqe *w = req_wqe(qp, qp->sq.index);

		if (BUG_ON(qp->sq.index == r->tail))
			return NULL;
		if (psn_off(psn, w->first_psn) < w->npkts)
			return w;
		if (wqe_is_rd(w))
			return NULL;
		r->una = psn_add(w->first_psn, w->npkts);
		comp_success(qp, w);
	}
}

/* Sets una to the PSN after psn, a PSN of w. If psn is the last PSN of w, completes w. */
static void comp_through(struct qp *qp, struct req_wqe *w, uint32_t psn)
{
	qp->req.una = psn_add(psn, 1);
	if (psn_off(psn, w->first_psn) + 1 == w->npkts)
		comp_success(qp, w);
}

/* The peer asks for a PSN that was not sent: the two ends may have begun with different PSNs. */
static noinline __cold void comp_nak_stray(struct qp *qp, uint32_t psn)
{
	struct qp_fail *f = xp_fail(qp);

	if (f->nak_una != qp->req.una)
		f->naks = 0;
	f->naks++;
	f->nak_psn = psn;
	f->nak_una = qp->req.una;
}

static noinline __cold enum comp_verdict comp_nak(struct qp *qp, const struct seg *seg,
						  enum wc_status *status)
{
	if (seg->syndrome != AETH_NAK_PSN_SEQ)
		xp_why_nak(qp, seg);
	switch (seg->syndrome) {
	case AETH_NAK_PSN_SEQ:
		qp->dev->counter[CNT_RCV_SEQ_ERR]++;
		xp_rule_came(qp, seg);
		return COMP_RETRY;
	case AETH_NAK_INV_REQ:
		*status = WC_REM_INV_REQ_ERR;
		return COMP_FAIL;
	case AETH_NAK_REM_ACC:
		*status = WC_REM_ACCESS_ERR;
		return COMP_FAIL;
	default:
		*status = WC_REM_OP_ERR;
		return COMP_FAIL;
	}
}

/* Handles an ACK, RNR NAK or NAK for psn, a PSN of w. */
static enum comp_verdict comp_ack(struct qp *qp, struct req_wqe *w, uint32_t psn,
				  const struct seg *seg, enum wc_status *status)
{
	switch (seg->syndrome & AETH_TYPE_MASK) {
	case AETH_ACK:
		/* A READ or atomic is answered by its response only: an ACK instead is an implied NAK. */
		if (unlikely(wqe_is_rd(w))) {
			qp->dev->counter[CNT_IMPLIED_NAK]++;
			return COMP_RETRY;
		}
		comp_through(qp, w, psn);
		return COMP_OK;
	case AETH_RNR_NAK:
		qp->dev->counter[CNT_RCV_RNR]++;
		if (!wqe_is_rd(w))
			qp->req.una = psn;
		xp_rule_came(qp, seg);
		*status = WC_RNR_RETRY_EXC_ERR;
		return COMP_RNR;
	case AETH_NAK:
		if (!wqe_is_rd(w))
			qp->req.una = psn;
		return comp_nak(qp, seg, status);
	}
	/* Reserved syndromes are ignored. */
	return COMP_OK;
}

/* ATOMIC WRITE and FLUSH are answered by a READ response without payload (IBA A19.4). */
static noinline enum comp_verdict comp_empty(struct qp *qp, struct req_wqe *w,
					     const struct seg *seg, enum wc_status *status)
{
	*status = WC_BAD_RESP_ERR;
	if (unlikely(seg->len || seg->npkts != 1)) {
		xp_why(qp, RESPONSE, seg->len, 0);
		return COMP_FAIL;
	}
	comp_through(qp, w, w->first_psn);
	return COMP_OK;
}

/* Where bytes [off, off + len) of a READ or atomic go, as wqe_iov(). w: the oldest WQE. */
static int comp_iov(struct qp *qp, const struct req_wqe *w, uint64_t off, uint64_t len,
		    struct iovec *iov)
{
	int n = wqe_iov(qp, w, qp->sq.index, off, len, iov);
	void *aside;

	if (likely(!qp_checked(qp)) || n <= 0)
		return n;
	aside = check_ops->target(qp, off, len);
	if (!aside)
		return n;
	iov[0] = (struct iovec){ aside, len };
	return 1;
}

/* Handles a READ response without its first `skip` packets, which are duplicates. psn: PSN of the next one, in w. */
static noinline enum comp_verdict comp_read(struct qp *qp, struct req_wqe *w, const struct seg *seg,
					    uint32_t psn, uint32_t skip, enum wc_status *status)
{
	struct qp_req *r = &qp->req;
	struct iovec iov[SEG_MAX_IOV];
	uint32_t pkt = psn_off(psn, w->first_psn), n = seg->npkts - skip;
	uint64_t off = (uint64_t)pkt << r->mtu_shift, cut = (uint64_t)skip << r->mtu_shift;
	uint64_t len;
	int niov;

	*status = WC_BAD_RESP_ERR;
	if (unlikely(w->type != SEG_READ_REQ && w->type < SEG_ATOMIC_WRITE)) {
		xp_why(qp, RESPONSE, seg->len, w->len);
		return COMP_FAIL;
	}
	if (unlikely((seg->syndrome & AETH_TYPE_MASK) != AETH_ACK))
		return COMP_OK;
	if (unlikely(w->type != SEG_READ_REQ))
		return comp_empty(qp, w, seg, status);
	if (unlikely(psn != r->una))
		return COMP_RETRY;
	*status = WC_LOC_LEN_ERR;
	len = pkt + n == w->npkts ? w->len - off : (uint64_t)n << r->mtu_shift;
	if (unlikely(n > w->npkts - pkt || seg->len != len + cut)) {
		xp_why(qp, RESPONSE, seg->len, len + cut);
		return COMP_FAIL;
	}
	*status = WC_LOC_PROT_ERR;
	niov = comp_iov(qp, w, off, len, iov);
	if (unlikely(niov < 0)) {
		xp_why_wqe(qp, w, qp->sq.index, off, len);
		return COMP_FAIL;
	}
	switch (unlikely(qp_shaken(qp)) && pkt + n == w->npkts ?
			xp_place_shaken(qp, seg, cut, off, iov, niov, len) :
			xp_place(seg, cut, iov, niov, len)) {
	case 0:
		comp_through(qp, w, psn_add(psn, n - 1));
		return COMP_OK;
	case -EFAULT:
		xp_why_wqe(qp, w, qp->sq.index, off, len);
		return COMP_FAIL;
	default:
		return COMP_OK;
	}
}

static noinline enum comp_verdict comp_atomic(struct qp *qp, struct req_wqe *w,
					      const struct seg *seg, enum wc_status *status)
{
	struct iovec iov[SEG_MAX_IOV], src = { (void *)&seg->orig, sizeof(seg->orig) };
	int niov;

	*status = WC_BAD_RESP_ERR;
	if (unlikely(w->type != SEG_CMP_SWP && w->type != SEG_FETCH_ADD)) {
		xp_why(qp, RESPONSE, 8, w->len);
		return COMP_FAIL;
	}
	if (unlikely((seg->syndrome & AETH_TYPE_MASK) != AETH_ACK))
		return COMP_OK;
	*status = WC_LOC_PROT_ERR;
	niov = comp_iov(qp, w, 0, sizeof(seg->orig), iov);
	if (unlikely(niov < 0 || umem_copy_iov(iov, niov, 0, &src, 1, 0, sizeof(seg->orig)))) {
		xp_why_wqe(qp, w, qp->sq.index, 0, sizeof(seg->orig));
		return COMP_FAIL;
	}
	comp_through(qp, w, w->first_psn);
	return COMP_OK;
}

static noinline __cold void comp_retry(struct qp *qp, ns_t now)
{
	/* Go back once per loss: further NAKs for it must not use up the attempts. */
	if (qp->req.retrying || qp->req.rnr_until)
		return;
	if (!xp_timer_retry(qp, now)) {
		xp_why_retry(qp);
		xp_fail_head(qp, WC_RETRY_EXC_ERR);
		return;
	}
	qp->req.retrying = true;
	qp->req.rtt_at = 0;
	win_lost(qp, false);
	req_go_back(qp);
}

HOT __flatten noinline void comp_input(struct qp *qp, const struct seg *seg, ns_t now)
{
	struct qp_req *r = &qp->req;
	uint32_t una = r->una, psn = seg->psn, skip = 0;
	enum comp_verdict v = COMP_RETRY;
	enum wc_status status = WC_SUCCESS;
	struct req_wqe *w;

	if (unlikely(!xp_sends(qp)))
		return;
	if (psn_off(psn, una) >= xp_outstanding(qp)) {
		skip = psn_off(una, psn);
		if (seg->type != SEG_READ_RESP || skip >= seg->npkts || una == r->nxt) {
			if (unlikely(seg->syndrome == AETH_NAK_PSN_SEQ))
				comp_nak_stray(qp, psn);
			return;
		}
		psn = una;
	}
	w = comp_before(qp, psn);
	if (likely(w)) {
		if (seg->type == SEG_ACK)
			v = comp_ack(qp, w, psn, seg, &status);
		else if (seg->type == SEG_READ_RESP)
			v = comp_read(qp, w, seg, psn, skip, &status);
		else
			v = comp_atomic(qp, w, seg, &status);
	} else {
		qp->dev->counter[CNT_IMPLIED_NAK]++;
	}
	if (r->una != una) {
		if (unlikely(r->local))
			comp_local(qp);
		req_acked(qp);
		win_acked(qp, psn_off(r->una, una));
		if (unlikely(r->probing))
			req_probed(qp, una);
		xp_timer_progress(qp, now);
	}
	if (v == COMP_RNR && !r->rnr_until) {
		if (xp_timer_rnr(qp, seg->syndrome, now)) {
			req_go_back(qp);
		} else {
			xp_why_rnr(qp, seg);
			v = COMP_FAIL;
		}
	}
	if (v == COMP_RETRY)
		comp_retry(qp, now);
	if (v == COMP_FAIL)
		xp_fail_head(qp, status);
	req_run(qp, now);
}
