/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct placement: the requester acts as its peer's responder for one whole RDMA WRITE or READ, or for an atomic on
 * memory that is mapped here (shm_map.c). The
 * responder's state is in shared memory, in a record called the QP card (struct qp_card). The MRs and memory windows
 * have such records too: a key card each (struct key_card). The owner of a card is the responder's process.
 *
 * The requester announces the operation (shm_half.placing), locks the QP card, makes the responder's
 * checks in their order (IBA 9.7.4, 9.7.5.2.4), reads the key card, copies, advances the expected
 * PSN and MSN in the QP card, and unlocks it. A row of small operations (direct_op.more) shares one
 * lock. The announcement precedes the read of the key card. If the owner has withdrawn a key and then
 * sees no announcement, no requester uses the key any more (shm_quiet.c).
 *
 * If the responder's memory is not resident (shm_resident.c), the operation ends with DIRECT_NO, and
 * the requester sends the whole request to the responder. So the responder allocates its pages, and not the requester.
 *
 * Placement order: the kernel copies pages and bytes in ascending order within one
 * process_vm_writev call, and the calls are made in ascending order. A program that polls the last
 * byte finds the rest in place.
 *
 * A requester that dies during the operation leaves the QP card locked. The announcement tells the
 * owner which card. The owner unlocks it when the requester's address space is gone, not earlier,
 * because a copy may still run.
 *
 * If a check or the copy fails, the operation ends with DIRECT_NO too: the responder repeats the check, knows the
 * reason, and sends the NAK.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <time.h>
#include "base/log.h"
#include "base/sys.h"
#include "link/shm_int.h"

#define QPN_INDEX 14
#define INDEX_MASK ((1u << QPN_INDEX) - 1)
#define KEY_TRIES 16 /* attempts to read the record of a memory key (struct key_card) while its owner changes it */

/* States of enum qp_state in which a responder accepts requests: RTR, RTS, SQD. */
static bool shm_direct_responder_runs(uint32_t state)
{
	return state >= 2 && state <= 4;
}

/* The peer's QP card (struct qp_card) of this QP number, or NULL. *at + 1 is the value of shm_half.placing for it. */
static struct qp_card *shm_direct_card(struct shm_link *l, uint32_t qpn, uint32_t *at)
{
	uint32_t n = min(smp_load_acquire(&l->pub->nblocks), (uint32_t)SHM_MAX_BLOCKS);
	uint32_t index = qpn & INDEX_MASK;

	if (index >= l->hello.ncards)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (READ_ONCE(l->pub->block[i]) != qpn >> QPN_INDEX)
			continue;
		if (unlikely(i >= l->nblocks) && !shm_link_block_open(l, i))
			return NULL;
		*at = i << QPN_INDEX | index;
		return &l->exp->card[(size_t)i * l->hello.ncards + index];
	}
	return NULL;
}

/* The peer's card of this key, or NULL. */
static inline const struct key_card *shm_direct_key(struct shm_link *l, uint32_t key)
{
	if (unlikely(key >> 8 >= l->nkeys) && !shm_link_key_open(l, key >> 8))
		return NULL;
	return &l->pub->key[key >> 8];
}

/* The right that the QP and the key must grant. */
static uint32_t shm_direct_access(const struct direct_op *op)
{
	if (op->atomic)
		return IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	return op->read ? IB_UVERBS_ACCESS_REMOTE_READ : IB_UVERBS_ACCESS_REMOTE_WRITE;
}

/* Where the bytes of an operation are. */
struct shm_place {
	uint64_t addr;		/* in the peer */
	uint64_t off;		/* in the peer's arena, if it is mapped */
	uint8_t *mapped;	/* the same bytes here; NULL: they are not mapped */
};

/* Check the peer's key. False: it is not valid, or the peer is changing the key's card (struct key_card). */
static bool shm_direct_check_key(struct shm_link *l, const struct direct_op *op, uint32_t pd,
				 struct shm_place *place)
{
	const struct key_card *card = shm_direct_key(l, op->rkey);
	uint32_t access = shm_direct_access(op);
	struct key_card key;
	int tries = KEY_TRIES;

	if (!card)
		return false;
	while (!key_card_read(card, &key)) {
		if (!--tries)
			return false;
		cpu_relax();
	}
	if (key_card_check(&key, pd, op->dqpn, op->rkey, op->va, op->len, access,
			   &place->addr) != MR_OK)
		return false;
	if (key.shared) {
		place->off = key.shared - 1 + (op->va - key.iova);
		place->mapped = shm_map_at(l, place->off, op->len);
	}
	return true;
}

static enum xfer shm_direct_atomic(struct shm_link *l, struct direct_op *op, uint8_t *mapped)
{
	const struct link_user_ops *host = l->l.host;
	int rc = -EOPNOTSUPP;

	if (op->atomic == SEG_CMP_SWP && host->cmp_swp)
		rc = host->cmp_swp((uint64_t *)mapped, op->compare, op->swap_add, &op->orig);
	else if (op->atomic == SEG_FETCH_ADD && host->fetch_add)
		rc = host->fetch_add((uint64_t *)mapped, op->swap_add, &op->orig);
	return rc ? XFER_ABSENT : XFER_OK;
}

/* Copies to or from the peer's arena, or executes the atomic there. */
static enum xfer shm_direct_copy(struct shm_link *l, struct direct_op *op,
				 const struct shm_place *place)
{
	const struct iovec remote = { .iov_base = place->mapped, .iov_len = op->len };
	uint8_t *mapped = place->mapped;
	int rc;

	if (unlikely(!shm_map_resident(l, place->off, op->len)))
		return XFER_ABSENT;
	if (unlikely(op->atomic))
		return shm_direct_atomic(l, op, mapped);
	if (likely(op->niov == 1 && op->iov->iov_len >= op->len))
		rc = op->read ? l->l.host->copy(op->iov->iov_base, mapped, op->len) :
				l->l.host->copy(mapped, op->iov->iov_base, op->len);
	else
		rc = op->read ? l->l.host->copy_iov(op->iov, op->niov, 0, &remote, 1, 0, op->len) :
				l->l.host->copy_iov(&remote, 1, 0, op->iov, op->niov, 0, op->len);
	/* Which side is bad is found when the request goes as packets. */
	return rc ? XFER_ABSENT : XFER_OK;
}

bool shm_peer_qp(struct link *link, uint32_t qpn, uint32_t *state, uint32_t *err,
		 uint32_t *dest_qpn)
{
	struct shm_link *l = container_of(link, struct shm_link, l);
	const struct qp_card *card;
	uint32_t at;

	card = shm_held(l->pub) ? shm_direct_card(l, qpn, &at) : NULL;
	if (!card || READ_ONCE(card->qpn) != qpn)
		return false;
	*state = READ_ONCE(card->state);
	*err = READ_ONCE(card->err);
	*dest_qpn = READ_ONCE(card->dest_qpn);
	return true;
}

/* The QP is that of the request and can take it now. */
static bool shm_direct_card_fits(const struct qp_card *card, const struct direct_op *op)
{
	uint32_t mtu = READ_ONCE(card->path_mtu);

	return READ_ONCE(card->qpn) == op->dqpn && READ_ONCE(card->dest_qpn) == op->sqpn &&
	       shm_direct_responder_runs(READ_ONCE(card->state)) && !READ_ONCE(card->busy) &&
	       READ_ONCE(card->epsn) == op->psn &&
	       mtu >= 256 && mtu <= 4096 && seg_pkts(op->len, mtu) == op->npkts;
}

/*
 * Check the operation against the peer's records of the QP (card) and of the memory key (struct key_card), and execute
 * it. The caller has locked the QP card.
 */
static enum direct_result shm_direct_place(struct shm_link *l, struct qp_card *card,
					   struct direct_op *op)
{
	uint32_t access = shm_direct_access(op);
	struct mem_pos local = { .v = op->iov, .n = op->niov };
	struct iovec remote;
	struct mem_pos there = { .v = &remote, .n = 1 };
	struct shm_place place = { 0 };
	enum xfer x;

	if (!shm_direct_card_fits(card, op))
		return DIRECT_NO;
	if ((READ_ONCE(card->access) & access) != access)
		return DIRECT_NO;
	if (op->len && !shm_direct_check_key(l, op, READ_ONCE(card->pd), &place))
		return DIRECT_NO;
	if (op->free_only && !place.mapped)
		return DIRECT_NO;
	remote.iov_base = (void *)(uintptr_t)place.addr;
	remote.iov_len = op->len;
	if (unlikely(READ_ONCE(card->checked)) && !op->read && l->l.host->now)
		WRITE_ONCE(card->wrote_at, (uint64_t)l->l.host->now());
	x = place.mapped ? shm_direct_copy(l, op, &place) :
			   shm_xfer(l, !op->read, local, there, op->len);
	switch (x) {
	case XFER_OK:
		break;
	case XFER_LOCAL:
		return DIRECT_LOCAL;
	case XFER_ABSENT:
	case XFER_REMOTE:
		return DIRECT_NO;
	case XFER_DENIED:
		l->l.caps &= ~(uint32_t)LINK_CAP_DIRECT;
		return DIRECT_NO;
	case XFER_GONE:
		shm_link_doom(l);
		return DIRECT_NO;
	}
	WRITE_ONCE(card->epsn, (op->psn + op->npkts) & 0xffffff);
	WRITE_ONCE(card->msn, (READ_ONCE(card->msn) + 1) & 0xffffff);
	return DIRECT_DONE;
}

/* Before the announcement: is the key's memory likely to be mapped here? */
static inline bool shm_direct_mapped(struct shm_link *l, uint32_t rkey)
{
	const struct key_card *card = shm_direct_key(l, rkey);

	return card && READ_ONCE(card->shared) && (l->nextents || shm_map_due(l));
}

/* Announces an operation on the peer's QP and locks its card. False: the peer has no such QP, or uses it. */
static bool shm_direct_begin(struct shm_link *l, uint32_t dqpn)
{
	struct qp_card *card;
	uint32_t at;

	card = shm_direct_card(l, dqpn, &at);
	if (!card)
		return false;
	smp_store_mb(&l->tx.h->placing, at + 1);
	if (card_trylock(card, l->ep->hello.proc)) {
		l->placing = card;
		return true;
	}
	smp_store_release(&l->tx.h->placing, 0u);
	return false;
}

HOT void shm_direct_end(struct link *link)
{
	struct shm_link *l = container_of(link, struct shm_link, l);

	if (!l->placing)
		return;
	card_unlock(l->placing);
	l->placing = NULL;
	smp_store_release(&l->tx.h->placing, 0u);
}

HOT enum direct_result shm_direct(struct link *link, struct direct_op *op)
{
	struct shm_link *l = container_of(link, struct shm_link, l);
	enum direct_result r;

	if (link->dead || !(link->caps & LINK_CAP_DIRECT) || !l->ep->hello.proc)
		return DIRECT_NO;
	if (unlikely(!shm_held(l->pub))) {
		if (READ_ONCE(l->pub->alive))
			shm_link_doom(l);
		return DIRECT_NO;
	}
	if (op->free_only && !shm_direct_mapped(l, op->rkey))
		return DIRECT_NO;
	if (!l->placing && !shm_direct_begin(l, op->dqpn))
		return DIRECT_NO;
	r = shm_direct_place(l, l->placing, op);
	if (!op->more || r != DIRECT_DONE)
		shm_direct_end(link);
	if (r == DIRECT_DONE) {
		link->tx_segs++;
		link->tx_bytes += op->len;
	}
	return r;
}

void shm_direct_cleanup(struct shm_link *l)
{
	const struct timespec ms = { .tv_nsec = NS_MS };
	uint32_t at, block, index;

	for (int i = 0; i < 100 && READ_ONCE(l->rx.h->placing); i++) {
		if (shm_peer_gone(l))
			break;
		sys_call(SYS_nanosleep, &ms, NULL);
	}
	at = READ_ONCE(l->rx.h->placing);
	if (!at)
		return;
	block = (at - 1) >> QPN_INDEX;
	index = (at - 1) & INDEX_MASK;
	if (block >= l->ep->pub->nblocks || index >= l->ep->cfg.ncards)
		return;
	atomic_cmpxchg(&l->ep->exp->card[(size_t)block * l->ep->cfg.ncards + index].lock,
		       l->hello.proc, 0u);
}

void shm_card_breaker(struct qp_card *c, uint32_t holder, void *arg)
{
	struct shm_ep *ep = arg;
	struct shm_link *l;

	if (BUG_ON(holder == ep->hello.proc))
		return;
	list_for_each_entry(l, &ep->links, list)
		if (l->hello.proc == holder && !shm_peer_gone(l))
			return;
	if (atomic_cmpxchg(&c->lock, holder, 0u))
		log_info("shm: unlocked a QP card for a dead process (number %u at rused)", holder);
}
