/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Send requests: what they send is compared, what they bring is kept aside until the program polls.
 *
 * The requests are read from the ring that librxe has written, so it does not matter by which function they were posted.
 */
#include <string.h>
#include "base/pool.h"
#include "check/check_internal.h"
#include "core/objects.h"
#include "shared/barrier.h"

#define REQS_FIRST 16u
#define ATOMIC_SIZE 8u
#define GRH_BYTES 40u
#define COMPARED_EARLY 4096u	/* longer ones are not compared at the completion: that costs more than it tells */
#define SEND_INLINE 8u
#define SEND_SIGNALED 2u

const struct check_host *check_host;
uint32_t check_arrived;
static uint32_t check_site;
static ns_t check_now;
static bool check_missed;	/* check_cq_missed() */
static uint64_t check_req_wrote;	/* the last wrote_at of QPs that have ended */
static struct list_head all_sends = { &all_sends, &all_sends };

void check_set_site(uint32_t site, ns_t now)
{
	check_site = site;
	check_now = now;
}

static struct check_req *check_req_at(struct check_sends *s, uint32_t number)
{
	return &s->req[number & s->mask];
}

void check_req_begin(struct qp *qp)
{
	struct check_sends *s;

	if (!check_cq_begin(qp->send_cq) || !check_cq_begin(qp->recv_cq))
		return;
	s = pool_zalloc(sizeof(*s));
	if (!s)
		return;
	s->req = pool_alloc(REQS_FIRST * sizeof(*s->req));
	if (!s->req) {
		pool_free(s, sizeof(*s));
		return;
	}
	s->mask = REQS_FIRST - 1;
	s->qp = qp;
	list_add_tail(&s->node, &all_sends);
	check_recv_begin(qp);
	s->pub.tail = qp->sq.index;
	qp->check = &s->pub;
	qp->special |= QP_CHECKED;
	check_hint_qp(qp);
}

bool check_req_written(const struct check_req *r)
{
	const struct check_sends *s;
	uint64_t last = check_req_wrote;

	list_for_each_entry(s, &all_sends, node)
		if (s->qp->type == QPT_RC)
			last = max(last, READ_ONCE(s->qp->card->wrote_at));
	return last && last + CARD_CLOCK_LATE >= (uint64_t)r->at;
}

void check_cq_missed(void)
{
	WRITE_ONCE(check_missed, true);
}

bool check_req_unsure(const struct check_req *r)
{
	struct check_sends *s;

	if (unlikely(READ_ONCE(check_missed))) {
		WRITE_ONCE(check_missed, false);
		list_for_each_entry(s, &all_sends, node)
			for (uint32_t n = s->first; n != s->next; n++)
				check_req_at(s, n)->failed = 1;
	}
	return r->failed;
}

void check_req_polled(struct check_sends *s, uint32_t end)
{
	for (; (int32_t)(end - s->first) > 0; s->first++)
		check_req_over(s, check_req_at(s, s->first), true);
}

void check_req_forget(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);

	for (uint32_t n = s->done; n != s->next; n++)
		if (check_req_at(s, n)->signaled)
			check_cq_awaits(qp->send_cq, -1);
	s->unsignaled = 0;
	for (; s->first != s->next; s->first++)
		check_req_over(s, check_req_at(s, s->first), false);
	s->done = s->next;
	s->pub.tail = qp->sq.index;
}

void check_req_end(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);

	check_req_wrote = max(check_req_wrote, READ_ONCE(qp->card->wrote_at));
	list_del(&s->node);
	check_recv_forget(qp);
	pool_free(s->req, ((size_t)s->mask + 1) * sizeof(*s->req));
	pool_free(s, sizeof(*s));
	qp->check = NULL;
	qp->special &= (uint8_t)~QP_CHECKED;
}

static bool check_req_grow(struct check_sends *s)
{
	size_t size = ((size_t)s->mask + 1) * sizeof(*s->req);
	struct check_req *more = pool_alloc(2 * size);

	if (!more)
		return false;
	for (uint32_t n = s->first; n != s->next; n++)
		more[n & (2 * s->mask + 1)] = *check_req_at(s, n);
	pool_free(s->req, size);
	s->req = more;
	s->mask = 2 * s->mask + 1;
	return true;
}

/* The scatter/gather list of a WQE, at most `most` bytes of it. */
static struct check_block *check_req_block(const struct qp *qp, const struct rxe_send_wqe *w,
					   uint64_t most, uint32_t access)
{
	struct check_list l = { .dev = qp->dev, .dma = &w->dma, .pd = qp->pd->id, .qpn = qp->qpn,
				.max_sge = qp->max_send_sge };

	return check_block_list(&l, most, access);
}

static void check_req_source(struct check_sends *s, struct check_req *r,
			     const struct rxe_send_wqe *w)
{
	r->block = check_req_block(s->qp, w, UINT64_MAX, 0);
	if (!r->block)
		return;
	check_recv_overlap(r->block);
	if (check_block_read(r->block))
		check_store_posted(r->site, r->block);
	else
		check_req_gone(s, r, 0);
}

/*
 * What a READ or atomic brings is hidden. Not over memory that another request sends: that request would send the pattern. And
 * not where another one brings something, too: the last one counts.
 */
static void check_req_hide(struct check_sends *s, struct check_req *r, const struct rxe_send_wqe *w)
{
	uint64_t most = r->opcode == IB_UVERBS_WR_RDMA_READ ? UINT64_MAX : ATOMIC_SIZE;

	r->block = check_req_block(s->qp, w, most, IB_UVERBS_ACCESS_LOCAL_WRITE);
	if (!r->block)
		return;
	if (check_recv_overlap(r->block) || check_block_sent(r->block) ||
	    check_block_brought(r->block)) {
		check_block_bare(r->block);
		return;
	}
	if ((most == ATOMIC_SIZE && r->block->len < most) || !check_block_read(r->block)) {
		check_block_free(r->block);
		r->block = NULL;
		return;
	}
	check_block_hide(r->block, false);
	check_store_posted(r->site, r->block);
}

static void check_req_memory(struct check_sends *s, struct check_req *r,
			     const struct rxe_send_wqe *w)
{
	if (READ_ONCE(w->wr.send_flags) & SEND_INLINE || !READ_ONCE(w->dma.num_sge))
		return;
	switch (r->opcode) {
	case IB_UVERBS_WR_RDMA_WRITE:
	case IB_UVERBS_WR_RDMA_WRITE_WITH_IMM:
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
	case IB_UVERBS_WR_SEND_WITH_INV:
		check_req_source(s, r, w);
		return;
	case IB_UVERBS_WR_RDMA_READ:
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		if (s->qp->type == QPT_RC && s->qp->state >= QPS_RTS && s->qp->state < QPS_SQE)
			check_req_hide(s, r, w);
		return;
	}
}

/* What the request refers to besides memory. */
static void check_req_refers(const struct qp *qp, struct check_req *r, const struct rxe_send_wqe *w)
{
	if (qp->type == QPT_UD)
		r->refers = READ_ONCE(w->wr.wr.ud.ah_num);
	else if (r->opcode == IB_UVERBS_WR_BIND_MW)
		r->refers = READ_ONCE(w->wr.wr.mw.mw_rkey);
}

/* Does an adapter's send queue have room for the request, and the CQ for its completion? */
static void check_req_room(struct check_sends *s, struct check_req *r)
{
	struct check_found f = { 0 };
	struct qp *qp = s->qp;
	struct cq *cq = qp->send_cq;
	uint32_t all;

	if (!r->signaled) {
		if (++s->unsignaled <= qp->max_send_wr)
			return;
		why_set(&f.why, CHECK_UNSIGNALED, s->unsignaled, qp->max_send_wr);
		check_req_found(s, r, 0, &f);
		s->unsignaled = 0;
		return;
	}
	s->unsignaled = 0;
	check_cq_awaits(cq, 1);
	all = check_cq_awaited(cq) + check_cq_unpolled(cq);
	if (likely(all <= cq->cqe))
		return;
	why_set(&f.why, CHECK_CQ_SMALL, all, cq->cqe, check_cq_unpolled(cq), check_cq_awaited(cq));
	check_req_found(s, r, 0, &f);
}

/* A program that signals nothing, or polls nothing: the oldest complete requests are not kept any longer. */
static void check_req_bound(struct check_sends *s)
{
	uint32_t most = 2 * (s->qp->sq.mask + 1) + s->qp->send_cq->ring.mask;

	while (s->next - s->first > most && s->first != s->done)
		check_req_over(s, check_req_at(s, s->first++), false);
}

void check_req_posted(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);
	uint32_t end = ring_producer(&qp->sq);

	for (; s->pub.tail != end; s->pub.tail = (s->pub.tail + 1) & qp->sq.mask) {
		const struct rxe_send_wqe *w = ring_slot(&qp->sq, s->pub.tail);
		struct check_req *r;

		/* Without memory the oldest requests are not compared. */
		if (s->next - s->first > s->mask && !check_req_grow(s)) {
			check_req_over(s, check_req_at(s, s->first++), false);
			if ((int32_t)(s->done - s->first) < 0)
				s->done = s->first;
		}
		r = check_req_at(s, s->next++);
		*r = (struct check_req){ .wr_id = READ_ONCE(w->wr.wr_id), .site = check_site, .at = check_now,
					 .arrived = check_arrived, .others = check_arrived - s->own,
					 .freed = check_freed_now() };
		r->opcode = (uint8_t)min(READ_ONCE(w->wr.opcode), 0xffu);
		r->signaled = qp->sq_sig_all || READ_ONCE(w->wr.send_flags) & SEND_SIGNALED;
		check_req_refers(qp, r, w);
		check_req_memory(s, r, w);
		if (r->block)
			check_req_freed(s, r, UINT64_MAX);
		if (qp->state >= QPS_RTS && qp->state < QPS_SQE)
			check_req_room(s, r);
		else
			r->signaled = 0;
		check_req_bound(s);
	}
	check_site = 0;
}

void check_req_consumed(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);
	struct check_req *r;

	if (s->done == s->next)
		check_req_posted(qp);
	if (s->done == s->next)
		return;
	r = check_req_at(s, s->done++);
	r->failed |= qp->state == QPS_ERR;
	if (r->signaled)
		check_cq_awaits(qp->send_cq, -1);
	if (r->block && r->block->len <= COMPARED_EARLY)
		check_req_compare(s, r, r->arrived != check_arrived);
}

void check_req_arrived(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);

	if ((int32_t)(s->first - s->looked) > 0)
		s->looked = s->first;
	for (; s->looked != s->next; s->looked++) {
		struct check_req *r = check_req_at(s, s->looked);

		/* The program may know of other messages, also of WRITEs. */
		check_req_compare(s, r, r->others != check_arrived - s->own);
	}
	check_arrived++;
	s->own++;
}

void *check_req_target(struct qp *qp, uint64_t off, uint64_t len)
{
	struct check_sends *s = check_sends(qp);
	struct check_block *b = s->done != s->next ? check_req_at(s, s->done)->block : NULL;

	if (!b || b->kind != CHECK_TARGET || off > b->len || len > b->len - off)
		return NULL;
	return b->bytes + off;
}

void check_req_fenced(struct qp *qp)
{
	struct check_sends *s = check_sends(qp);

	for (uint32_t n = s->first; n != s->done; n++) {
		struct check_block *b = check_req_at(s, n)->block;

		if (b && b->kind == CHECK_TARGET)
			check_block_show(b);
	}
}

struct check_req_key {
	uint32_t index;
	uint32_t site;		/* 1 + site of the deregistration; 0: not asked for yet */
};

static bool check_req_uses(const struct check_block *b, uint32_t index)
{
	for (uint32_t i = 0; i < b->nparts; i++)
		if (b->part[i].lkey >> 8 == index)
			return true;
	return false;
}

/* The memory is the program's again: nothing is written to it or compared any more. */
static void check_req_lost_key(struct check_block *b, void *arg)
{
	struct check_req_key *key = arg;

	if (!check_req_uses(b, key->index))
		return;
	if (!key->site)
		key->site = 1 + check_host->site();
	b->ended = key->site;
	if (b->kind == CHECK_TARGET)
		check_block_show(b);
	list_del(&b->node);
	b->kind = CHECK_NOTHING;
}

static void check_req_key_new(struct rdev *dev, uint32_t index, const struct key_card *card)
{
	check_freed_key(dev, index, card);
	check_recv_key(card);
}

void check_req_key_gone(uint32_t index)
{
	struct check_req_key key = { .index = index };

	check_freed_key_gone(index);
	check_block_each(check_req_lost_key, &key);
}

/* The object with this number ends. A bind changes the low byte of its key. */
static void check_req_object_gone(const struct rdev *dev, bool bind, uint32_t number)
{
	uint32_t site = 0, shift = bind ? 8 : 0;
	struct check_sends *s;

	list_for_each_entry(s, &all_sends, node)
		for (uint32_t n = s->first; s->qp->dev == dev && n != s->next; n++) {
			struct check_req *r = check_req_at(s, n);

			if (!r->refers || (r->refers ^ number) >> shift ||
			    (r->opcode == IB_UVERBS_WR_BIND_MW) != bind)
				continue;
			if (!site)
				site = 1 + check_host->site();
			r->ended = site;
		}
}

static void check_req_ah_gone(struct rdev *dev, uint32_t num)
{
	check_req_object_gone(dev, false, num);
}

static void check_req_mw_gone(struct rdev *dev, uint32_t rkey)
{
	check_req_object_gone(dev, true, rkey);
}

void check_ud_recv(struct qp *qp, uint64_t wr_id, uint64_t len, uint32_t site)
{
	struct check_found f = { .dev = qp->dev, .qpn = qp->qpn, .wr_id = wr_id, .posted = site };

	if (len > GRH_BYTES)
		return;
	why_set(&f.why, CHECK_UD_SHORT, len);
	check_host->found(&f);
}

static void check_req_unmapped(struct qp *qp, bool message, uint64_t addr)
{
	struct check_found f = { .dev = qp->dev, .qpn = qp->qpn };

	why_set(&f.why, CHECK_GONE, message, addr);
	check_host->found(&f);
}

static void check_req_shown(struct check_block *b, void *arg)
{
	(void)arg;
	if (b->kind == CHECK_TARGET)
		check_block_show(b);
}

void check_forking(void)
{
	check_block_each(check_req_shown, NULL);
}

/* What the parent's requests send and bring is none of the child's. */
static void check_req_inherited(struct check_block *b, void *arg)
{
	(void)arg;
	list_del(&b->node);
	b->kind = CHECK_NOTHING;
}

void check_forked(void)
{
	check_block_each(check_req_inherited, NULL);
}

static void check_req_placed(const struct iovec *iov, int n)
{
	check_arrived++;
	for (int i = 0; i < n; i++) {
		check_place_add(iov[i].iov_base, iov[i].iov_len);
		check_freed_placed(iov[i].iov_base, iov[i].iov_len);
	}
}

bool check_begin(const struct check_host *host)
{
	static const struct check_ops ops = {
		.qp_begin = check_req_begin,
		.qp_end = check_req_end,
		.cq_end = check_cq_end,
		.posted = check_req_posted,
		.consumed = check_req_consumed,
		.forget = check_req_forget,
		.recv_taken = check_recv_taken,
		.recv_target = check_recv_target,
		.recv_forget = check_recv_forget,
		.srq_end = check_recv_srq_end,
		.note = check_cq_note,
		.publish = check_cq_publish,
		.target = check_req_target,
		.fenced = check_req_fenced,
		.placed = check_req_placed,
		.key_new = check_req_key_new,
		.key_gone = check_req_key_gone,
		.unmapped = check_req_unmapped,
		.ah_gone = check_req_ah_gone,
		.mw_gone = check_req_mw_gone,
		.qp_wanted = check_hint_qp_wanted,
		.cq_wanted = check_hint_cq_wanted,
		.srq_wanted = check_hint_srq_wanted,
		.qp_modified = check_hint_modified,
		.ah_created = check_hint_ah,
	};

	if (!check_place_begin() || !check_freed_init())
		return false;
	check_host = host;
	check_poison = host->poison;
	check_store_begin();
	check_ops = &ops;
	return true;
}
