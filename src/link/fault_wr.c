/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules about work requests (FAULT_COMPLETE) and about QPs (FAULT_HANG), as they act on links.
 *
 * A work request is judged when its first packet is sent for the first time (fault_facts.first), so each counts once. An
 * error that the requester finds itself, or that ends its attempts, is the result of send(): the packet is not sent, and
 * the work request fails when all before it are complete. For an error that a responder of this host reports, the packet is
 * sent with the syndrome of the NAK, and the responder's process (rules are the same in all) answers with it. A responder on
 * another host cannot be told: there the requester fails as if the NAK had arrived.
 *
 * A receive is judged when the packet arrives that consumes it. The responder then fails with its status.
 *
 * A QP that hangs has no room to send, and what arrives for it is lost.
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include "link/fault_int.h"
#include "wire/opcode.h"

/* Values of Linux 6.3 and later. */
#define WR_FLUSH 14
#define WR_ATOMIC_WRITE 15

/* A bit for the opcode of a work request (FAULT_OP_*). */
static uint32_t fault_wr_op(const struct seg *seg)
{
	static const uint8_t op[SEG_NTYPES] = {
		[SEG_SEND] = IB_UVERBS_WR_SEND,
		[SEG_SEND_IMM] = IB_UVERBS_WR_SEND_WITH_IMM,
		[SEG_SEND_INV] = IB_UVERBS_WR_SEND_WITH_INV,
		[SEG_WRITE] = IB_UVERBS_WR_RDMA_WRITE,
		[SEG_WRITE_IMM] = IB_UVERBS_WR_RDMA_WRITE_WITH_IMM,
		[SEG_READ_REQ] = IB_UVERBS_WR_RDMA_READ,
		[SEG_CMP_SWP] = IB_UVERBS_WR_ATOMIC_CMP_AND_SWP,
		[SEG_FETCH_ADD] = IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
		[SEG_ATOMIC_WRITE] = WR_ATOMIC_WRITE,
		[SEG_FLUSH] = WR_FLUSH,
	};

	return 1u << op[seg->type];
}

static struct fault_case fault_wr_case(const struct seg *seg, const struct fault_facts *facts,
				       bool in)
{
	return (struct fault_case){ .action = FAULT_COMPLETE, .dev = facts->dev,
				    .qpn = in ? seg->dqpn : seg->sqpn,
				    .ops = in ? FAULT_OP_RECV : fault_wr_op(seg),
				    .services = 1u << seg->service };
}

/* The NAK with which a responder reports the status; 0: none does. */
static uint8_t fault_wr_nak(uint32_t status)
{
	return status == FAULT_WC_REM_INV_REQ ? AETH_NAK_INV_REQ :
	       status == FAULT_WC_REM_ACCESS  ? AETH_NAK_REM_ACC :
	       status == FAULT_WC_REM_OP      ? AETH_NAK_REM_OP : 0;
}

int fault_wr_send(struct link *l, const struct seg *seg, bool *sent)
{
	const struct fault *ft = fault_of(l);
	struct fault_facts facts = { 0 };
	const struct fault_rule *r;
	struct seg marked = *seg;
	struct fault_case c;

	*sent = false;
	if (seg->type >= SEG_NTYPES || seg->service > SEG_UD || seg_is_answer(seg) ||
	    !(seg->flags & SEG_F_START))
		return 0;
	ft->f->host->facts(l, seg, false, &facts);
	if (!facts.first)
		return 0;
	c = fault_wr_case(seg, &facts, false);
	r = faults_strike(ft->f, &c);
	if (!r)
		return 0;
	if (ft->side != FAULT_LOCAL || !fault_wr_nak(r->error)) {
		link_tap(l, seg, "fault: not sent, the work request fails");
		return LINK_FAILS(r->error & 0xff, r->id);
	}
	*sent = true;
	marked.syndrome = fault_wr_nak(r->error);
	l->note = "fault: answered by NAK";
	return fault_pass_send(l, &marked);
}

/* The number of the rule with which the sender has marked this request; 0: it is not known. */
static uint32_t fault_wr_number(const struct faults *f, const struct seg *seg)
{
	for (uint32_t i = 0; i < f->nrules; i++) {
		const struct fault_rule *r = &f->table.rule[i];

		if (r->id && r->action == FAULT_COMPLETE &&
		    fault_wr_nak(r->error) == seg->syndrome &&
		    (!(r->by & FAULT_BY_QP) || r->qpn == seg->sqpn) &&
		    (!(r->by & FAULT_BY_OP) || r->ops & fault_wr_op(seg)))
			return r->id;
	}
	return 0;
}

void fault_wr_input(struct link *l, struct seg *seg)
{
	struct faults *f = fault_of(l)->f;
	struct fault_facts facts = { 0 };
	const struct fault_rule *r;
	struct fault_case c;

	if (seg->type >= SEG_NTYPES || seg->service > SEG_UD || seg_is_answer(seg) || seg->refuse)
		return;
	if (fault_of(l)->side == FAULT_LOCAL && seg->service == SEG_RC && seg->syndrome) {
		seg->refuse = seg->syndrome;
		seg->msn = fault_wr_number(f, seg);
		return;
	}
	f->host->facts(l, seg, true, &facts);
	if (!facts.receives)
		return;
	c = fault_wr_case(seg, &facts, true);
	r = faults_strike(f, &c);
	if (!r)
		return;
	seg->refuse = (uint8_t)(SEG_REFUSE_RECV | r->error);
	l->note = "fault: the receive fails";
	seg->msn = r->id;
}

/* The rule with which this QP hangs; NULL: it does not. */
static const struct fault_rule *fault_wr_hang(const struct faults *f, uint32_t qpn)
{
	for (uint32_t i = 0; i < f->nrules; i++) {
		const struct fault_rule *r = &f->table.rule[i];

		if (r->id && r->action == FAULT_HANG &&
		    (!(r->by & FAULT_BY_QP) || r->qpn == qpn) &&
		    (!(r->by & FAULT_BY_PROC) || r->proc == f->proc))
			return r;
	}
	return NULL;
}

uint32_t faults_hang(const struct faults *f, uint32_t qpn)
{
	const struct fault_rule *r = NULL;

	if (unlikely(f->actions >> FAULT_HANG & 1))
		r = fault_wr_hang(f, qpn);
	return r ? r->id : 0;
}

const struct fault_rule *faults_cut(const struct faults *f, uint32_t qpn)
{
	for (uint32_t i = 0; f->actions >> FAULT_FREEZE & 1 && i < f->nrules; i++) {
		const struct fault_rule *r = &f->table.rule[i];

		if (r->id && r->action == FAULT_FREEZE && r->proc == f->proc)
			return r;
	}
	return f->actions >> FAULT_HANG & 1 ? fault_wr_hang(f, qpn) : NULL;
}

void fault_wr_peer(struct link *l, const struct seg *seg)
{
	const struct fault_rule *r = fault_wr_hang(fault_of(l)->f, seg->dqpn);

	if (!r || !(r->by & FAULT_BY_QP) || fault_of(l)->side != FAULT_LOCAL)
		return;
	l->hang_qpn = seg->dqpn;
	l->rule = r->id;
}

bool fault_wr_lost(struct link *l, const struct seg *seg)
{
	struct faults *f = fault_of(l)->f;
	const struct fault_rule *r = fault_wr_hang(f, seg->dqpn);

	if (!r)
		return false;
	f->state[r - f->table.rule].matched++;
	f->state[r - f->table.rule].acted++;
	faults_show(f, seg->dqpn, seg->sqpn);
	link_tap(l, seg, "fault: dropped, the QP hangs");
	return true;
}
