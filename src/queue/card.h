/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cards: records in shared memory with the state of memory keys and QPs, which a process shares with its peers on the
 * same host, so that a requester can execute RDMA WRITE and READ itself (direct placement). There is a key card for
 * each MR and memory window, and a QP card for each QP.
 *
 * A key card is written by its owner only, under a sequence lock; peers map it read-only. A QP card
 * is mapped writable by its owner and by the peer, and has a lock. The owner holds the lock while it
 * runs the QP's responder. The peer's requester holds it during a direct placement, in which it acts
 * as that responder.
 */
#ifndef RUSE_QUEUE_CARD_H
#define RUSE_QUEUE_CARD_H

#include "base/util.h"
#include "shared/seqlock.h"

/* The record of an MR or memory window, which peers read to check a remote key; 64 bytes. */
struct key_card {
	struct seqlock lock;
	uint32_t key;		/* the 32-bit key: index in bits 8 to 31, variable key byte in bits 0 to 7; 0: card not in use */
	uint32_t pd;		/* id of the PD, never 0 */
	uint32_t access;	/* enum ib_uverbs_access_flags, KEY_LOCAL */
	uint64_t start;		/* the owner's virtual address of the first byte of the region */
	uint64_t iova;		/* address of this byte in work requests and RETHs */
	uint64_t length;
	uint32_t qpn;		/* QP of a type 2 window (IBA 10.6.7.2.2); 0: any QP of the PD */
	uint32_t pad0;
	uint64_t shared;	/* 0, or 1 + the offset of the first byte in the memfd that peers may map (arena/arena.h) */
	uint64_t pad;
};

/* Access bit of the keys of MRs, not of memory windows: the key may be used as an lkey. Local accesses require it. */
#define KEY_LOCAL 0x80000000u

/* Result of a key check, in the order of the checks (IBA 9.7.5.2.4). */
enum mr_status { MR_OK, MR_BAD_KEY, MR_BAD_PD, MR_BAD_ACCESS, MR_BAD_RANGE };

/*
 * Checks whether QP qpn, whose PD is pd, may access [va, va + len) by key with all of these access
 * bits (0: local read). c: the owner's key card, or a peer's copy of it made by key_card_read(). On
 * MR_OK *addr is the address in the owner's space.
 */
static inline enum mr_status key_card_check(const struct key_card *c, uint32_t pd,
					    uint32_t qpn, uint32_t key, uint64_t va, uint64_t len,
					    uint32_t access, uint64_t *addr)
{
	if (unlikely(!key || c->key != key))
		return MR_BAD_KEY;
	if (unlikely(c->pd != pd || (c->qpn && c->qpn != qpn)))
		return MR_BAD_PD;
	if (unlikely((c->access & access) != access))
		return MR_BAD_ACCESS;
	if (unlikely(va < c->iova || len > c->length || va - c->iova > c->length - len))
		return MR_BAD_RANGE;
	*addr = c->start + (va - c->iova);
	return MR_OK;
}

/* For peers: makes a consistent copy of a key card; false: the owner is changing it. */
static inline bool key_card_read(const struct key_card *c, struct key_card *copy)
{
	uint32_t was;

	if (!seqlock_read_begin(&c->lock, &was))
		return false;
	copy->key = READ_ONCE(c->key);
	copy->pd = READ_ONCE(c->pd);
	copy->access = READ_ONCE(c->access);
	copy->start = READ_ONCE(c->start);
	copy->iova = READ_ONCE(c->iova);
	copy->length = READ_ONCE(c->length);
	copy->qpn = READ_ONCE(c->qpn);
	copy->shared = READ_ONCE(c->shared);
	return seqlock_read_end(&c->lock, was);
}

/* In qp_card.dest_qpn: the QP uses RoCEv1, and takes nothing from one that does not. */
#define CARD_V1 0x1000000u

/*
 * The responder state of a QP that direct placement needs; 64 bytes. lock: 0, or the
 * number of the process that holds it (ipc_hello_reply.proc; the owner: CARD_OWNER).
 * The lock protects all other fields, also for the owner.
 */
struct qp_card {
	uint32_t lock;
	uint32_t qpn;		/* 0: card not in use */
	uint32_t state;		/* enum qp_state */
	uint32_t epsn;		/* expected PSN */
	uint32_t msn;		/* messages completed, 24 bits */
	uint32_t pd;
	uint32_t access;	/* qp_access_flags */
	uint32_t dest_qpn;	/* and CARD_V1 */
	uint32_t path_mtu;	/* bytes */
	uint32_t busy;		/* not 0: no direct placement, as the responder is inside a message or has responses queued */
	uint32_t err;		/* in ERR: enum why_id of the failure; 0: the program moved the QP there */
	uint32_t checked;	/* peers that write by direct placement tell it by wrote_at */
	uint64_t wrote_at;	/* when a peer last wrote: CLOCK_MONOTONIC in ns */
	uint32_t pad[2];
};

/* For how long before a post wrote_at may be written and the copy not be made: the peer may lose its processor between them. */
#define CARD_CLOCK_LATE (50 * NS_MS)

_Static_assert(sizeof(struct key_card) == 64 && sizeof(struct qp_card) == 64,
	       "cards fill a cache line");

static inline bool card_trylock(struct qp_card *c, uint32_t proc)
{
	return READ_ONCE(c->lock) == 0 && atomic_cmpxchg(&c->lock, 0u, proc);
}

/*
 * Called when card_lock() waits long: releases the lock if its holder is dead. Set by
 * link/, which knows the live processes.
 */
typedef void (*card_breaker)(struct qp_card *c, uint32_t holder, void *arg);
void card_set_breaker(card_breaker fn, void *arg);
bool card_lock_slow(struct qp_card *c, uint32_t proc);

/*
 * Waits for the QP card's lock, but not long: the caller holds the engine lock. False: the holder is stopped, or copies
 * much. It keeps the lock, since its copy may still run: when it continues, it writes epsn, msn and lock.
 */
static inline __attribute__((warn_unused_result)) bool card_lock(struct qp_card *c, uint32_t proc)
{
	return likely(card_trylock(c, proc)) || card_lock_slow(c, proc);
}

static inline void card_unlock(struct qp_card *c)
{
	smp_store_release(&c->lock, 0u);
}

#endif
