/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cards: what a process shows to its peers on the same host, so that a
 * requester can execute RDMA WRITE and READ itself (design 2.4, item 16).
 *
 * Key cards are written by their owner only, under seq, and mapped read-only
 * by peers. QP cards are mapped writable: the lock word is taken by whoever
 * acts as responder, the owner or a requester.
 */
#ifndef RUSE_QUEUE_CARD_H
#define RUSE_QUEUE_CARD_H

#include "base/util.h"
#include "queue/barrier.h"

/* One MR (or memory window) key; 64 bytes. */
struct key_card {
	uint32_t seq;		/* odd = being changed */
	uint32_t key;		/* full key, index << 8 | byte; 0 = free */
	uint32_t pd;		/* id of the PD, never 0 */
	uint32_t access;	/* enum ib_uverbs_access_flags, KEY_LOCAL */
	uint64_t start;		/* address, in the owner's space, of byte iova */
	uint64_t iova;
	uint64_t length;
	uint32_t qpn;		/* type 2 memory window: the QP it is bound to (IBA 10.6.7.2.2); 0 = any QP of the PD */
	uint32_t pad0;
	uint64_t pad[2];
};

/* Serves as lkey: of an MR, not of a memory window. Asked for with every local access. */
#define KEY_LOCAL 0x80000000u

/* Result of a key check, in the order the checks are made (IBA 9.7.5.2.4). */
enum mr_status { MR_OK, MR_BAD_KEY, MR_BAD_PD, MR_BAD_ACCESS, MR_BAD_RANGE };

/*
 * May QP qpn of this PD touch [va, va + len) through key with all of these
 * access bits (0 = local read)? On MR_OK *addr is the address in the owner's space.
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

/* For peers: a consistent copy of a card; false when the owner is changing it right now. */
static inline bool key_card_read(const struct key_card *c, struct key_card *copy)
{
	uint32_t seq = smp_load_acquire(&c->seq);

	if (unlikely(seq & 1))
		return false;
	copy->key = READ_ONCE(c->key);
	copy->pd = READ_ONCE(c->pd);
	copy->access = READ_ONCE(c->access);
	copy->start = READ_ONCE(c->start);
	copy->iova = READ_ONCE(c->iova);
	copy->length = READ_ONCE(c->length);
	copy->qpn = READ_ONCE(c->qpn);
	smp_rmb();
	return READ_ONCE(c->seq) == seq;
}

/*
 * The responder's part of a QP that a requester may take over; 64 bytes.
 * lock: 0 free, else the number of the process (ipc_hello_reply.proc) that
 * holds it. All other fields are read and written under it, by the owner too.
 */
struct qp_card {
	uint32_t lock;
	uint32_t qpn;		/* 0 = no QP here */
	uint32_t state;		/* enum qp_state */
	uint32_t epsn;		/* expected PSN */
	uint32_t msn;		/* messages completed, 24 bits */
	uint32_t pd;
	uint32_t access;	/* qp_access_flags */
	uint32_t dest_qpn;
	uint32_t path_mtu;	/* bytes */
	uint32_t busy;		/* responder is inside a message or owes READ responses: no direct placement */
	uint32_t failed;	/* AETH NAK syndrome that a requester left: the owner must enter ERR */
	uint32_t pad[5];
};

_Static_assert(sizeof(struct key_card) == 64 && sizeof(struct qp_card) == 64,
	       "cards fill a cache line");

static inline bool card_trylock(struct qp_card *c, uint32_t proc)
{
	return READ_ONCE(c->lock) == 0 && atomic_cmpxchg(&c->lock, 0u, proc);
}

/*
 * Called while card_lock() waits long: frees the lock if its holder is dead.
 * Set by link/, which knows who lives; without it a requester that dies in
 * the middle would stop the owner for ever.
 */
typedef void (*card_breaker)(struct qp_card *c, uint32_t holder, void *arg);
void card_set_breaker(card_breaker fn, void *arg);
void card_lock_slow(struct qp_card *c, uint32_t proc);

static inline void card_lock(struct qp_card *c, uint32_t proc)
{
	if (unlikely(!card_trylock(c, proc)))
		card_lock_slow(c, proc);
}

static inline void card_unlock(struct qp_card *c)
{
	smp_store_release(&c->lock, 0u);
}

#endif
