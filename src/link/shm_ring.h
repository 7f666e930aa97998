/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pair of rings of a shm link: format, producer and consumer. See shm_ring.c. struct shm_half
 * is written by two processes that do not trust each other; indices, bookkeeping and decisions are
 * in private memory.
 */
#ifndef RUSE_LINK_SHM_RING_H
#define RUSE_LINK_SHM_RING_H

#include "link/link.h"
#include "shared/bell.h"
#include "why/why.h"

#define SHM_SLOTS 256u		/* power of two */
#define SHM_DATA (2u << 20)	/* holds the largest segment, which may have to be copied */
#define SHM_MAX_SEG (1u << 20)
/*
 * Largest copied segment. It is a fraction of SHM_DATA, so that the producer copies one segment in
 * while the consumer copies another out.
 */
#define SHM_MAX_COPY (128u << 10)
#define SHM_INLINE 64u
#define SHM_INLINE_UD 24u	/* SHM_INLINE less the addresses of a datagram (struct seg_net) */
#define SHM_SLOT_IOV 4		/* entries of a reference that fit into the slot */

/* Location of the payload. */
enum slot_kind {
	SLOT_INLINE = 1,	/* in the slot itself (struct shm_slot) */
	SLOT_COPY,		/* in the data area */
	SLOT_REF,		/* in the producer's memory; the list of addresses is in the slot or in the data area */
	SLOT_REF_ARENA,		/* the same, and all of it is pinned in the producer's arena (arena/arena.h) */
};

/*
 * State of a referenced payload. POSTED: the consumer or revoke may take it. BUSY: the consumer
 * copies; if the producer revokes meanwhile, the copy is discarded. REVOKED and FAILED (unreadable
 * for the consumer) are final.
 */
enum ref_state { REF_NONE, REF_POSTED, REF_BUSY, REF_REVOKED, REF_FAILED };

/*
 * Two cache lines. The second is used only by what does not fit into the first. Payload may replace
 * fields that its segment type does not have: shm_inline_at().
 */
struct shm_slot {
	uint32_t tag;		/* lap of the ring, from 1; stored last */
	uint8_t kind, service, type, flags;
	uint8_t syndrome, niov;
	uint16_t pkey;
	uint16_t path_mtu;
	uint16_t has_why;	/* SEG_ACK: 1: data has the reason of the NAK (struct why) */
	uint32_t dqpn, sqpn;
	uint32_t psn, npkts;
	uint32_t len, imm;
	uint32_t msn, qkey;	/* offset 40 */
	uint64_t va;		/* offset 48 */
	uint32_t rkey, dma_len;
	union {			/* offset 64 */
		uint8_t data[SHM_INLINE];
		struct {
			uint64_t swap_add, compare;
		};
		struct iovec iov[SHM_SLOT_IOV];
		uint32_t off;	/* in the data area */
	};
};
_Static_assert(sizeof(struct shm_slot) == 128, "a slot is two cache lines");
_Static_assert(sizeof(struct why) <= SHM_INLINE, "a reason fits into a slot");

/* One direction, from producer to consumer. */
struct shm_half {
	_Alignas(64) uint32_t cons;	/* number of slots consumed so far; written by the consumer */
	uint32_t can_pull;		/* the consumer can read the producer's memory */
	_Alignas(64) struct bell room;	/* the producer waits for cons to move */
	/*
	 * Not 0: the producer executes a WRITE or READ itself (shm_direct.c). (index in the consumer's shm_pub.block
	 * << 14 | index of the QP in that block) + 1.
	 */
	_Alignas(64) uint32_t placing;
	_Alignas(64) uint32_t ref[SHM_SLOTS];	/* enum ref_state */
	_Alignas(64) struct shm_slot slot[SHM_SLOTS];
	_Alignas(4096) uint8_t data[SHM_DATA];
};

struct shm_tx {
	struct shm_half *h;
	uint32_t prod, cons;	/* free-running; cons as last seen */
	uint64_t dhead, dtail;	/* bytes of the data area allocated and freed so far */
	uint32_t nrefs;		/* references in [cons, prod) */
	struct shm_rec {
		uint64_t dend;
		uint32_t sqpn, dqpn, psn;
		bool ref;
	} rec[SHM_SLOTS];
};

struct shm_rx {
	struct shm_half *h;
	uint32_t pos, released;	/* position of the current slot; last position stored in cons, for the producer */
	struct shm_slot local;	/* private copy of the current slot */
	struct iovec iov[SEG_MAX_IOV];
	struct seg_net net;	/* addresses of the current datagram */
	struct why why;		/* reason of the current NAK */
	uint32_t *ref;		/* state word of the current slot */
};

enum rx_result { RX_EMPTY, RX_SEG, RX_REF, RX_SKIP, RX_BAD };

/*
 * Put a segment into the ring. how: SLOT_INLINE, SLOT_COPY or SLOT_REF. 0; -EAGAIN: no free slot or
 * data area; -EFAULT: unreadable payload.
 */
int shm_tx_send(struct shm_tx *tx, const struct seg *seg, enum slot_kind how,
		const struct link_user_ops *host);
/*
 * Free what the consumer has released. Calls failed() for each reference that the consumer could
 * not read. Returns whether anything was freed.
 */
bool shm_tx_reap(struct shm_tx *tx, void (*failed)(void *arg, const struct shm_rec *r), void *arg);
/* Revoke the references of this QP's segments that the consumer has not consumed. */
void shm_tx_revoke(struct shm_tx *tx, uint32_t sqpn);

/*
 * Get the next segment, checked. RX_REF: the iov holds addresses of the producer. RX_SKIP: its
 * reference was revoked or has failed. RX_BAD: the slot is invalid.
 * Call shm_rx_next() after every result but RX_EMPTY.
 */
enum rx_result shm_rx_get(struct shm_rx *rx, struct seg *seg);
/* Go to the next slot. */
void shm_rx_next(struct shm_rx *rx);
/* Tell the producer what was consumed. True: the producer waits for room. */
bool shm_rx_release(struct shm_rx *rx);

static inline uint32_t shm_tag(uint32_t pos)
{
	return pos / SHM_SLOTS + 1;
}

static inline bool shm_rx_ready(const struct shm_rx *rx)
{
	return READ_ONCE(rx->h->slot[rx->pos % SHM_SLOTS].tag) == shm_tag(rx->pos);
}

/* Is there a segment after the current one? */
static inline bool shm_rx_more(const struct shm_rx *rx)
{
	return READ_ONCE(rx->h->slot[(rx->pos + 1) % SHM_SLOTS].tag) == shm_tag(rx->pos + 1);
}

#endif
