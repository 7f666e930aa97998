/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "base/pool.h"
#include "core/check.h"
#include "core/credits.h"
#include "core/shake.h"

/* Slot size in bytes: the smallest that the provider accepts. */
#define CQE_SIZE 64

uint32_t cq_published;

_Static_assert(sizeof(struct ib_uverbs_wc) <= CQE_SIZE, "a completion fits its slot");

int cq_refuse_vector(struct rdev *dev, uint32_t comp_vector)
{
	return rdev_refuse(dev, -EINVAL, CQ_VECTOR, comp_vector, dev->num_comp_vectors);
}

static int cq_credits_alloc(const struct cq *cq, const struct ring *ring, struct credit **credit)
{
	if (!cq->uctx->dev->credits_poll)
		return 0;
	*credit = pool_zalloc((ring->mask + 1) * sizeof(**credit));
	return *credit ? 0 : -ENOMEM;
}

/* credit may be NULL. */
static void cq_credits_free(struct credit *credit, const struct ring *ring)
{
	pool_free(credit, (ring->mask + 1) * sizeof(*credit));
}

static int cq_check_size(struct rdev *dev, uint32_t cqe)
{
	uint32_t most = like_max_cqe(dev->like);

	if (cqe && cqe <= most)
		return 0;
	return rdev_refuse(dev, like_errno(dev->like->e_cqe), CQ_SIZE, cqe, most);
}

int cq_create(struct ucontext *uctx, uint32_t cqe, uint32_t comp_vector,
	      struct event_file *channel, struct event_file *async,
	      uint64_t user_handle, struct cq **out)
{
	const struct like *like = uctx->dev->like;
	struct cq *cq;
	int err;

	/* ib_core checks the vector before the driver checks the size. */
	if (comp_vector >= uctx->dev->num_comp_vectors)
		return cq_refuse_vector(uctx->dev, comp_vector);
	if (unlikely(check_ops))
		check_ops->cq_wanted(uctx->dev, cqe);
	err = cq_check_size(uctx->dev, cqe);
	if (!err)
		err = rdev_full(uctx, RDEV_CQ, like->max_cq, like->e_cqs);
	if (err)
		return err;
	cq = pool_zalloc(sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->uctx = uctx;
	cq->cqe = like_cqe(like, cqe);
	ring_layout(&cq->ring, cq->cqe, CQE_SIZE);
	err = cq_credits_alloc(cq, &cq->ring, &cq->credit);
	if (!err)
		err = uctx->ops->ring_alloc(uctx, &cq->ring);
	if (err) {
		cq_credits_free(cq->credit, &cq->ring);
		pool_free(cq, sizeof(*cq));
		return err;
	}
	cq->special = cq->credit;
	list_init(&cq->armed);
	if (unlikely(shake_ops) && uctx->dev->ops->hold)
		shake_ops->cq_begin(cq);
	cq->closely = uctx->dev->holds || cq->shake;
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
	if (cq->hold)
		cq->uctx->dev->ops->hold(cq, CQ_HOLD_END);
	*comp_reported = event_source_fini(&cq->comp);
	*async_reported = event_source_fini(&cq->async);
	list_del(&cq->armed);
	if (unlikely(cq->check))
		check_ops->cq_end(cq);
	if (unlikely(cq->shake))
		shake_ops->cq_end(cq);
	cq_credits_free(cq->credit, &cq->ring);
	cq->uctx->ops->ring_free(cq->uctx, &cq->ring);
	cq->uctx->ncq--;
	pool_free(cq, sizeof(*cq));
	return 0;
}

uint32_t cq_consumer(struct cq *cq)
{
	const struct ring *r = &cq->ring;
	uint32_t c = ring_consumer(r);

	if (((c - cq->consumer) & r->mask) > ((r->index - cq->consumer) & r->mask))
		c = r->index;
	cq->consumer = c;
	return c;
}

/* Number of completions that the program has not polled. Reads the program's index once. */
static uint32_t cq_unpolled(struct cq *cq)
{
	return (cq->ring.index - cq_consumer(cq)) & cq->ring.mask;
}

int cq_resize_alloc(struct cq *cq, uint32_t cqe, struct ring *ring)
{
	struct rdev *dev = cq->uctx->dev;
	uint32_t unpolled = cq_unpolled(cq);
	int err;

	if (like_lacks(dev->like, LIKE_NO_RESIZE_CQ))
		return rdev_refuse(dev, like_errno(dev->like->e_resize_cq), DEV_LACKS,
				   LIKE_NO_RESIZE_CQ);
	err = cq_check_size(dev, cqe);
	if (err)
		return err;
	if (cqe < unpolled)
		return rdev_refuse(dev, -EINVAL, CQ_SHRINK, cqe, unpolled);
	memset(ring, 0, sizeof(*ring));
	cq->cqe_resized = like_cqe(dev->like, cqe);
	ring_layout(ring, cq->cqe_resized, CQE_SIZE);
	err = cq_credits_alloc(cq, ring, &cq->credit_resized);
	if (!err)
		err = cq->uctx->ops->ring_alloc(cq->uctx, ring);
	if (err) {
		cq_credits_free(cq->credit_resized, ring);
		cq->credit_resized = NULL;
	}
	return err;
}

void cq_resize_commit(struct cq *cq, const struct ring *ring)
{
	struct ring old = cq->ring, new = *ring;
	uint32_t n, from;

	if (cq->hold)
		cq->uctx->dev->ops->hold(cq, CQ_HOLD_END);
	credits_return(cq);
	n = cq_unpolled(cq);
	from = old.index - n;
	/*
	 * cq_resize_alloc() has checked that n completions fit into the new ring. The program may
	 * have moved its consumer index back since then: move no more than the new ring holds.
	 */
	n = min(n, ring_capacity(&new));
	while (n--) {
		memcpy(ring_slot(&new, new.index), ring_slot(&old, from), CQE_SIZE);
		if (cq->credit)
			cq->credit_resized[new.index] = cq->credit[from & old.mask];
		from++;
		ring_produce(&new);
	}
	cq->ring = new;
	cq->cqe = cq->cqe_resized;
	cq->consumer = 0;
	cq_credits_free(cq->credit, &old);
	cq->credit = cq->credit_resized;
	cq->credit_resized = NULL;
	cq->credit_next = 0;
	cq->uctx->ops->ring_free(cq->uctx, &old);
}

void cq_resize_drop(struct cq *cq, struct ring *ring)
{
	cq_credits_free(cq->credit_resized, ring);
	cq->credit_resized = NULL;
	cq->uctx->ops->ring_free(cq->uctx, ring);
}

void cq_arm(struct cq *cq, bool solicited_only)
{
	if (!solicited_only)
		cq->notify = CQ_ARM_NEXT;
	else if (!cq->notify)
		cq->notify = CQ_ARM_SOLICITED;
	cq->arm_count = cq->notify == CQ_ARM_NEXT ? cq->count : cq->solicited;
}

bool cq_arm_pending(struct cq *cq)
{
	/* Completion number n is among the last u, which are unpolled, if count - n < u. */
	return cq->notify && cq->comp.file &&
	       cq->count - cq->arm_count < cq_unpolled(cq) - cq->hidden;
}

void cq_arm_raise(struct cq *cq)
{
	cq->notify = 0;
	event_raise(&cq->comp, 0);
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

bool cq_fail(struct cq *cq)
{
	struct why_rec r = { .event = IB_EVENT_CQ_ERR + 1 };

	if (cq->overflowed)
		return false;
	cq->overflowed = cq->failed = cq->special = true;
	why_set(&r.why, EVENT_FAULT);
	rdev_failed(cq->uctx->dev, &r);
	event_raise(&cq->async, IB_EVENT_CQ_ERR);
	return true;
}

static inline struct ib_uverbs_wc *cq_take(struct cq *cq)
{
	struct ib_uverbs_wc *wc;

	uint32_t consumer = ring_consumer(&cq->ring);

	if (unlikely(ring_full(&cq->ring, consumer))) {
		cq_overflow(cq);
		return NULL;
	}
	/* Kept at each completion, so that cq_consumer() can tell past the producer from far behind it. */
	cq->consumer = consumer;
	wc = ring_slot(&cq->ring, cq->ring.index);
	memset(wc, 0, CQE_SIZE);
	return wc;
}

static noinline struct ib_uverbs_wc *cq_reserve_special(struct cq *cq)
{
	if (cq->failed)
		return NULL;
	/* Before the slots of polled completions are used again. */
	credits_return(cq);
	return cq_take(cq);
}

/* A tail call, so that this function needs no stack. */
HOT struct ib_uverbs_wc *cq_reserve(struct cq *cq)
{
	return unlikely(cq->special) ? cq_reserve_special(cq) : cq_take(cq);
}

/* The event of a completion is due, unless it is to wait. */
static void cq_event(struct cq *cq)
{
	if (unlikely(cq->shake) && cq->uctx->dev->ops->hold(cq, CQ_HOLD_EVENT))
		cq->notify = 0;
	else
		cq_arm_raise(cq);
}

/* A completion has become visible. */
static inline void cq_shown(struct cq *cq, bool solicited)
{
	smp_store_release(&cq_published, cq_published + 1);
	cq->count++;
	if (solicited)
		cq->solicited = cq->count;
	if (likely(!cq->notify))
		return;
	if (cq->notify == CQ_ARM_NEXT || solicited)
		cq_event(cq);
}

/* Hides the completion that is published, if it is held. */
static noinline bool cq_publish_closely(struct cq *cq, bool solicited)
{
	struct rdev *dev = cq->uctx->dev;

	if (cq->check)
		check_ops->publish(cq, ring_slot(&cq->ring, cq->ring.index));
	return (dev->holds || cq->shake) &&
	       dev->ops->hold(cq, solicited ? CQ_HOLD_SOLICITED : CQ_HOLD);
}

HOT void cq_publish(struct cq *cq, bool solicited)
{
	if (unlikely(cq->closely) && cq_publish_closely(cq, solicited)) {
		cq->ring.index = (cq->ring.index + 1) & cq->ring.mask;
		return;
	}
	ring_produce(&cq->ring);
	cq_shown(cq, solicited);
}

void cq_unhide(struct cq *cq, bool solicited)
{
	cq->hidden--;
	ring_show(&cq->ring, cq->hidden);
	cq_shown(cq, solicited);
}
