/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pair of rings of a shm link: format and both ends. See shm_ring.c.
 * Everything in struct shm_half is written by two processes that do not trust
 * each other; indices, bookkeeping and decisions live in private memory.
 */
#ifndef RUSE_LINK_SHM_RING_H
#define RUSE_LINK_SHM_RING_H

#include "link/link.h"
#include "queue/barrier.h"

#define SHM_SLOTS 256u		/* power of two */
#define SHM_DATA (2u << 20)	/* holds the largest segment, since it may have to be copied */
#define SHM_MAX_SEG (1u << 20)
#define SHM_MAX_COPY (128u << 10)	/* short of SHM_DATA, so that both ends copy at the same time */
#define SHM_INLINE 64u
#define SHM_INLINE_UD 24u	/* what the addresses leave */
#define SHM_SLOT_IOV 4		/* entries of a reference that fit into the slot */

/* Where the payload is. */
enum slot_kind {
	SLOT_INLINE = 1,	/* in the slot */
	SLOT_COPY,		/* in the data area */
	SLOT_REF,		/* in the producer's memory; list in the slot or the data area */
	SLOT_ATTENTION,		/* no segment: dqpn's card has failed */
};

/*
 * Who has a referenced payload. POSTED: anybody may take it. BUSY: the
 * consumer copies; the producer may still revoke, then the copy counts for
 * nothing. REVOKED, FAILED (the consumer could not read it) are final.
 */
enum ref_state { REF_NONE, REF_POSTED, REF_BUSY, REF_REVOKED, REF_FAILED };

/*
 * Two cache lines; the second is touched only by what does not fit into the
 * first. Payload may take the place of fields that its kind of segment does
 * not have: shm_inline_at().
 */
struct shm_slot {
	uint32_t tag;		/* lap of the ring, from 1; stored last */
	uint8_t kind, service, type, flags;
	uint8_t syndrome, niov;
	uint16_t pkey;
	uint16_t path_mtu, pad;
	uint32_t dqpn, sqpn;
	uint32_t psn, npkts;
	uint32_t len, imm;
	uint32_t msn, qkey;	/* 40 */
	uint64_t va;		/* 48 */
	uint32_t rkey, dma_len;
	union {			/* 64 */
		uint8_t data[SHM_INLINE];
		struct {
			uint64_t swap_add, compare;
		};
		struct iovec iov[SHM_SLOT_IOV];
		uint32_t off;	/* into the data area */
	};
};
_Static_assert(sizeof(struct shm_slot) == 128, "a slot is two cache lines");

/* One direction, producer to consumer. */
struct shm_half {
	_Alignas(64) uint32_t cons;	/* slots consumed; consumer writes */
	uint32_t can_pull;		/* consumer can read the producer's memory */
	_Alignas(64) uint32_t want_room;	/* producer sleeps until cons moves */
	/* The producer, as requester, is inside a direct placement: block slot << 14 | card, + 1. */
	_Alignas(64) uint32_t placing;
	_Alignas(64) uint32_t ref[SHM_SLOTS];	/* enum ref_state */
	_Alignas(64) struct shm_slot slot[SHM_SLOTS];
	_Alignas(4096) uint8_t data[SHM_DATA];
};

struct shm_tx {
	struct shm_half *h;
	uint32_t prod, cons;	/* free-running; cons as last seen */
	uint64_t dhead, dtail;	/* bytes of the data area given out, taken back */
	uint32_t nrefs;		/* references among [cons, prod) */
	struct shm_rec {
		uint64_t dend;
		uint32_t sqpn, dqpn, psn;
		bool ref;
	} rec[SHM_SLOTS];
};

struct shm_rx {
	struct shm_half *h;
	uint32_t pos, released;	/* next slot; what the producer was told */
	struct shm_slot local;	/* private copy of the slot in hand */
	struct iovec iov[SEG_MAX_IOV];
	struct seg_net net;	/* of a datagram in hand */
	uint32_t *ref;		/* state word of the slot in hand */
};

enum rx_result { RX_EMPTY, RX_SEG, RX_REF, RX_ATTENTION, RX_SKIP, RX_BAD };

/* 0; -EAGAIN: no slot or no data room; -EFAULT: the payload cannot be read. how: SLOT_INLINE, SLOT_COPY or SLOT_REF. */
int shm_tx_send(struct shm_tx *tx, const struct seg *seg, enum slot_kind how,
		const struct link_host *host);
/* 0 or -EAGAIN. */
int shm_tx_attention(struct shm_tx *tx, uint32_t dqpn);
/* Takes back what the consumer has released; calls failed for each reference that he could not read. True: something moved. */
bool shm_tx_reap(struct shm_tx *tx, void (*failed)(void *arg, const struct shm_rec *r), void *arg);
void shm_tx_revoke(struct shm_tx *tx, uint32_t sqpn);

/* The next segment, checked. RX_REF: as RX_SEG, with iov addresses of the producer. After anything but RX_EMPTY: shm_rx_next(). */
enum rx_result shm_rx_get(struct shm_rx *rx, struct seg *seg);
void shm_rx_next(struct shm_rx *rx);
/* Tells the producer; true: he waits for room. */
bool shm_rx_release(struct shm_rx *rx);

static inline uint32_t shm_tag(uint32_t pos)
{
	return pos / SHM_SLOTS + 1;
}

static inline bool shm_rx_ready(const struct shm_rx *rx)
{
	return READ_ONCE(rx->h->slot[rx->pos % SHM_SLOTS].tag) == shm_tag(rx->pos);
}

/* Is there a segment behind the one in hand? */
static inline bool shm_rx_more(const struct shm_rx *rx)
{
	return READ_ONCE(rx->h->slot[(rx->pos + 1) % SHM_SLOTS].tag) == shm_tag(rx->pos + 1);
}

#endif
