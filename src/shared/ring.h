/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ring: records of different lengths from one producer to one consumer, in memory that both can write. A record is a
 * head of fixed size and a body. Zeroed memory is an empty ring.
 *
 * Neither side trusts the other. Each has its position in private memory, and publishes it. The producer writes nothing
 * if the consumer's position is impossible; the consumer copies a record once, and takes no length or position that
 * leads out of the ring. Neither waits for the other.
 *
 * Rings of their own, because their users need something else:
 * - those of librxe (queue/ring.h): their format is rdma-core's ABI;
 * - those of a link (link/shm_ring.h): a data path. The word that announces a slot is in the slot's cache line, so a
 *   small message costs one line; large payload is in an area of its own, or in the producer's memory;
 * - inboxes (ipc/inbox.h): any number of readers take messages, and rused withdraws unread ones, so each slot has a state;
 * - the log of failures (ipc/why_log.h): has no consumer. It overwrites its oldest record, each under a struct seqlock.
 */
#ifndef RUSE_SHARED_RING_H
#define RUSE_SHARED_RING_H

#include "base/util.h"
#include "shared/barrier.h"

/* Shared; the two sides write to different cache lines. */
struct shared_ring {
	_Alignas(64) uint32_t prod;	/* bytes that the producer has added so far */
	_Alignas(64) uint32_t cons;	/* bytes that the consumer has taken so far */
};

/* Private: one side of a ring. Both sides set it up alike. */
struct shared_ring_end {
	struct shared_ring *ring;
	uint8_t *data;		/* the area of the records, in shared memory, aligned to 8 bytes */
	uint32_t size;		/* bytes of the area: a power of two, up to 1 GiB */
	uint32_t head;		/* bytes of the head of a record */
	uint32_t at;		/* this side's own position; 0 at first */
};

/*
 * For the producer: adds a record. len: bytes of the body. False: there is no room (or never will be: a record takes its
 * head, its body and up to 15 bytes more), or the consumer's position is impossible. A full barrier follows the store, so
 * that bell_take() may come next. *before (NULL: not asked for): bytes in the ring that were not taken, without this record.
 */
bool shared_ring_put(struct shared_ring_end *p, const void *head, const void *body, uint32_t len,
		     uint32_t *before);

/*
 * For the consumer: takes a record. head has room for the head, body for `most` bytes. *len: bytes of the body. 0;
 * -EAGAIN: the ring is empty; -EPROTO: the producer's position or a length is impossible, or the body is longer than
 * `most`. The ring cannot be read further then.
 */
int shared_ring_get(struct shared_ring_end *c, void *head, void *body, uint32_t most,
		    uint32_t *len);

/* For the consumer: the producer's position. Unlike c->at while there is a record. */
static inline uint32_t shared_ring_there(const struct shared_ring_end *c)
{
	return smp_load_acquire(&c->ring->prod);
}

#endif
