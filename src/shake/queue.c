/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segments that wait at a QP. Each direction of a QP is a queue: while one waits, those behind it wait as well, so the order
 * stays. All are handed over when the time of the queue has come, when the queue is full, or when the QP ends.
 */
#include <string.h>
#include "base/pool.h"
#include "core/umem.h"
#include "shake/shake_internal.h"

#define QUEUE_SEGS 256u
#define QUEUE_BYTES (8u << 20)

void queue_init(struct shake_state *s)
{
	for (int i = 0; i < SHAKE_SIDES; i++)
		list_init(&s->queue[i].segs);
	s->qp.due = NS_NEVER;
}

bool queue_waits(const struct shake_state *s, enum shake_side side)
{
	return s->queue[side].until;
}

/* A copy of the segment with len bytes of its payload from off on. NULL: no memory, or the payload cannot be read. */
static struct shake_seg *shake_seg_make(const struct seg *seg, struct link *from, uint64_t off,
					uint64_t len)
{
	size_t size = sizeof(struct shake_seg) + len;
	struct shake_seg *h = pool_alloc(size);

	if (!h)
		return NULL;
	*h = (struct shake_seg){ .from = from, .size = size };
	if (seg_keep(&h->kept, h->data, seg, off, len, umem_copy_iov)) {
		pool_free(h, size);
		return NULL;
	}
	link_get(from);
	return h;
}

static void shake_seg_free(struct shake_seg *h, bool links)
{
	if (links)
		link_put(h->from);
	pool_free(h, h->size);
}

bool queue_keep(struct qp *qp, enum shake_side side, const struct seg *seg, struct link *from,
		ns_t now, shake_replay *replay)
{
	struct shake_queue *q = &shake_of(qp)->queue[side];
	struct shake_seg *h = NULL;

	if (q->n < QUEUE_SEGS && q->bytes + seg->len <= QUEUE_BYTES)
		h = shake_seg_make(seg, from, 0, seg->len);
	if (!h) {
		while (queue_waits(shake_of(qp), side))
			queue_release(qp, side, now, replay);
		return false;
	}
	list_add_tail(&h->entry, &q->segs);
	q->n++;
	q->bytes += h->kept.iov.iov_len;
	return true;
}

bool queue_keep_part(struct qp *qp, enum shake_side side, const struct seg *seg, uint64_t off,
		     const struct shake_part *part)
{
	struct shake_queue *q = &shake_of(qp)->queue[side];
	struct shake_seg *h = shake_seg_make(seg, shake_of(qp)->from, off + part->from, part->len);

	if (!h)
		return false;
	h->part = *part;
	list_add(&h->entry, &q->segs);
	q->n++;
	q->bytes += h->kept.iov.iov_len;
	return true;
}

void queue_hold(struct qp *qp, enum shake_side side, ns_t until)
{
	struct shake_state *s = shake_of(qp);

	s->queue[side].until = until;
	shake_set_due(s);
}

/* Takes the oldest one out of the queue. */
static struct shake_seg *queue_take(struct shake_queue *q)
{
	struct shake_seg *h = list_first_entry(&q->segs, struct shake_seg, entry);

	list_del(&h->entry);
	q->n--;
	q->bytes -= h->kept.iov.iov_len;
	return h;
}

/* What is handed over may be decided again, and then the rest waits on. */
void queue_release(struct qp *qp, enum shake_side side, ns_t now, shake_replay *replay)
{
	struct shake_state *s = shake_of(qp);
	struct shake_queue *q = &s->queue[side];

	q->until = 0;
	while (!list_empty(&q->segs) && !q->until) {
		struct shake_seg *h = queue_take(q);

		s->again = h;
		s->from = h->from;
		s->now = now;
		overtake_input(qp, &h->kept.seg);
		replay(qp, &h->kept.seg, h->from, now);
		s->again = NULL;
		shake_seg_free(h, true);
	}
	shake_set_due(s);
}

void queue_forget(struct shake_state *s, bool links)
{
	for (int i = 0; i < SHAKE_SIDES; i++) {
		while (!list_empty(&s->queue[i].segs))
			shake_seg_free(queue_take(&s->queue[i]), links);
		s->queue[i].until = 0;
	}
}
