/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rings that the rxe provider maps (struct rxe_queue_buf of
 * <rdma/rdma_user_rxe.h>): one producer, one consumer, indices kept masked in
 * [0, mask], empty when equal, so that slots-1 entries are usable.
 *
 * The memory belongs to the program: it may scribble over all of it at any
 * time. So log2_elem_size and index_mask are published there but never read
 * back, the other side's index is masked before use, and our own index is kept
 * privately and only published.
 */
#ifndef RUSE_QUEUE_RING_H
#define RUSE_QUEUE_RING_H

#include <rdma/rdma_user_rxe.h>
#include "base/util.h"
#include "queue/barrier.h"

struct ring {
	struct rxe_queue_buf *buf;
	uint32_t mask;		/* slots - 1 */
	uint32_t log2_elem;
	uint32_t index;		/* ours: consumer of SQ, RQ, SRQ; producer of CQ */
	uint32_t buf_size;	/* bytes, page aligned: what mminfo tells */
	uint64_t offset;	/* in the uverbs memfd: what mminfo tells */
};

/*
 * Bytes (page aligned) of a ring with at least min_entries usable entries of elem_size bytes;
 * sets the geometry. Slots are a power of two of at least 64 bytes, their number a power of two
 * above min_entries, as rxe has them. 0: more than the 32 bits of mminfo.size can tell.
 */
uint32_t ring_layout(struct ring *r, uint32_t min_entries, uint32_t elem_size);
/* Takes zeroed memory of buf_size bytes and publishes the geometry in it. */
void ring_init(struct ring *r, void *mem);

/* Entries a ring can hold: what query_qp and create_cq report. */
static inline uint32_t ring_capacity(const struct ring *r)
{
	return r->mask;
}

static inline void *ring_slot(const struct ring *r, uint32_t index)
{
	return r->buf->data + ((size_t)(index & r->mask) << r->log2_elem);
}

/* Consumer side (SQ, RQ, SRQ). */
static inline uint32_t ring_producer(const struct ring *r)
{
	return smp_load_acquire(&r->buf->producer_index) & r->mask;
}

static inline bool ring_empty(const struct ring *r)
{
	return ring_producer(r) == r->index;
}

/* Entries between our index and the producer's. */
static inline uint32_t ring_count(const struct ring *r)
{
	return (ring_producer(r) - r->index) & r->mask;
}

/* Gives the head slot back to the producer. */
static inline void ring_consume(struct ring *r)
{
	r->index = (r->index + 1) & r->mask;
	smp_store_release(&r->buf->consumer_index, r->index);
}

/* Producer side (CQ). */
static inline bool ring_full(const struct ring *r)
{
	return ((r->index + 1) & r->mask) ==
	       (smp_load_acquire(&r->buf->consumer_index) & r->mask);
}

static inline void ring_produce(struct ring *r)
{
	r->index = (r->index + 1) & r->mask;
	smp_store_release(&r->buf->producer_index, r->index);
}

/* True when the program has nothing left to poll. */
static inline bool ring_drained(const struct ring *r)
{
	return (smp_load_acquire(&r->buf->consumer_index) & r->mask) == r->index;
}

#endif
