/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receive WQEs of the QP's own queue or of an SRQ, for all transports.
 *
 * A WQE is fetched when a message needs it, and read once into private memory. The QP then
 * holds it until it is completed: if the payload is lost, the repeated message uses the
 * same WQE. When a QP with an SRQ fails, it flushes only the WQE that it holds (IBA
 * 10.2.9.3). The event LAST_WQE_REACHED says that it will take no more from the SRQ.
 */
#include <rdma/ib_user_verbs.h>
#include "shared/barrier.h"
#include "xport/why.h"

static inline __attribute__((always_inline)) enum recv_fetch
recv_read(struct qp *qp, struct ring *ring, uint32_t max_sge)
{
	struct qp_resp *r = &qp->resp;
	const struct rxe_recv_wqe *s = ring_slot(ring, ring->index);

	if (unlikely(qp_checked(qp)))
		check_ops->recv_taken(qp);
	r->wr_id = READ_ONCE(s->wr_id);
	r->num_sge = READ_ONCE(s->dma.num_sge);
	r->have_wqe = true;
	if (unlikely(r->num_sge > max_sge)) {
		ring_consume(ring);
		return RECV_BAD;
	}
	r->room = 0;
	for (uint32_t i = 0; i < r->num_sge; i++) {
		r->sge[i].addr = READ_ONCE(s->dma.sge[i].addr);
		r->sge[i].length = READ_ONCE(s->dma.sge[i].length);
		r->sge[i].lkey = READ_ONCE(s->dma.sge[i].lkey);
		r->room += r->sge[i].length;
	}
	ring_consume(ring);
	return RECV_GOT;
}

static noinline enum recv_fetch srq_fetch(struct qp *qp, struct srq *srq)
{
	enum recv_fetch got;

	if (unlikely(srq->error))
		return RECV_BAD;
	if (ring_empty(&srq->rq))
		return RECV_NONE;
	got = recv_read(qp, &srq->rq, srq->max_sge);
	if (unlikely(got == RECV_BAD)) {
		xp_why_srq(qp);
		srq_fail(srq);
	} else {
		srq_taken(srq);
	}
	return got;
}

HOT enum recv_fetch recv_fetch(struct qp *qp)
{
	if (qp->resp.have_wqe)
		return RECV_GOT;
	if (unlikely(qp->srq))
		return srq_fetch(qp, qp->srq);
	if (ring_empty(&qp->rq))
		return RECV_NONE;
	return recv_read(qp, &qp->rq, qp->max_recv_sge);
}

/* With --check the message may be put aside. */
static noinline int recv_iov_checked(const struct qp *qp, const struct pd *pd, uint64_t off,
				     uint64_t len, struct iovec *iov)
{
	int n = xp_sge_iov(qp, pd, qp->resp.sge, qp->resp.num_sge, off, len,
			   IB_UVERBS_ACCESS_LOCAL_WRITE, iov);
	void *aside = n > 0 ? check_ops->recv_target(qp, off, len) : NULL;

	if (!aside)
		return n;
	iov[0] = (struct iovec){ aside, len };
	return 1;
}

HOT int recv_iov(const struct qp *qp, uint64_t off, uint64_t len, struct iovec *iov)
{
	const struct pd *pd = qp->srq ? qp->srq->pd : qp->pd;

	if (unlikely(qp_checked(qp)))
		return recv_iov_checked(qp, pd, off, len, iov);
	return xp_sge_iov(qp, pd, qp->resp.sge, qp->resp.num_sge, off, len,
			  IB_UVERBS_ACCESS_LOCAL_WRITE, iov);
}

HOT struct ib_uverbs_wc *recv_wc(struct qp *qp, uint32_t len)
{
	struct ib_uverbs_wc *wc = cq_reserve(qp->recv_cq);

	qp->resp.have_wqe = false;
	if (unlikely(!wc)) {
		xp_why_cq(qp, qp->recv_cq);
		xp_enter_err(qp, true);
		xp_why_event(qp, EV_QP_FATAL);
		event_raise(&qp->async, EV_QP_FATAL);
		xp_flush_sq(qp);
		xp_flush_rq(qp);
		return NULL;
	}
	wc->wr_id = qp->resp.wr_id;
	wc->qp_num = qp->qpn;
	wc->port_num = qp->attr.port;
	qp->resp.recvs++;
	wc->byte_len = len;
	if (unlikely(qp_checked(qp)))
		check_ops->note(qp, false);
	qp->dev->counter[CNT_RDMA_RECVS]++;
	qp->dev->counter[CNT_RECV_BYTES] += len;
	return wc;
}
