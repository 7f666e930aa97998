/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hints: what works here and may be wanted, but is a usual cause of hangs, waits and failures with other adapters or in other
 * networks. Commands are looked at when they are executed, in the thread that calls; without hints nothing is.
 */
#include "check/check_internal.h"
#include "core/common.h"
#include "core/objects.h"
#include "core/srq.h"

#define RETRY_MOST 7u		/* of retry_cnt; rnr_retry: without end */
#define RECEIVES_SOME 4u	/* a queue that never held more is a ping-pong's */
#define RECEIVES_FEW 8u		/* one of so many is left: nearly used up */

static struct qp_init_attr check_hint_asked;	/* of the QP that is created */

static void check_hint_found(struct rdev *dev, const struct qp *qp, struct check_found *f)
{
	f->dev = dev;
	f->qpn = qp ? qp->qpn : 0;
	f->posted = check_host->site();
	check_host->found(f);
}

/* what: as in the text of HINT_ADAPTER. */
static void check_hint_limit(struct rdev *dev, const struct qp *qp, uint32_t what, uint32_t value,
			     uint32_t most)
{
	struct check_found f = { 0 };

	if (value <= most)
		return;
	why_set(&f.why, HINT_ADAPTER, what, value, most);
	check_hint_found(dev, qp, &f);
}

void check_hint_qp_wanted(struct rdev *dev, const struct qp_init_attr *attr)
{
	check_hint_asked = *attr;
	if (!check_host->hints)
		return;
	check_hint_limit(dev, NULL, 0, attr->max_send_wr, COMMON_QP_WR);
	check_hint_limit(dev, NULL, 2, attr->max_send_sge, COMMON_SGE);
	check_hint_limit(dev, NULL, 4, attr->max_inline, COMMON_INLINE);
	if (attr->srq)
		return;
	check_hint_limit(dev, NULL, 1, attr->max_recv_wr, COMMON_QP_WR);
	check_hint_limit(dev, NULL, 3, attr->max_recv_sge, COMMON_SGE);
}

void check_hint_cq_wanted(struct rdev *dev, uint32_t cqe)
{
	if (check_host->hints)
		check_hint_limit(dev, NULL, 5, cqe, COMMON_CQE);
}

void check_hint_srq_wanted(struct rdev *dev, const struct srq_init_attr *attr)
{
	if (!check_host->hints)
		return;
	check_hint_limit(dev, NULL, 6, attr->max_wr, COMMON_SRQ_WR);
	check_hint_limit(dev, NULL, 7, attr->max_sge, COMMON_SRQ_SGE);
}

/* The entries of the receive queue of a QP, or of its SRQ if no other QP has counted that in this round. */
static uint32_t check_hint_receives(const struct qp *qp, uint32_t round)
{
	if (!qp->srq)
		return qp->check ? check_sends(qp)->asked_recv : qp->max_recv_wr;
	if (qp->srq->counted == round)
		return 0;
	qp->srq->counted = round;
	return qp->srq->asked;
}

/*
 * The entries of all queues whose completions the CQ gets. All receives of an SRQ may be used by its QPs of this CQ. What
 * the program has asked for counts: the queues may be larger.
 */
static uint64_t check_hint_entries(const struct rdev *dev, const struct cq *cq)
{
	static uint32_t round;
	const struct qp *qp;
	uint64_t all = 0;

	round++;
	for (uint32_t b = 0; b < dev->nblocks; b++)
		for (uint32_t i = 0; (qp = idtable_next(&dev->blocks[b].qps, &i)); i++) {
			if (qp->send_cq == cq)
				all += qp->check ? check_sends(qp)->asked_send : qp->max_send_wr;
			if (qp->recv_cq == cq)
				all += check_hint_receives(qp, round);
		}
	return all;
}

static void check_hint_cq(struct qp *qp, const struct cq *cq)
{
	uint64_t all = check_hint_entries(qp->dev, cq);
	struct check_found f = { 0 };

	if (all <= cq->cqe)
		return;
	why_set(&f.why, HINT_CQ_SMALL, cq->cqe, all);
	check_hint_found(qp->dev, qp, &f);
}

void check_hint_qp(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);

	s->asked_send = check_hint_asked.max_send_wr;
	s->asked_recv = check_hint_asked.max_recv_wr;
	if (!check_host->hints)
		return;
	check_hint_cq(qp, qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		check_hint_cq(qp, qp->recv_cq);
}

/* Entry 0 of the GID table of a RoCE port is mostly the link-local address. */
static void check_hint_gid(struct rdev *dev, const struct qp *qp,
			   const struct ib_uverbs_ah_attr *ah)
{
	const uint8_t *gid = dev->gid[0].raw;
	struct check_found f = { 0 };

	if (dev->port.ib || !ah->is_global || ah->grh.sgid_index || gid[0] != 0xfe ||
	    gid[1] != 0x80)
		return;
	why_set(&f.why, HINT_GID);
	check_hint_found(dev, qp, &f);
}

void check_hint_ah(struct rdev *dev, const struct ib_uverbs_ah_attr *attr)
{
	if (check_host->hints)
		check_hint_gid(dev, NULL, attr);
}

static void check_hint_retries(struct qp *qp, uint32_t mask)
{
	const uint32_t both = IB_QP_RETRY_CNT | IB_QP_RNR_RETRY;
	struct check_found f = { 0 };

	if (mask & IB_QP_TIMEOUT && !qp->attr.timeout) {
		why_set(&f.why, HINT_TIMEOUT);
		check_hint_found(qp->dev, qp, &f);
	}
	if ((mask & both) != both || qp->attr.retry_cnt != RETRY_MOST ||
	    qp->attr.rnr_retry != RETRY_MOST)
		return;
	why_set(&f.why, HINT_RETRY);
	check_hint_found(qp->dev, qp, &f);
}

void check_hint_modified(struct qp *qp, uint32_t mask)
{
	const struct qp_attr *a = &qp->attr;
	struct check_found f = { 0 };

	if (!check_host->hints)
		return;
	if (mask & IB_QP_AV)
		check_hint_gid(qp->dev, qp, &a->ah);
	if (mask & IB_QP_MIN_RNR_TIMER && !a->min_rnr_timer) {
		why_set(&f.why, HINT_RNR_TIMER);
		check_hint_found(qp->dev, qp, &f);
	}
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		check_hint_limit(qp->dev, qp, 8, a->max_rd_atomic, COMMON_RD_ATOMIC);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		check_hint_limit(qp->dev, qp, 9, a->max_dest_rd_atomic, COMMON_RD_ATOMIC);
	check_hint_retries(qp, mask);
}

void check_hint_taken(struct qp *qp)
{
	uint32_t left = ring_count(qp->srq ? &qp->srq->rq : &qp->rq) - 1;
	uint32_t *most = qp->srq ? &qp->srq->most : &check_sends(qp)->receives;
	struct check_found f = { .dev = qp->dev, .qpn = qp->qpn };

	if (!check_host->hints)
		return;
	*most = max(*most, left + 1);
	if (*most < RECEIVES_SOME || left > *most / RECEIVES_FEW)
		return;
	why_set(&f.why, HINT_RECEIVES, !!qp->srq, *most, left);
	check_host->found(&f);
}

void check_ending(struct rdev *dev, const struct check_left *left)
{
	struct check_found f = { .dev = dev };

	if (!check_host->hints ||
	    !(left->qps | left->cqs | left->srqs | left->mrs | left->ahs | left->mws))
		return;
	why_set(&f.why, HINT_LEFT, left->qps, left->cqs, left->srqs, left->mrs, left->ahs,
		left->mws);
	check_host->found(&f);
}
