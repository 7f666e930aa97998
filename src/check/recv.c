/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receives with --check=poison: their buffers hold the pattern until the completion is polled, and the message is kept aside.
 *
 * A queue knows the receives that the program has posted and the engine has not taken, in their order. The first one is at
 * ring.index, so it does not matter when they are looked at: after the post, or when the engine takes one, whichever comes
 * first, and a resized ring changes nothing.
 *
 * The memory of each receive is claimed as long as the receive is outstanding. Where two of them overlap, or a request sends the
 * memory, nothing is hidden: the order of what is written there must stay as it is.
 */
#include <string.h>
#include "base/pool.h"
#include "check/check_internal.h"
#include "core/objects.h"
#include "core/srq.h"
#include "shared/barrier.h"

#define RECVS_FIRST 16u
#define CLAIMS_FIRST 64u

/* Receives of an SRQ. */
struct check_srq {
	struct list_head node;	/* in a list of all */
	struct srq *srq;
	struct check_recvs recvs;
};

/* In one array, so that a post compares many of them in a short time. */
struct check_claim {
	const uint8_t *start, *end;
	struct check_block *block;
	uint32_t part;
};

bool check_poison;
static struct list_head all_srqs = { &all_srqs, &all_srqs };
static struct check_claim *claims;
static uint32_t nclaims, claims_size;

/* Shows what is hidden in the memory of b. False: nothing of it is claimed. */
bool check_recv_overlap(const struct check_block *b)
{
	bool found = false;

	for (uint32_t i = 0; i < b->nparts; i++) {
		const uint8_t *start = b->part[i].addr, *end = start + b->part[i].len;

		for (uint32_t k = 0; k < nclaims; k++) {
			if (likely(claims[k].start >= end || claims[k].end <= start))
				continue;
			found = true;
			if (claims[k].block->kind == CHECK_TARGET)
				check_block_show(claims[k].block);
		}
	}
	return found;
}

void check_recv_use(const void *addr, size_t len)
{
	uintptr_t start = (uintptr_t)addr;

	for (uint32_t k = 0; k < nclaims; k++)
		if ((uintptr_t)claims[k].end > start && (uintptr_t)claims[k].start < start + len &&
		    claims[k].block->kind == CHECK_TARGET)
			check_block_show(claims[k].block);
}

static bool check_claim_room(uint32_t n)
{
	uint32_t size = claims_size ? 2 * claims_size : CLAIMS_FIRST;
	struct check_claim *more;

	if (nclaims + n <= claims_size)
		return true;
	more = pool_alloc(size * sizeof(*more));
	if (!more)
		return false;
	if (claims) {
		memcpy(more, claims, nclaims * sizeof(*more));
		pool_free(claims, claims_size * sizeof(*claims));
	}
	claims = more;
	claims_size = size;
	return true;
}

static void check_claim_add(struct check_block *b)
{
	for (uint32_t i = 0; i < b->nparts; i++) {
		struct check_part *p = &b->part[i];

		p->claim = nclaims;
		claims[nclaims++] = (struct check_claim){ p->addr, p->addr + p->len, b, i };
	}
}

static void check_claim_end(const struct check_block *b)
{
	for (uint32_t i = 0; i < b->nparts; i++) {
		struct check_claim *c = &claims[b->part[i].claim];

		*c = claims[--nclaims];
		c->block->part[c->part].claim = b->part[i].claim;
	}
}

void check_recv_over(struct check_block *b)
{
	if (!b)
		return;
	if (b->kind == CHECK_TARGET)
		check_block_show(b);
	check_claim_end(b);
	check_block_free(b);
}

/* Peers may write to memory of receives from now on. */
void check_recv_key(const struct key_card *c)
{
	if (c->access & CHECK_PEER_WRITES)
		check_recv_use((const void *)(uintptr_t)c->start, c->length);
}

/* May peers write to these addresses of the program? Compares them with all regions, as several may cover the memory. */
static bool check_recv_remote(const struct rdev *dev, uint64_t start, uint64_t len)
{
	const struct mr *mr;

	for (uint32_t i = 0; (mr = idtable_next(&dev->mrs, &i)); i++) {
		const struct key_card *c = &dev->keys[mr->index];

		if (c->access & CHECK_PEER_WRITES && start < c->start + c->length &&
		    c->start < start + len)
			return true;
	}
	return false;
}

static bool check_recv_shared(const struct rdev *dev, const struct rxe_dma_info *dma, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		const struct key_card *c = key_card_of(dev, READ_ONCE(dma->sge[i].lkey));
		uint64_t start = READ_ONCE(dma->sge[i].addr) - c->iova + c->start;

		if (check_recv_remote(dev, start, READ_ONCE(dma->sge[i].length)))
			return true;
	}
	return false;
}

/* The claim of a receive, and its bytes if nothing else is in its memory. NULL: nothing is done with it. */
static struct check_block *check_recv_block(const struct check_list *l)
{
	struct check_block *all = check_block_list(l, UINT64_MAX, IB_UVERBS_ACCESS_LOCAL_WRITE), *b;
	bool busy;

	if (!all)
		return NULL;
	b = all;
	busy = check_recv_overlap(b) || check_block_sent(b) || check_block_brought(b);
	if (busy) {
		b = check_block_alloc(all->nparts, 0);
		if (b)
			memcpy(b->part, all->part, b->nparts * sizeof(*b->part));
		check_block_free(all);
	}
	if (!b || check_recv_shared(l->dev, l->dma, min(READ_ONCE(l->dma->num_sge), l->max_sge)) ||
	    !check_claim_room(b->nparts) || (!busy && !check_block_read(b))) {
		if (b)
			check_block_free(b);
		return NULL;
	}
	if (!busy)
		check_block_hide(b, true);
	check_claim_add(b);
	return b;
}

static bool check_recvs_room(struct check_recvs *q)
{
	uint32_t size = q->block ? 2 * (q->mask + 1) : RECVS_FIRST;
	struct check_block **more;

	if (q->block && q->next - q->first <= q->mask)
		return true;
	more = pool_alloc(size * sizeof(struct check_block *));
	if (!more)
		return false;
	for (uint32_t n = q->first; q->block && n != q->next; n++)
		more[n & (size - 1)] = q->block[n & q->mask];
	if (q->block)
		pool_free(q->block, (q->mask + 1) * sizeof(struct check_block *));
	q->block = more;
	q->mask = size - 1;
	return true;
}

static struct check_block *check_recvs_pop(struct check_recvs *q)
{
	return q->first == q->next ? NULL : q->block[q->first++ & q->mask];
}

static void check_recvs_end(struct check_recvs *q)
{
	while (q->first != q->next)
		check_recv_over(check_recvs_pop(q));
	if (q->block)
		pool_free(q->block, (q->mask + 1) * sizeof(struct check_block *));
	*q = (struct check_recvs){ 0 };
}

/* Looks at the receives that the program has added to the ring. Without memory none of this queue is looked at any more. */
static void check_recvs_look(struct check_recvs *q, const struct ring *ring, struct check_list *l)
{
	while (!q->off && q->next - q->first < ring_count(ring)) {
		const struct rxe_recv_wqe *w = ring_slot(ring, ring->index + (q->next - q->first));

		if (!check_recvs_room(q)) {
			check_recvs_end(q);
			q->off = true;
			return;
		}
		l->dma = &w->dma;
		q->block[q->next & q->mask] = check_recv_block(l);
		q->next++;
	}
}

static struct check_recvs *check_recv_look_qp(struct qp *qp)
{
	struct check_list l = { .dev = qp->dev, .pd = qp->pd->id, .qpn = qp->qpn,
				.max_sge = qp->max_recv_sge };
	struct check_recvs *q = &check_sends(qp)->recvs;

	check_recvs_look(q, &qp->rq, &l);
	return q;
}

static struct check_recvs *check_recv_look_srq(struct check_srq *s)
{
	struct check_list l = { .dev = s->srq->uctx->dev, .pd = s->srq->pd->id,
				.max_sge = s->srq->max_sge };

	check_recvs_look(&s->recvs, &s->srq->rq, &l);
	return &s->recvs;
}

void check_recv_begin(const struct qp *qp)
{
	struct check_srq *s;

	if (!check_poison || !qp->srq || qp->srq->check)
		return;
	s = pool_zalloc(sizeof(*s));
	if (!s)
		return;
	s->srq = qp->srq;
	list_add_tail(&s->node, &all_srqs);
	qp->srq->check = s;
}

void check_recv_srq_end(struct srq *srq)
{
	check_recvs_end(&srq->check->recvs);
	list_del(&srq->check->node);
	pool_free(srq->check, sizeof(*srq->check));
	srq->check = NULL;
}

void check_recv_posted(struct qp *qp)
{
	if (check_poison && qp->check && !qp->srq)
		check_recv_look_qp(qp);
}

void check_srq_posted(uint64_t user_handle)
{
	struct check_srq *s;

	list_for_each_entry(s, &all_srqs, node)
		if (s->srq->async.user_handle == user_handle)
			check_recv_look_srq(s);
}

void check_recv_taken(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);
	struct check_recvs *q = NULL;

	check_hint_taken(qp);
	if (!check_poison)
		return;
	if (!qp->srq)
		q = check_recv_look_qp(qp);
	else if (qp->srq->check)
		q = check_recv_look_srq(qp->srq->check);
	check_recv_over(s->taken);
	s->taken = q ? check_recvs_pop(q) : NULL;
	s->has_taken = true;
	/* The message goes aside. */
	for (uint32_t i = 0; s->taken && i < s->taken->nparts; i++)
		check_freed_placed(s->taken->part[i].addr, s->taken->part[i].len);
}

struct check_block *check_recv_done(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);
	struct check_block *b = s->taken;

	/* Flushed: the engine has consumed the slot without taking the receive. */
	if (!s->has_taken)
		return qp->srq ? NULL : check_recvs_pop(&s->recvs);
	s->taken = NULL;
	s->has_taken = false;
	return b;
}

void *check_recv_target(const struct qp *qp, uint64_t off, uint64_t len)
{
	struct check_sends *s = check_sends(qp);
	struct check_block *b = s->taken;

	s->own++;	/* by check_req_placed() */
	if (!b || b->kind != CHECK_TARGET || off > b->len || len > b->len - off)
		return NULL;
	return b->bytes + off;
}

void check_recv_forget(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);
	bool off = s->recvs.off;

	check_cq_forget(qp->send_cq, s);
	if (qp->recv_cq != qp->send_cq)
		check_cq_forget(qp->recv_cq, s);
	check_recv_over(s->taken);
	s->taken = NULL;
	s->has_taken = false;
	check_recvs_end(&s->recvs);
	s->recvs.off = off;
}
