/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/credits.h"

/*
 * The queue is free up to index. librxe takes it for full when mask slots are in use; the index that it reads is behind by
 * the slots that the ring has more than the queue.
 */
static void credits_free(struct qp *qp, uint32_t index)
{
	uint32_t spare = qp->sq.mask - qp->max_send_wr;

	smp_store_release(&qp->sq.buf->consumer_index, (index - spare) & qp->sq.mask);
}

void credits_begin(struct qp *qp)
{
	if (!qp->dev->credits_poll)
		return;
	qp->special |= QP_CREDITS;
	credits_free(qp, qp->sq.index);
}

void credits_consume_special(struct qp *qp)
{
	if (qp->check)
		check_ops->consumed(qp);
	if (qp->special & QP_CREDITS)
		qp->sq.index = (qp->sq.index + 1) & qp->sq.mask;
	else
		ring_consume(&qp->sq);
}

void credits_note(struct qp *qp, bool send)
{
	struct cq *cq = qp->send_cq;

	if (qp->special & QP_CREDITS && send)
		cq->credit[cq->ring.index & cq->ring.mask] = (struct credit){ qp, qp->sq.index };
	if (qp->check)
		check_ops->note(qp, send);
}

void credits_return(struct cq *cq)
{
	uint32_t end;

	if (!cq->credit)
		return;
	end = cq_consumer(cq);
	while (cq->credit_next != end) {
		struct credit *c = &cq->credit[cq->credit_next];

		if (c->qp)
			credits_free(c->qp, c->sq);
		c->qp = NULL;
		cq->credit_next = (cq->credit_next + 1) & cq->ring.mask;
	}
}

bool credits_full(const struct qp *qp)
{
	uint32_t free = READ_ONCE(qp->sq.buf->consumer_index);

	if (!(qp->special & QP_CREDITS))
		return false;
	return ((ring_producer(&qp->sq) - free) & qp->sq.mask) == qp->sq.mask;
}

void credits_forget(struct qp *qp)
{
	struct cq *cq = qp->send_cq;

	if (unlikely(qp->check))
		check_ops->forget(qp);
	if (!(qp->special & QP_CREDITS))
		return;
	for (uint32_t i = 0; i <= cq->ring.mask; i++)
		if (cq->credit[i].qp == qp)
			cq->credit[i].qp = NULL;
	credits_free(qp, qp->sq.index);
}
