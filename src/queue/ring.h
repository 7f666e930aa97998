/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rings that the rxe provider maps (struct rxe_queue_buf of
 * <rdma/rdma_user_rxe.h>): one producer, one consumer. Indices are in [0, mask] and
 * equal when the ring is empty, so that slots - 1 entries are usable.
 *
 * The program may write to the memory at any time. Therefore log2_elem_size and
 * index_mask are published there but not read back, and the program's index is masked
 * before use. This side's index is in struct ring, in private memory; its copy in the
 * shared memory is written for the program and never read back.
 */
#ifndef RUSE_QUEUE_RING_H
#define RUSE_QUEUE_RING_H

#include <rdma/rdma_user_rxe.h>
#include "base/util.h"
#include "shared/barrier.h"

struct ring {
	struct rxe_queue_buf *buf;
	uint32_t mask;		/* slots - 1 */
	uint32_t log2_elem;
	uint32_t index;		/* consumer index of an SQ, RQ or SRQ, producer index of a CQ; the other index is the program's */
	uint32_t buf_size;	/* bytes, page aligned; mminfo.size */
	uint64_t offset;	/* in the uverbs memfd; mminfo.offset */
};

/*
 * Sets the geometry of a ring with at least min_entries usable entries of elem_size bytes, and
 * returns its size in bytes (page aligned). As in kernel rxe, slot size is a power of two, at
 * least 64, and the number of slots a power of two above min_entries. 0: does not fit the 32 bits
 * of mminfo.size.
 */
uint32_t ring_layout(struct ring *r, uint32_t min_entries, uint32_t elem_size);
/* Uses zeroed memory of buf_size bytes, owned by the caller, and publishes the geometry in it. */
void ring_init(struct ring *r, void *mem);

/* Number of entries a ring can hold, as reported by query_qp and create_cq. */
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

/* Number of entries that the producer has added and this side has not consumed. */
static inline uint32_t ring_count(const struct ring *r)
{
	return (ring_producer(r) - r->index) & r->mask;
}

/* Returns the head slot to the producer. */
static inline void ring_consume(struct ring *r)
{
	r->index = (r->index + 1) & r->mask;
	smp_store_release(&r->buf->consumer_index, r->index);
}

/* Producer side (CQ). */
static inline uint32_t ring_consumer(const struct ring *r)
{
	return smp_load_acquire(&r->buf->consumer_index) & r->mask;
}

static inline bool ring_full(const struct ring *r, uint32_t consumer)
{
	return ((r->index + 1) & r->mask) == consumer;
}

/* Publishes ring_slot(r, r->index), which the caller has filled. Only if !ring_full(). */
static inline void ring_produce(struct ring *r)
{
	r->index = (r->index + 1) & r->mask;
	smp_store_release(&r->buf->producer_index, r->index);
}

/* Publishes all but the latest `hidden` slots. */
static inline void ring_show(struct ring *r, uint32_t hidden)
{
	smp_store_release(&r->buf->producer_index, (r->index - hidden) & r->mask);
}

/* True if the program has consumed all entries. */
static inline bool ring_drained(const struct ring *r)
{
	return ring_consumer(r) == r->index;
}

#endif
