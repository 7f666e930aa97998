/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/cq.h"

/* Slot size in bytes: the smallest that the provider accepts. */
#define CQE_SIZE 64

uint32_t cq_published;

_Static_assert(sizeof(struct ib_uverbs_wc) <= CQE_SIZE, "a completion fits its slot");

int cq_refuse_vector(struct rdev *dev, uint32_t comp_vector)
{
	return rdev_refuse(dev, -EINVAL, CQ_VECTOR, comp_vector, dev->num_comp_vectors);
}

int cq_create(struct ucontext *uctx, uint32_t cqe, uint32_t comp_vector,
	      struct event_file *channel, struct event_file *async,
	      uint64_t user_handle, struct cq **out)
{
	struct cq *cq;
	int err;

	/* ib_core checks the vector before the driver checks the size. */
	if (comp_vector >= uctx->dev->num_comp_vectors)
		return cq_refuse_vector(uctx->dev, comp_vector);
	if (!cqe || cqe > DEV_MAX_CQE)
		return rdev_refuse(uctx->dev, -EINVAL, CQ_SIZE, cqe, DEV_MAX_CQE);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->uctx = uctx;
	ring_layout(&cq->ring, cqe, CQE_SIZE);
	err = uctx->ops->ring_alloc(uctx, &cq->ring);
	if (err) {
		free(cq);
		return err;
	}
	event_source_init(&cq->comp, channel, user_handle);
	event_source_init(&cq->async, async, user_handle);
	uctx->ncq++;
	*out = cq;
	return 0;
}

int cq_destroy(struct cq *cq, uint32_t *comp_reported, uint32_t *async_reported)
{
	if (cq->usecnt)
		return -EBUSY;
	*comp_reported = event_source_fini(&cq->comp);
	*async_reported = event_source_fini(&cq->async);
	cq->uctx->ops->ring_free(cq->uctx, &cq->ring);
	cq->uctx->ncq--;
	free(cq);
	return 0;
}

/* Number of completions that the program has not polled. Reads the program's index once. */
static uint32_t cq_unpolled(const struct ring *r)
{
	return (r->index - smp_load_acquire(&r->buf->consumer_index)) & r->mask;
}

int cq_resize_alloc(struct cq *cq, uint32_t cqe, struct ring *ring)
{
	uint32_t unpolled = cq_unpolled(&cq->ring);

	if (!cqe || cqe > DEV_MAX_CQE)
		return rdev_refuse(cq->uctx->dev, -EINVAL, CQ_SIZE, cqe, DEV_MAX_CQE);
	if (cqe < unpolled)
		return rdev_refuse(cq->uctx->dev, -EINVAL, CQ_SHRINK, cqe, unpolled);
	memset(ring, 0, sizeof(*ring));
	ring_layout(ring, cqe, CQE_SIZE);
	return cq->uctx->ops->ring_alloc(cq->uctx, ring);
}

void cq_resize_commit(struct cq *cq, const struct ring *ring)
{
	struct ring old = cq->ring, new = *ring;
	uint32_t n = cq_unpolled(&old), from = old.index - n;

	/*
	 * cq_resize_alloc() has checked that n completions fit into the new ring. The program may
	 * have moved its consumer index back since then: move no more than the new ring holds.
	 */
	n = min(n, ring_capacity(&new));
	while (n--) {
		memcpy(ring_slot(&new, new.index), ring_slot(&old, from++), CQE_SIZE);
		ring_produce(&new);
	}
	cq->ring = new;
	cq->uctx->ops->ring_free(cq->uctx, &old);
}

void cq_resize_drop(struct cq *cq, struct ring *ring)
{
	cq->uctx->ops->ring_free(cq->uctx, ring);
}

void cq_arm(struct cq *cq, bool solicited_only)
{
	if (!solicited_only)
		cq->notify = CQ_ARM_NEXT;
	else if (!cq->notify)
		cq->notify = CQ_ARM_SOLICITED;
}

static noinline __cold void cq_overflow(struct cq *cq)
{
	struct rdev *dev = cq->uctx->dev;
	struct why_rec r = { .event = IB_EVENT_CQ_ERR + 1 };

	if (cq->overflowed)
		return;
	cq->overflowed = true;
	why_set(&r.why, EVENT_CQ, cq->ring.mask);
	rdev_failed(dev, &r);
	event_raise(&cq->async, IB_EVENT_CQ_ERR);
}

HOT struct ib_uverbs_wc *cq_reserve(struct cq *cq)
{
	struct ib_uverbs_wc *wc;

	if (unlikely(ring_full(&cq->ring))) {
		cq_overflow(cq);
		return NULL;
	}
	wc = ring_slot(&cq->ring, cq->ring.index);
	memset(wc, 0, CQE_SIZE);
	return wc;
}

HOT void cq_publish(struct cq *cq, bool solicited)
{
	ring_produce(&cq->ring);
	smp_store_release(&cq_published, cq_published + 1);
	if (likely(!cq->notify))
		return;
	if (cq->notify == CQ_ARM_NEXT || solicited) {
		cq->notify = 0;
		event_raise(&cq->comp, 0);
	}
}
