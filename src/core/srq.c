/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "base/pool.h"
#include "core/check.h"
#include "core/srq.h"

#define WQE_SIZE(max_sge) \
	((uint32_t)(sizeof(struct rxe_recv_wqe) + (max_sge) * sizeof(struct rxe_sge)))

/* SRQ numbers begin at 0x20001, as in kernel rxe. */
#define SRQ_NUM_BASE 0x20000u
#define MAX_SRQ 0xdffffu

/* All SRQs of the process. */
static struct idtable srqs = { .limit = MAX_SRQ + 1 };

int srq_create(struct pd *pd, struct srq_init_attr *attr, struct srq **out)
{
	struct ucontext *uctx = pd->uctx;
	const struct like *like = uctx->dev->like;
	uint32_t asked = attr->max_wr;
	struct srq *srq;
	int64_t id;
	int err;

	if (unlikely(check_ops))
		check_ops->srq_wanted(uctx->dev, attr);
	if (like_lacks(like, LIKE_NO_SRQ))
		return rdev_refuse(uctx->dev, like_errno(like->e_srqs), DEV_LACKS, LIKE_NO_SRQ);
	if (!attr->max_wr || attr->max_wr > like->max_srq_wr)
		return rdev_refuse(uctx->dev, like_errno(like->e_srq_wr), SRQ_LIMIT, 0,
				   attr->max_wr, 1, like->max_srq_wr);
	if (attr->max_sge > like->max_srq_sge)
		return rdev_refuse(uctx->dev, like_errno(like->e_srq_sge), SRQ_LIMIT, 1,
				   attr->max_sge, 0, like->max_srq_sge);
	err = rdev_full(uctx, RDEV_SRQ, like->max_srq, like->e_srqs);
	if (err)
		return err;
	like_srq(like, attr);
	srq = pool_zalloc(sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->uctx = uctx;
	srq->pd = pd;
	srq->max_wr = attr->max_wr;
	srq->asked = asked;
	srq->max_sge = attr->max_sge;
	srq->limit = attr->limit;
	ring_layout(&srq->rq, attr->max_wr, WQE_SIZE(srq->max_sge));
	err = uctx->ops->ring_alloc(uctx, &srq->rq);
	if (err)
		goto free_srq;
	id = idtable_alloc_cyclic(&srqs, 1, srq);
	if (id < 0) {
		err = id == -ENOSPC ? -EINVAL : (int)id;
		goto free_ring;
	}
	srq->num = SRQ_NUM_BASE + (uint32_t)id;
	event_source_init(&srq->async, attr->async, attr->user_handle);
	pd->usecnt++;
	uctx->nsrq++;
	*out = srq;
	return 0;

free_ring:
	uctx->ops->ring_free(uctx, &srq->rq);
free_srq:
	pool_free(srq, sizeof(*srq));
	return err;
}

int srq_destroy(struct srq *srq, uint32_t *reported)
{
	if (srq->usecnt)
		return -EBUSY;
	*reported = event_source_fini(&srq->async);
	if (unlikely(srq->check))
		check_ops->srq_end(srq);
	idtable_remove(&srqs, srq->num - SRQ_NUM_BASE);
	srq->uctx->ops->ring_free(srq->uctx, &srq->rq);
	srq->uctx->nsrq--;
	srq->pd->usecnt--;
	pool_free(srq, sizeof(*srq));
	return 0;
}

int srq_resize_alloc(struct srq *srq, uint32_t max_wr, struct ring *ring)
{
	uint32_t least = max(max(srq->limit, ring_count(&srq->rq)), 1u);
	const struct like *like = srq->uctx->dev->like;
	struct srq_init_attr size = { .max_wr = max_wr };

	/* Linux 6.1: mlx5_ib_modify_srq(), bnxt_re_modify_srq(). */
	if (like_lacks(like, LIKE_NO_RESIZE_SRQ))
		return rdev_refuse(srq->uctx->dev, -EINVAL, DEV_LACKS, LIKE_NO_RESIZE_SRQ);
	if (max_wr > like->max_srq_wr || max_wr < least)
		return rdev_refuse(srq->uctx->dev, like_errno(like->e_srq_wr), SRQ_LIMIT, 0, max_wr,
				   least, like->max_srq_wr);
	like_srq(like, &size);
	srq->max_wr_resized = size.max_wr;
	srq->asked_resized = max_wr;
	memset(ring, 0, sizeof(*ring));
	ring_layout(ring, size.max_wr, WQE_SIZE(srq->max_sge));
	return srq->uctx->ops->ring_alloc(srq->uctx, ring);
}

/* Copies the WQEs to the start of the new ring. The program takes over the producer index that it finds there. */
void srq_resize_commit(struct srq *srq, const struct ring *ring)
{
	struct ring old = srq->rq, new = *ring;
	uint32_t n = min(ring_count(&old), ring_capacity(&new));

	for (uint32_t i = 0; i < n; i++)
		memcpy(ring_slot(&new, i), ring_slot(&old, old.index + i),
		       (size_t)1 << new.log2_elem);
	smp_store_release(&new.buf->producer_index, n);
	srq->rq = new;
	srq->max_wr = srq->max_wr_resized;
	srq->asked = srq->asked_resized;
	srq->uctx->ops->ring_free(srq->uctx, &old);
}

void srq_resize_drop(struct srq *srq, struct ring *ring)
{
	srq->uctx->ops->ring_free(srq->uctx, ring);
}

void srq_limit_reached(struct srq *srq)
{
	srq->limit = 0;
	event_raise(&srq->async, IB_EVENT_SRQ_LIMIT_REACHED);
}

void srq_taken(struct srq *srq)
{
	if (likely(!srq->limit) || ring_count(&srq->rq) >= srq->limit)
		return;
	srq_limit_reached(srq);
}

void srq_fail(struct srq *srq)
{
	if (srq->error)
		return;
	srq->error = true;
	event_raise(&srq->async, IB_EVENT_SRQ_ERR);
}
