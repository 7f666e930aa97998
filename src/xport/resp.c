/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder (IBA 9.7.4, 9.7.5). Each request segment passes a chain of checks, one function
 * each, then it is executed and answered.
 *
 * A segment may begin with packets received before, if the requester went back and divided the
 * message differently. These packets are removed, and the rest is handled as a new request.
 * Expected PSN and MSN are in the QP's card (queue/card.h), memory that is shared with peers on the
 * same host. The card's lock protects them, because such a peer may execute a WRITE or READ itself
 * between two segments (direct placement).
 *
 * After a sequence NAK or an RNR NAK no further NAK is sent until the expected PSN arrives (IBA
 * 9.7.5.2.8).
 *
 * Answers are sent in order, behind READ responses that wait for room (resp_out.c). The ACK of a
 * message is passed to the link before its completion is published, since the program may exit
 * after the completion.
 */
#include "xport/resp_internal.h"
#include "xport/why.h"

static const char *const resp_step_names[] = {
	[RESP_CHK_STATE] = "CHK_STATE",
	[RESP_CHK_PSN] = "CHK_PSN",
	[RESP_CHK_OP_SEQ] = "CHK_OP_SEQ",
	[RESP_CHK_OP_VALID] = "CHK_OP_VALID",
	[RESP_CHK_RESOURCE] = "CHK_RESOURCE",
	[RESP_CHK_LENGTH] = "CHK_LENGTH",
	[RESP_CHK_RKEY] = "CHK_RKEY",
	[RESP_EXECUTE] = "EXECUTE",
	[RESP_COMPLETE] = "COMPLETE",
	[RESP_DUPLICATE] = "DUPLICATE",
	[RESP_NAK_SEQ] = "NAK_SEQ",
	[RESP_RNR] = "RNR",
	[RESP_FATAL] = "FATAL",
	[RESP_DONE] = "DONE",
};

_Static_assert(ARRAY_SIZE(resp_step_names) == RESP_STEPS, "a step lacks its name");

static enum resp_step resp_chk_state(struct resp_ctx *c)
{
	struct qp *qp = c->qp;

	if (unlikely(qp->state < QPS_RTR || qp->state == QPS_ERR || qp->resp.fatal_syn ||
		     qp->resp.refused)) {
		if (!qp->resp.fatal_syn && !qp->resp.refused)
			xp_drop_state(qp);
		return RESP_DONE;
	}
	if (unlikely(!c->npkts))
		return RESP_DONE;
	if (unlikely(qp->state == QPS_RTR && !qp->resp.established)) {
		qp->resp.established = true;
		event_raise(&qp->async, EV_COMM_EST);
	}
	return RESP_CHK_PSN;
}

/*
 * The receive WQE or the SRQ is bad. The completion of the receive WQE reports the error; if the QP
 * holds no receive WQE, an event does.
 */
static noinline __cold enum resp_step resp_bad_recv(struct resp_ctx *c)
{
	resp_rem_op(c, WC_LOC_QP_OP_ERR);
	xp_why_bad_recv(c->qp);
	if (!c->qp->resp.have_wqe)
		c->event = EV_QP_FATAL;
	return RESP_FATAL;
}

/* A rule of `ruse fault` makes the receive fail that the request consumes. */
static noinline __cold enum resp_step resp_refuse_recv(struct resp_ctx *c, enum wc_status status)
{
	switch (recv_fetch(c->qp)) {
	case RECV_GOT:
		break;
	case RECV_NONE:
		return RESP_RNR;
	case RECV_BAD:
		return resp_bad_recv(c);
	}
	xp_why(c->qp, FAULT_RECV, c->seg->msn);
	switch (status) {
	case WC_LOC_QP_OP_ERR:
	case WC_LOC_PROT_ERR:
		return resp_rem_op(c, status);
	case WC_LOC_ACCESS_ERR:
		return resp_rem_acc(c);
	default:
		return resp_inv_req(c, status);
	}
}

/* The link has refused the request (seg.refuse): returns the step that sends the answer. */
static noinline enum resp_step resp_chk_refused(struct resp_ctx *c)
{
	if (c->seg->refuse & SEG_REFUSE_RECV)
		return resp_refuse_recv(c, (enum wc_status)(c->seg->refuse & ~SEG_REFUSE_RECV));
	xp_why(c->qp, FAULT_RULE, c->seg->msn);
	switch (c->seg->refuse) {
	case AETH_RNR_NAK:
		return RESP_RNR;
	case AETH_NAK_PSN_SEQ:
		return RESP_NAK_SEQ;
	case AETH_NAK_REM_ACC:
		return resp_rem_acc(c);
	case AETH_NAK_REM_OP:
		return resp_rem_op(c, WC_LOC_QP_OP_ERR);
	}
	return resp_inv_req(c, WC_REM_INV_REQ_ERR);
}

static enum resp_step resp_chk_psn(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	int32_t diff = psn_diff(c->psn, qp->card->epsn);
	uint32_t seen = (uint32_t)-diff;

	if (unlikely(diff > 0))
		return RESP_NAK_SEQ;
	if (unlikely(diff < 0)) {
		qp->dev->counter[CNT_DUP_REQ]++;
		if (unlikely(qp->card->epsn == (qp->attr.rq_psn & PSN_MASK)))
			xp_drop(qp, DUPLICATE_FIRST, c->psn, qp->card->epsn);
		if (!(resp_is_send(c) || resp_is_write(c)) || seen >= c->npkts)
			return RESP_DUPLICATE;
		c->cut = (uint64_t)seen << qp->req.mtu_shift;
		if (c->cut >= c->len)
			return RESP_DONE;
		c->psn = qp->card->epsn;
		c->npkts -= seen;
		c->len -= (uint32_t)c->cut;
		c->flags &= (uint8_t)~SEG_F_START;
	}
	qp->resp.nak_sent = false;
	if (unlikely(c->seg->refuse))
		return resp_chk_refused(c);
	return RESP_CHK_OP_SEQ;
}

static enum resp_step resp_chk_op_seq(struct resp_ctx *c)
{
	enum resp_msg want = c->qp->resp.msg;
	enum resp_msg is = resp_is_send(c) ? RESP_MSG_SEND :
			   resp_is_write(c) ? RESP_MSG_WRITE : RESP_MSG_NONE;

	if (likely(want == RESP_MSG_NONE ? is == RESP_MSG_NONE || c->flags & SEG_F_START :
					   is == want && !(c->flags & SEG_F_START)))
		return RESP_CHK_OP_VALID;
	xp_why(c->qp, OP_SEQUENCE, !(c->flags & SEG_F_START), want == RESP_MSG_NONE);
	return resp_inv_req(c, WC_REM_INV_REQ_ERR);
}

bool resp_payload_fits(const struct resp_ctx *c)
{
	uint64_t full = (uint64_t)c->npkts << c->qp->req.mtu_shift;
	uint64_t mtu = 1u << c->qp->req.mtu_shift;

	if (!(c->flags & SEG_F_END))
		return c->len == full;
	if (!c->len)
		return c->npkts == 1;
	return c->len <= full && c->len > full - mtu;
}

/* Access bits that a FLUSH requires of QP and key (IBA A19). */
static uint32_t resp_flush_access(const struct seg *seg)
{
	return (seg->imm & SEG_FETH_GLOBAL ? ACCESS_FLUSH_GLOBAL : 0) |
	       (seg->imm & SEG_FETH_PERSISTENT ? ACCESS_FLUSH_PERSISTENT : 0);
}

static bool resp_flush_valid(const struct seg *seg, uint32_t access)
{
	uint32_t plt = seg->imm & SEG_FETH_PLT, need = resp_flush_access(seg);
	uint32_t sel = (seg->imm & SEG_FETH_SEL) >> SEG_FETH_SEL_SHIFT;

	return plt && !(plt & ~(SEG_FETH_GLOBAL | SEG_FETH_PERSISTENT)) && sel <= SEG_FETH_MR &&
	       (access & need) == need;
}

/* The qp_access_flags that a request needs; 0: none. */
static uint32_t resp_op_access(const struct seg *seg)
{
	switch ((enum seg_type)seg->type) {
	case SEG_WRITE:
	case SEG_WRITE_IMM:
	case SEG_ATOMIC_WRITE:
		return IB_UVERBS_ACCESS_REMOTE_WRITE;
	case SEG_READ_REQ:
		return IB_UVERBS_ACCESS_REMOTE_READ;
	case SEG_CMP_SWP:
	case SEG_FETCH_ADD:
		return IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	case SEG_FLUSH:
	case SEG_SEND:
	case SEG_SEND_IMM:
	case SEG_SEND_INV:
	case SEG_READ_RESP:
	case SEG_ACK:
	case SEG_ATOMIC_ACK:
	case SEG_NTYPES:
		break;
	}
	return 0;
}

/* The reason for which resp_chk_op_valid() refuses the request. */
static noinline __cold void resp_why_op(struct resp_ctx *c)
{
	uint32_t access = c->qp->attr.access, need = resp_op_access(c->seg);
	uint32_t imm = c->seg->imm;

	if (c->seg->type == SEG_FLUSH)
		xp_why(c->qp, FLUSH_TYPE, imm & SEG_FETH_PLT,
		       (imm & SEG_FETH_SEL) >> SEG_FETH_SEL_SHIFT, access);
	else if ((access & need) != need)
		xp_why(c->qp, QP_ACCESS, access, need);
	else if (c->seg->type >= SEG_CMP_SWP && c->seg->va & 7)
		xp_why(c->qp, ATOMIC_ALIGN, c->seg->va);
	else
		xp_why(c->qp, LENGTH_PACKETS, c->len, c->npkts, 1u << c->qp->req.mtu_shift);
}

static enum resp_step resp_chk_op_valid(struct resp_ctx *c)
{
	uint32_t access = c->qp->attr.access;
	bool ok = true;

	switch ((enum seg_type)c->seg->type) {
	case SEG_SEND:
	case SEG_SEND_IMM:
	case SEG_SEND_INV:
		ok = resp_payload_fits(c);
		break;
	case SEG_WRITE:
	case SEG_WRITE_IMM:
		ok = access & IB_UVERBS_ACCESS_REMOTE_WRITE && resp_payload_fits(c);
		break;
	case SEG_READ_REQ:
		ok = access & IB_UVERBS_ACCESS_REMOTE_READ;
		break;
	case SEG_CMP_SWP:
	case SEG_FETCH_ADD:
		ok = access & IB_UVERBS_ACCESS_REMOTE_ATOMIC && !(c->seg->va & 7);
		break;
	case SEG_ATOMIC_WRITE:
		ok = access & IB_UVERBS_ACCESS_REMOTE_WRITE && !(c->seg->va & 7) &&
		     c->len == 8 && c->seg->dma_len == 8;
		break;
	case SEG_FLUSH:
		ok = resp_flush_valid(c->seg, access);
		break;
	case SEG_READ_RESP:
	case SEG_ACK:
	case SEG_ATOMIC_ACK:
	case SEG_NTYPES:
		return RESP_DONE;
	}
	if (likely(ok))
		return RESP_CHK_RESOURCE;
	resp_why_op(c);
	return resp_inv_req(c, WC_REM_INV_REQ_ERR);
}

/*
 * Handles a request that needs a receive WQE while the receive queue or SRQ is empty. A SEND, or a single packet, is
 * answered with an RNR NAK. Of a segment with several packets of a WRITE with immediate, only the last packet needs a
 * receive WQE: the packets before it are executed, then an RNR NAK answers the last one.
 */
static noinline __cold enum resp_step resp_recv_missing(struct resp_ctx *c)
{
	if (resp_is_send(c) || c->npkts == 1)
		return RESP_RNR;
	c->npkts--;
	c->len = c->npkts << c->qp->req.mtu_shift;
	c->flags &= (uint8_t)~(SEG_F_END | SEG_F_ACKREQ);
	c->rnr_next = true;
	return RESP_CHK_LENGTH;
}

static enum resp_step resp_chk_resource(struct resp_ctx *c)
{
	struct qp *qp = c->qp;

	if (resp_is_send(c) ? c->flags & SEG_F_START :
			      c->seg->type == SEG_WRITE_IMM && c->flags & SEG_F_END) {
		switch (recv_fetch(qp)) {
		case RECV_GOT:
			break;
		case RECV_NONE:
			return resp_recv_missing(c);
		case RECV_BAD:
			return resp_bad_recv(c);
		}
	} else if (!resp_is_send(c) && !resp_is_write(c)) {
		/* More than max_dest_rd_atomic outstanding: invalid request (IBA 9.7.5.2.6). */
		if (unlikely(resp_queue_new(qp) >= qp->attr.max_dest_rd_atomic)) {
			xp_why(qp, RD_ATOMIC, resp_queue_new(qp) + 1, qp->attr.max_dest_rd_atomic);
			return resp_inv_req(c, WC_REM_INV_REQ_ERR);
		}
		if (unlikely(!resp_rd_alloc(qp) || qp->resp.res_count == qp->resp.rd_size))
			return RESP_DONE;
	}
	return RESP_CHK_LENGTH;
}

static noinline __cold enum resp_step resp_too_long(struct resp_ctx *c, uint64_t len)
{
	xp_why(c->qp, LENGTH_MAX, len, DEV_MAX_MSG);
	return resp_inv_req(c, WC_REM_INV_REQ_ERR);
}

static enum resp_step resp_chk_length(struct resp_ctx *c)
{
	struct qp_resp *r = &c->qp->resp;

	if (c->flags & SEG_F_START || !(resp_is_send(c) || resp_is_write(c)))
		r->off = 0;
	if (resp_is_send(c)) {
		if (unlikely(r->off + (uint64_t)c->len > r->room ||
			     r->off + (uint64_t)c->len > DEV_MAX_MSG)) {
			xp_why(c->qp, LENGTH_RECV, r->off + (uint64_t)c->len, r->room);
			return resp_inv_req(c, WC_LOC_LEN_ERR);
		}
		return RESP_EXECUTE;
	}
	if (resp_is_write(c)) {
		if (c->flags & SEG_F_START) {
			r->va = c->seg->va;
			r->rkey = c->seg->rkey;
			r->resid = c->seg->dma_len;
			if (unlikely(r->resid > DEV_MAX_MSG))
				return resp_too_long(c, r->resid);
		}
		/* The message must have exactly the length in its RETH. */
		if (unlikely(c->flags & SEG_F_END ? c->len != r->resid : c->len >= r->resid)) {
			xp_why(c->qp, LENGTH_RETH, c->len, r->resid);
			return resp_inv_req(c, WC_REM_INV_REQ_ERR);
		}
	} else if (unlikely((c->seg->type == SEG_READ_REQ || c->seg->type == SEG_FLUSH) &&
			    c->seg->dma_len > DEV_MAX_MSG)) {
		return resp_too_long(c, c->seg->dma_len);
	}
	return RESP_CHK_RKEY;
}

/* The key of a FLUSH is checked even for length 0. If the FLUSH is for the whole region, no range is checked. */
static noinline enum resp_step resp_chk_flush_key(struct resp_ctx *c)
{
	const struct seg *seg = c->seg;
	uint32_t len = seg->dma_len, index = seg->rkey >> 8;
	uint64_t va = seg->va;

	if (seg->imm & SEG_FETH_MR << SEG_FETH_SEL_SHIFT && index < c->qp->dev->nkeys) {
		va = c->qp->dev->keys[index].iova;
		len = 0;
	}
	if (unlikely(mr_check(c->qp->dev, c->qp->pd->id, c->qp->qpn, seg->rkey, va, len,
			      resp_flush_access(seg), &c->addr) != MR_OK)) {
		xp_why_key(c->qp, seg->rkey, va, len, resp_flush_access(seg));
		return resp_rem_acc(c);
	}
	return RESP_EXECUTE;
}

/*
 * Checks that the key permits access to all of the message that is still to come. For 0 bytes the
 * key is not checked.
 */
static enum resp_step resp_chk_rkey(struct resp_ctx *c)
{
	const struct seg *seg = c->seg;
	struct qp_resp *r = &c->qp->resp;
	uint32_t rkey = seg->rkey, len = 8, access = IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	uint64_t va = seg->va;

	if (resp_is_write(c)) {
		va = r->va;
		rkey = r->rkey;
		len = r->resid;
		access = IB_UVERBS_ACCESS_REMOTE_WRITE;
	} else if (seg->type == SEG_READ_REQ) {
		len = seg->dma_len;
		access = IB_UVERBS_ACCESS_REMOTE_READ;
	} else if (seg->type == SEG_ATOMIC_WRITE) {
		access = IB_UVERBS_ACCESS_REMOTE_WRITE;
	} else if (unlikely(seg->type == SEG_FLUSH)) {
		return resp_chk_flush_key(c);
	}
	if (len && unlikely(mr_check(c->qp->dev, c->qp->pd->id, c->qp->qpn, rkey, va, len, access,
				     &c->addr) != MR_OK)) {
		xp_why_key(c->qp, rkey, va, len, access);
		return resp_rem_acc(c);
	}
	return RESP_EXECUTE;
}

/* The rule of `ruse fault` that demands this answer; 0: none. */
static uint32_t resp_rule(const struct resp_ctx *c, uint8_t answer)
{
	return c->seg->refuse == answer ? c->seg->msn : 0;
}

static noinline __cold enum resp_step resp_nak_seq(struct resp_ctx *c)
{
	struct qp *qp = c->qp;
	uint32_t rule = resp_rule(c, AETH_NAK_PSN_SEQ);

	if (qp->resp.nak_sent)
		return RESP_DONE;
	qp->resp.nak_sent = true;
	qp->dev->counter[CNT_OUT_OF_SEQ_REQ]++;
	xp_rule_sent(qp, rule);
	if (rule)
		xp_drop(qp, DROP_FAULT, c->psn, qp->card->epsn, rule);
	else
		xp_drop(qp, DROP_PSN, c->psn, qp->card->epsn);
	resp_answer(qp, c->from, qp->card->epsn, AETH_NAK_PSN_SEQ);
	return RESP_DONE;
}

static noinline __cold enum resp_step resp_rnr(struct resp_ctx *c)
{
	struct qp *qp = c->qp;

	qp->resp.nak_sent = true;
	xp_rule_sent(qp, resp_rule(c, AETH_RNR_NAK));
	qp->dev->counter[CNT_SND_RNR]++;
	resp_answer(qp, c->from, qp->card->epsn,
		    AETH_RNR_NAK | (qp->attr.min_rnr_timer & 0x1f));
	return RESP_DONE;
}

/* Counts what is wrong with the key of a refused request. */
static void resp_count_key(const struct resp_ctx *c)
{
	uint32_t why = xp_fail(c->qp)->why.id, k;

	switch (why) {
	case WHY_KEY_PD:
	case WHY_KEY_QP:
		k = REFUSED_DOMAIN;
		break;
	case WHY_KEY_ACCESS:
		k = REFUSED_PERMISSION;
		break;
	case WHY_KEY_RANGE:
		k = REFUSED_RANGE;
		break;
	case WHY_INV_KEY:
		c->qp->dev->counter[CNT_REFUSED(REFUSED_INVALIDATE)]++;
		return;
	default:
		if (why < WHY_KEY_NONE || why > WHY_KEY_UNBOUND)
			return;
		k = REFUSED_KEY;
	}
	if (!resp_is_write(c))
		k += REFUSED_READ - REFUSED_KEY;
	c->qp->dev->counter[CNT_REFUSED(k)]++;
}

static noinline __cold enum resp_step resp_check_failed(struct resp_ctx *c, enum resp_step found)
{
	log_debug("xport: qp#%06x psn %u: check %s failed, NAK 0x%02x", c->qp->qpn, c->psn,
		  resp_step_names[found], c->syndrome);
	resp_count_key(c);
	resp_fatal(c->qp, c->from, c->psn, c->syndrome, c->status, c->event);
	return RESP_DONE;
}

static void resp_run(struct resp_ctx *c)
{
	enum resp_step step = RESP_CHK_STATE, last = step;

	while (step != RESP_DONE) {
		enum resp_step now = step;

		switch (now) {
		case RESP_CHK_STATE:
			step = resp_chk_state(c);
			break;
		case RESP_CHK_PSN:
			step = resp_chk_psn(c);
			break;
		case RESP_CHK_OP_SEQ:
			step = resp_chk_op_seq(c);
			break;
		case RESP_CHK_OP_VALID:
			step = resp_chk_op_valid(c);
			break;
		case RESP_CHK_RESOURCE:
			step = resp_chk_resource(c);
			break;
		case RESP_CHK_LENGTH:
			step = resp_chk_length(c);
			break;
		case RESP_CHK_RKEY:
			step = resp_chk_rkey(c);
			break;
		case RESP_EXECUTE:
			step = resp_execute(c);
			break;
		case RESP_COMPLETE:
			step = resp_complete(c);
			break;
		case RESP_DUPLICATE:
			step = resp_duplicate(c);
			break;
		case RESP_NAK_SEQ:
			step = resp_nak_seq(c);
			break;
		case RESP_RNR:
			step = resp_rnr(c);
			break;
		case RESP_FATAL:
			step = resp_check_failed(c, last);
			break;
		case RESP_DONE:
		case RESP_STEPS:
			return;
		}
		last = now;
	}
}

/*
 * Sets the link on which answers are sent, also those already queued, and takes a reference to it.
 * NULL: no link.
 */
noinline void resp_set_from(struct qp *qp, struct link *from)
{
	struct link *old = qp->resp.from;

	if (from)
		link_get(from);
	qp->resp.from = from;
	if (old)
		link_put(old);
}

/* Handles a request segment. Locks the QP's card (struct qp_card). */
HOT void resp_input(struct qp *qp, const struct seg *seg, struct link *from, ns_t now)
{
	struct resp_ctx c;

	c.qp = qp;
	c.seg = seg;
	c.from = from;
	c.psn = seg->psn & PSN_MASK;
	c.npkts = seg->npkts;
	c.len = seg->len;
	c.cut = 0;
	c.now = now;
	c.flags = seg->flags;
	c.rnr_next = false;

	/* Else a peer is stopped with the lock: the segment counts as lost. */
	if (unlikely(!card_lock(qp->card, CARD_OWNER)))
		return;
	if (unlikely(qp->resp.from != from))
		resp_set_from(qp, from);
	resp_run(&c);
	qp->card->busy = resp_busy(qp);
	card_unlock(qp->card);
}
