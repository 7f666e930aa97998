/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions that the program has not polled. Each has a note, in a ring of its CQ: which requests it covers. The number of a
 * completion is that of cq.count; the program has polled all but those that are in the ring of the CQ.
 */
#include <string.h>
#include "base/pool.h"
#include "check/check_internal.h"

#define NOTES_FIRST 64u
#define BUCKETS 1024u
/* enum ibv_wc_flags. */
#define WC_WITH_IMM 2u
#define WC_WITH_INV 8u

struct check_note {
	struct check_sends *sends;	/* of its QP; NULL: it covers nothing */
	bool send;			/* it covers requests, */
	uint32_t end;			/* those before this number */
	struct check_block *recv;	/* of a receive; NULL: nothing is hidden */
};

struct check_cq {
	struct cq *cq;
	struct check_cq *same;	/* in the bucket */
	struct check_note *note;	/* by number & mask */
	uint32_t mask;
	uint32_t polled;	/* number of the first completion that was not polled */
	uint32_t armed;		/* site of the last check_cq_armed() */
	uint32_t lost;		/* completions at check_cq_lost(), until the next poll */
	uint32_t awaited;	/* signaled sends that are not complete */
	uint32_t ahead;		/* completions that were shown since ibv_start_poll() */
};

static struct check_cq *buckets[BUCKETS];
static const struct qp *pending_qp;
static struct check_note pending;	/* of the completion that is published next */

static struct check_cq **check_cq_bucket(uint64_t handle)
{
	return &buckets[(handle >> 4 ^ handle >> 14) % BUCKETS];
}

/* The number of the next completion. Those that are hidden (core/cq.h) are in the ring and have a note. */
static uint32_t check_cq_next(const struct cq *cq)
{
	return cq->count + cq->hidden;
}

bool check_cq_begin(struct cq *cq)
{
	struct check_cq **bucket = check_cq_bucket(cq->comp.user_handle), *c;

	if (cq->check)
		return true;
	c = pool_zalloc(sizeof(*c));
	if (!c)
		return false;
	c->note = pool_zalloc(NOTES_FIRST * sizeof(*c->note));
	if (!c->note) {
		pool_free(c, sizeof(*c));
		return false;
	}
	c->mask = NOTES_FIRST - 1;
	c->cq = cq;
	c->polled = check_cq_next(cq);
	c->same = *bucket;
	*bucket = c;
	cq->check = c;
	cq->closely = true;
	return true;
}

void check_cq_end(struct cq *cq)
{
	struct check_cq **at = check_cq_bucket(cq->comp.user_handle), *c = cq->check;

	for (uint32_t n = c->polled; n != check_cq_next(cq); n++)
		check_recv_over(c->note[n & c->mask].recv);
	while (*at != c)
		at = &(*at)->same;
	*at = c->same;
	pool_free(c->note, ((size_t)c->mask + 1) * sizeof(*c->note));
	pool_free(c, sizeof(*c));
	cq->check = NULL;
}

void check_cq_awaits(struct cq *cq, int n)
{
	cq->check->awaited += (uint32_t)n;
}

uint32_t check_cq_awaited(const struct cq *cq)
{
	return cq->check->awaited;
}

uint32_t check_cq_unpolled(struct cq *cq)
{
	return (cq->ring.index - cq_consumer(cq)) & cq->ring.mask;
}

void check_cq_armed(struct cq *cq)
{
	cq->check->armed = check_host->site();
	cq->check->lost = 0;
}

void check_cq_lost(struct cq *cq)
{
	cq->check->lost = check_cq_unpolled(cq);
}

bool check_cq_is_lost(const struct cq *cq)
{
	return cq->check->lost;
}

void check_cq_found(struct cq *cq, bool armed)
{
	struct check_found f = { .dev = cq->uctx->dev, .posted = cq->check->armed };

	why_set(&f.why, CHECK_LOST_WAKEUP, cq->check->lost);
	cq->check->lost = 0;
	if (armed)
		check_host->found(&f);
}

struct cq *check_cq_find(uint64_t handle)
{
	for (struct check_cq *c = *check_cq_bucket(handle); c; c = c->same)
		if (c->cq->comp.user_handle == handle)
			return c->cq;
	return NULL;
}

/* Room for one more note. False: no memory; then the oldest one is lost. */
static bool check_cq_grow(struct check_cq *c)
{
	size_t size = ((size_t)c->mask + 1) * sizeof(*c->note);
	struct check_note *more = pool_alloc(2 * size);

	if (!more)
		return false;
	for (uint32_t n = c->polled; n != c->polled + c->mask + 1; n++)
		more[n & (2 * c->mask + 1)] = c->note[n & c->mask];
	pool_free(c->note, size);
	c->note = more;
	c->mask = 2 * c->mask + 1;
	return true;
}

void check_cq_note(struct qp *qp, bool send)
{
	struct check_sends *s = check_sends(qp);

	pending_qp = qp;
	if (!send)
		check_req_arrived(qp);
	pending = (struct check_note){ .sends = s, .send = send };
	if (send)
		pending.end = s->done;
	else
		pending.recv = check_recv_done(qp);
}

/* Fields that are not defined (ibv_poll_cq(3)) hold the pattern, not by luck what the program expects. */
static void check_cq_blur(struct ib_uverbs_wc *wc, bool ud)
{
	const uint32_t pattern = CHECK_PATTERN * 0x01010101u;

	if (wc->status) {
		wc->opcode = wc->byte_len = wc->wc_flags = pattern;
		ud = false;
	}
	if (wc->status || !(wc->wc_flags & (WC_WITH_IMM | WC_WITH_INV)))
		wc->ex.imm_data = pattern;
	if (ud)
		return;
	wc->src_qp = pattern;
	wc->slid = wc->pkey_index = (uint16_t)pattern;
	wc->sl = wc->dlid_path_bits = CHECK_PATTERN;
}

void check_cq_publish(struct cq *cq, struct ib_uverbs_wc *wc)
{
	struct check_cq *c = cq->check;
	uint32_t number = check_cq_next(cq);

	check_cq_polled(cq);
	if (pending_qp)
		check_cq_blur(wc, pending_qp->type == QPT_UD);
	pending_qp = NULL;
	if (number - c->polled > c->mask && !check_cq_grow(c))
		check_recv_over(c->note[c->polled++ & c->mask].recv);
	c->note[number & c->mask] = pending;
	pending = (struct check_note){ 0 };
}

/* ahead: completions beyond the consumer index that the program has seen. */
static void check_cq_seen(struct cq *cq, uint32_t ahead)
{
	struct check_cq *c = cq->check;
	uint32_t next = check_cq_next(cq), end = next - check_cq_unpolled(cq);

	ahead = min(ahead, next - end);
	for (end += ahead; (int32_t)(end - c->polled) > 0; c->polled++) {
		const struct check_note *n = &c->note[c->polled & c->mask];

		if (n->sends && n->send)
			check_req_polled(n->sends, n->end);
		check_recv_over(n->recv);
	}
}

void check_cq_polled(struct cq *cq)
{
	check_cq_seen(cq, 0);
}

void check_cq_shown(struct cq *cq, bool first)
{
	cq->check->ahead = first ? 1 : cq->check->ahead + 1;
	check_cq_seen(cq, cq->check->ahead);
}

void check_cq_forget(struct cq *cq, const struct check_sends *s)
{
	struct check_cq *c = cq->check;

	for (uint32_t n = c->polled; n != check_cq_next(cq); n++) {
		struct check_note *note = &c->note[n & c->mask];

		if (note->sends != s)
			continue;
		note->sends = NULL;
		check_recv_over(note->recv);
		note->recv = NULL;
	}
}
