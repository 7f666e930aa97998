/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rings of a shm link: conversion between segments and slots, the entries of a ring.
 *
 * The producer fills a slot and stores its lap number last, so the cache line that announces the
 * slot also carries the message. The consumer copies the slot once into private memory, checks
 * every field there, and does not read the shared slot again. Whatever the producer writes, the
 * consumer does not read outside the data area. The producer likewise accepts a consumer index only
 * within what it has produced.
 *
 * The data area is a ring of its own, allocated and freed in slot order; the ends of its regions
 * are private to the producer. It restarts at 0 when everything is consumed, so a ping-pong stays
 * in the cache. The addresses of a datagram (struct seg_net) precede its payload.
 */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "link/shm_ring.h"

#define NET_LEN ((uint32_t)sizeof(struct seg_net))

_Static_assert(SHM_INLINE_UD + sizeof(struct seg_net) == SHM_INLINE, "a datagram fills the slot");

static bool shm_is_send(uint32_t type)
{
	return type == SEG_SEND || type == SEG_SEND_IMM || type == SEG_SEND_INV;
}

static bool shm_is_write(uint32_t type)
{
	return type == SEG_WRITE || type == SEG_WRITE_IMM || type == SEG_ATOMIC_WRITE;
}

static bool shm_has_payload(uint32_t type)
{
	return shm_is_send(type) || shm_is_write(type) || type == SEG_READ_RESP;
}

/*
 * Offset of inline payload in the slot of the ring. Short payload takes the place of fields that
 * its type does not have.
 */
static uint32_t shm_inline_at(uint32_t service, uint32_t type, uint32_t len)
{
	if (service == SEG_UD)
		return offsetof(struct shm_slot, data) + NET_LEN;
	if (shm_is_send(type) && len <= 24)
		return offsetof(struct shm_slot, msn);
	if (shm_is_write(type) && len <= 8)
		return offsetof(struct shm_slot, msn);
	if (type == SEG_READ_RESP && len <= 16)
		return offsetof(struct shm_slot, va);
	return offsetof(struct shm_slot, data);
}

static void shm_slot_fill(struct shm_slot *s, const struct seg *seg, enum slot_kind kind)
{
	s->kind = (uint8_t)kind;
	s->service = seg->service;
	s->type = seg->type;
	s->flags = seg->flags;
	s->syndrome = seg->syndrome;
	s->niov = 0;
	s->pkey = seg->pkey;
	s->path_mtu = seg->path_mtu;
	s->has_why = 0;
	s->dqpn = seg->dqpn;
	s->sqpn = seg->sqpn;
	s->psn = seg->psn;
	s->npkts = seg->npkts;
	s->len = seg->len;
	s->imm = seg->imm;
	s->msn = seg->msn;
	s->qkey = seg->qkey;
	s->va = seg->va;
	s->rkey = seg->rkey;
	s->dma_len = seg->dma_len;
	if (seg->type == SEG_CMP_SWP || seg->type == SEG_FETCH_ADD ||
	    seg->type == SEG_ATOMIC_ACK) {
		s->swap_add = seg->swap_add;
		s->compare = seg->compare;
	}
	if (unlikely(seg->why)) {
		s->has_why = 1;
		memcpy(s->data, seg->why, sizeof(*seg->why));
	}
}

/*
 * Find a contiguous free region of the data area. Returns its offset or -EAGAIN. *dend is the new
 * value of dhead, which the caller stores when it publishes the slot.
 */
static int64_t shm_data_alloc(struct shm_tx *tx, uint32_t len, uint64_t *dend)
{
	uint64_t head = tx->dhead;
	uint32_t off;

	if (tx->prod == tx->cons)
		head = tx->dhead = tx->dtail = 0;
	off = (uint32_t)(head % SHM_DATA);
	if (off + len > SHM_DATA) {
		head += SHM_DATA - off;
		off = 0;
	}
	if (head + len - tx->dtail > SHM_DATA)
		return -EAGAIN;
	*dend = ALIGN_UP(head + len, 64);
	return off;
}

static int shm_copy_in(const struct link_user_ops *host, void *dst, const struct seg *seg)
{
	const struct iovec d = { .iov_base = dst, .iov_len = seg->len };

	if (likely(seg->niov == 1 && seg->iov->iov_len >= seg->len))
		return host->copy(dst, seg->iov->iov_base, seg->len);
	return host->copy_iov(&d, 1, 0, seg->iov, seg->niov, 0, seg->len);
}

/* Store the payload. 0, -EAGAIN, -EFAULT. The consumer sees nothing yet. */
static int shm_place_payload(struct shm_tx *tx, struct shm_slot *s, const struct seg *seg,
			     enum slot_kind how, const struct link_user_ops *host, uint64_t *dend)
{
	size_t list = sizeof(struct iovec) * (size_t)seg->niov;
	uint32_t net = seg->service == SEG_UD ? NET_LEN : 0;
	int64_t off;

	switch (how) {
	case SLOT_INLINE:
		if (unlikely(net))
			memcpy(s->data, seg->net, net);
		if (!seg->len)
			return 0;
		return shm_copy_in(host, (uint8_t *)s +
			       shm_inline_at(seg->service, seg->type, seg->len), seg);
	case SLOT_COPY:
		off = shm_data_alloc(tx, seg->len + net, dend);
		if (off < 0)
			return (int)off;
		s->off = (uint32_t)off;
		if (unlikely(net))
			memcpy(tx->h->data + off, seg->net, net);
		return shm_copy_in(host, tx->h->data + off + net, seg);
	case SLOT_REF:
	case SLOT_REF_ARENA:
		s->niov = (uint8_t)seg->niov;
		if (seg->niov <= SHM_SLOT_IOV) {
			memcpy(s->iov, seg->iov, list);
			return 0;
		}
		off = shm_data_alloc(tx, (uint32_t)list, dend);
		if (off < 0)
			return (int)off;
		s->off = (uint32_t)off;
		memcpy(tx->h->data + off, seg->iov, list);
		return 0;
	}
	return 0;
}

static void shm_slot_publish(struct shm_tx *tx, struct shm_slot *s)
{
	/* The caller then reads the wake-up flag; that load must not pass this store. */
	smp_store_mb(&s->tag, shm_tag(tx->prod));
	tx->prod++;
	/* Fetch the cache line of the next slot of the ring ahead of the next send. */
	__builtin_prefetch(&tx->h->slot[tx->prod % SHM_SLOTS], 1);
}

HOT int shm_tx_send(struct shm_tx *tx, const struct seg *seg, enum slot_kind how,
		    const struct link_user_ops *host)
{
	uint32_t i = tx->prod % SHM_SLOTS;
	struct shm_slot *s = &tx->h->slot[i];
	uint64_t dend = tx->dhead;
	int rc;

	if (tx->prod - tx->cons >= SHM_SLOTS)
		return -EAGAIN;
	if (tx->prod == tx->cons)
		dend = tx->dhead = tx->dtail = 0;
	shm_slot_fill(s, seg, how);
	rc = shm_place_payload(tx, s, seg, how, host, &dend);
	if (unlikely(rc))
		return rc;
	tx->rec[i] = (struct shm_rec){
		.dend = dend,
		.sqpn = seg->sqpn,
		.dqpn = seg->dqpn,
		.psn = seg->psn,
		.ref = how >= SLOT_REF,
	};
	tx->dhead = dend;
	if (how >= SLOT_REF) {
		tx->nrefs++;
		WRITE_ONCE(tx->h->ref[i], REF_POSTED);
	}
	shm_slot_publish(tx, s);
	return 0;
}

bool shm_tx_reap(struct shm_tx *tx, void (*failed)(void *arg, const struct shm_rec *r), void *arg)
{
	uint32_t cons = smp_load_acquire(&tx->h->cons);

	/* Reject a consumer index that moves backwards or past prod. */
	if (cons == tx->cons || cons - tx->cons > tx->prod - tx->cons)
		return false;
	while (tx->cons != cons) {
		uint32_t i = tx->cons % SHM_SLOTS;
		const struct shm_rec *r = &tx->rec[i];

		tx->cons++;
		tx->dtail = r->dend;
		if (!r->ref)
			continue;
		tx->nrefs--;
		if (unlikely(READ_ONCE(tx->h->ref[i]) == REF_FAILED))
			failed(arg, r);
	}
	return true;
}

void shm_tx_revoke(struct shm_tx *tx, uint32_t sqpn)
{
	if (!tx->nrefs)
		return;
	for (uint32_t p = tx->cons; p != tx->prod; p++) {
		uint32_t i = p % SHM_SLOTS;

		/*
		 * Revoke a reference in state BUSY too: the consumer finds REVOKED after its copy
		 * and discards the data.
		 */
		if (tx->rec[i].ref && tx->rec[i].sqpn == sqpn)
			atomic_xchg(&tx->h->ref[i], REF_REVOKED);
	}
}

static bool shm_slot_sane(const struct shm_slot *s)
{
	uint64_t mtu = s->path_mtu;

	if (s->service != SEG_RC && s->service != SEG_UC && s->service != SEG_UD)
		return false;
	if (s->type >= SEG_NTYPES || (s->flags & ~0xf) || mtu < 256 || mtu > 4096)
		return false;
	if (s->dqpn >> 24 || s->sqpn >> 24 || s->psn >> 24 || !s->npkts || s->npkts > 1u << 23)
		return false;
	if (s->service == SEG_UD &&
	    (s->npkts != 1 || s->type > SEG_SEND_IMM || s->kind >= SLOT_REF ||
	     (s->flags & (SEG_F_START | SEG_F_END)) != (SEG_F_START | SEG_F_END)))
		return false;
	if (!shm_has_payload(s->type))
		return !s->len && s->kind == SLOT_INLINE;
	return s->len <= SHM_MAX_SEG && s->npkts == seg_pkts(s->len, (uint32_t)mtu);
}

static bool shm_in_data(uint32_t off, uint64_t len)
{
	return off <= SHM_DATA && len <= SHM_DATA - off;
}

static bool shm_get_datagram(struct shm_rx *rx, struct seg *seg)
{
	const struct shm_slot *s = &rx->local;
	const uint8_t *p = s->data;

	if (s->kind == SLOT_INLINE ? s->len > SHM_INLINE_UD :
				     !shm_in_data(s->off, (uint64_t)s->len + NET_LEN))
		return false;
	if (s->kind == SLOT_COPY)
		p = rx->h->data + s->off;
	memcpy(&rx->net, p, NET_LEN);
	smp_rmb();
	seg->net = &rx->net;
	rx->iov[0] = (struct iovec){ (void *)(p + NET_LEN), s->len };
	seg->niov = s->len != 0;
	return true;
}

/*
 * Find the payload. A list of addresses is copied to private memory, because it must not change
 * after it was checked. Payload in the data area is not copied: it may change at any time.
 */
static bool shm_get_payload(struct shm_rx *rx, struct seg *seg)
{
	const struct shm_slot *s = &rx->local;
	size_t list = sizeof(struct iovec) * s->niov;
	uint64_t sum = 0;

	if (s->service == SEG_UD)
		return shm_get_datagram(rx, seg);
	seg->niov = 1;
	switch ((enum slot_kind)s->kind) {
	case SLOT_INLINE:
		if (s->len > SHM_INLINE)
			return false;
		rx->iov[0].iov_base = (uint8_t *)&rx->local +
				      shm_inline_at(s->service, s->type, s->len);
		rx->iov[0].iov_len = s->len;
		seg->niov = s->len != 0;
		return true;
	case SLOT_COPY:
		if (!shm_in_data(s->off, s->len))
			return false;
		rx->iov[0].iov_base = rx->h->data + s->off;
		rx->iov[0].iov_len = s->len;
		return true;
	case SLOT_REF:
	case SLOT_REF_ARENA:
		if (!s->niov || s->niov > SEG_MAX_IOV)
			return false;
		if (s->niov > SHM_SLOT_IOV && !shm_in_data(s->off, list))
			return false;
		memcpy(rx->iov, s->niov > SHM_SLOT_IOV ? (const void *)(rx->h->data + s->off) :
		       (const void *)s->iov, list);
		smp_rmb();
		for (uint32_t i = 0; i < s->niov; i++) {
			if (rx->iov[i].iov_len > UINT32_MAX)
				return false;
			sum += rx->iov[i].iov_len;
		}
		seg->niov = s->niov;
		return sum >= s->len;
	}
	return false;
}

static void shm_seg_from(struct seg *seg, const struct shm_slot *s)
{
	uint32_t at = s->kind == SLOT_INLINE && s->len ?
		shm_inline_at(s->service, s->type, s->len) : offsetof(struct shm_slot, data);
	bool low = at < offsetof(struct shm_slot, data);
	/* The ring slot does not contain these fields, because inline payload is in their place. */
	bool no_msn = at == offsetof(struct shm_slot, msn);
	bool no_reth = low && !shm_is_write(s->type);
	bool atomic = s->type == SEG_CMP_SWP || s->type == SEG_FETCH_ADD ||
		      s->type == SEG_ATOMIC_ACK;

	*seg = (struct seg){
		.service = s->service, .type = s->type, .flags = s->flags,
		.syndrome = s->syndrome, .pkey = s->pkey, .path_mtu = s->path_mtu,
		.dqpn = s->dqpn, .sqpn = s->sqpn, .psn = s->psn, .npkts = s->npkts,
		.len = s->len, .imm = s->imm,
		.msn = no_msn ? 0 : s->msn & 0xffffff, .qkey = no_msn ? 0 : s->qkey,
		.va = no_reth ? 0 : s->va, .rkey = no_reth ? 0 : s->rkey,
		.dma_len = no_reth ? 0 : s->dma_len,
	};
	if (atomic) {
		seg->swap_add = s->swap_add;
		seg->compare = s->compare;
	}
}

/* Does the slot use its second cache line? s is the private copy of the first. */
static bool shm_needs_second(const struct shm_slot *s)
{
	if (s->kind != SLOT_INLINE || s->service == SEG_UD || s->has_why)
		return true;
	if (s->type == SEG_CMP_SWP || s->type == SEG_FETCH_ADD || s->type == SEG_ATOMIC_ACK)
		return true;
	return s->len && shm_inline_at(s->service, s->type, s->len) == 64;
}

HOT enum rx_result shm_rx_get(struct shm_rx *rx, struct seg *seg)
{
	uint32_t i = rx->pos % SHM_SLOTS;
	const struct shm_slot *s = &rx->h->slot[i];
	uint32_t state;

	if (smp_load_acquire(&s->tag) != shm_tag(rx->pos))
		return RX_EMPTY;
	/* The barrier after each copy keeps the compiler from reading the shared original again. */
	memcpy((uint8_t *)&rx->local + 4, (const uint8_t *)s + 4, 60);
	smp_rmb();
	if (shm_needs_second(&rx->local)) {
		memcpy(rx->local.data, s->data, sizeof(rx->local.data));
		smp_rmb();
	}
	if (!shm_slot_sane(&rx->local))
		return RX_BAD;
	shm_seg_from(seg, &rx->local);
	if (unlikely(rx->local.has_why) && rx->local.type == SEG_ACK) {
		memcpy(&rx->why, rx->local.data, sizeof(rx->why));
		seg->why = &rx->why;
	}
	if (!shm_get_payload(rx, seg))
		return RX_BAD;
	seg->iov = rx->iov;
	if (likely(rx->local.kind < SLOT_REF))
		return RX_SEG;
	rx->ref = &rx->h->ref[i];
	state = READ_ONCE(*rx->ref);
	return state == REF_POSTED ? RX_REF : RX_SKIP;
}

void shm_rx_next(struct shm_rx *rx)
{
	rx->pos++;
}

bool shm_rx_release(struct shm_rx *rx)
{
	if (rx->released == rx->pos)
		return false;
	rx->released = rx->pos;
	/* The producer sets h->room and then reads cons. It takes the wish back itself, when there is much room. */
	smp_store_mb(&rx->h->cons, rx->pos);
	return bell_wanted(&rx->h->room);
}
