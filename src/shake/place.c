/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * place: the lines of a WRITE, or of the answer to a READ, become visible in another order. A part of the last segment is placed
 * at once and the other one after a while. Meanwhile the segment waits in the queue of its direction, with what comes behind it,
 * and the transport has not taken it: no later message, acknowledgement or completion is ahead of the data. When it is handed
 * over again the transport repeats its checks, and only the missing part is placed.
 *
 * Lines are those of the memory, 64 bytes.
 */
#include "shake/shake_internal.h"

#define LINE 64u
/* Longer parts are not kept: instead of a half all but one line is visible at once. */
#define PLACE_LATE_MOST (256u << 10)
/* Events of answers to READs have this bit, since WRITEs of the peer may come between them. */
#define PLACE_READS (~SHAKE_EVENT)

/* Bytes of the entry before its second line begins. */
static uint64_t place_head(const struct iovec *dst)
{
	return LINE - ((uintptr_t)dst->iov_base & (LINE - 1));
}

/* Bytes of the entry in its last line. */
static uint64_t place_tail(const struct iovec *dst)
{
	return (((uintptr_t)dst->iov_base + dst->iov_len - 1) & (LINE - 1)) + 1;
}

/* The part of the entry that is late, of at least two lines. */
static void place_choose(const struct iovec *dst, uint64_t bits, struct shake_part *part)
{
	uint64_t len = dst->iov_len, head = place_head(dst), tail = place_tail(dst), mid;

	mid = head + (len - head) / 2 / LINE * LINE;
	switch (bits % 6) {
	case 0:		/* the first line */
		*part = (struct shake_part){ 0, head };
		break;
	case 1:		/* the first half */
		*part = (struct shake_part){ 0, mid };
		break;
	case 2:		/* all but the last line */
		*part = (struct shake_part){ 0, len - tail };
		break;
	case 3:		/* the last line */
		*part = (struct shake_part){ len - tail, tail };
		break;
	case 4:		/* the second half */
		*part = (struct shake_part){ mid, len - mid };
		break;
	case 5:		/* all but the first line */
		*part = (struct shake_part){ head, len - head };
		break;
	}
	if (part->len <= PLACE_LATE_MOST)
		return;
	*part = part->from ? (struct shake_part){ len - tail, tail } :
			     (struct shake_part){ 0, head };
}

static uint64_t place_span(uint64_t from, uint64_t end)
{
	return from | (end - 1) << 32;
}

static ns_t place_wait(struct qp *qp, bool answer, uint64_t bits, ns_t now)
{
	static const ns_t waits[] = { 3 * NS_MS, 10 * NS_MS, 30 * NS_MS };
	ns_t wait = waits[bits % ARRAY_SIZE(waits)];

	return min(wait, answer ? late_most(qp, now) : shake_peer_waits(qp));
}

/* Tells the decision: value 2 are the bytes of the message that are visible at once, 3 those that are late. */
static void place_took(struct qp *qp, bool answer, const struct shake_part *part, ns_t wait)
{
	const struct place_state *p = &shake_of(qp)->place;
	uint64_t end = part->from + part->len;
	uint64_t late = place_span(p->before + part->from, p->before + end);
	uint64_t early = part->from ? place_span(p->before, p->before + part->from) :
				      place_span(p->before + end, p->before + p->len);

	if (answer)
		shake_took(qp, SHAKE_PLACE_READ, p->event, early, late, (uint64_t)wait);
	else
		shake_took(qp, SHAKE_PLACE_WRITE, p->event, early, late, (uint64_t)wait);
}

enum shake_place place_judges(struct qp *qp, const struct seg *seg, uint64_t before,
			      const struct iovec *dst, uint64_t len, struct shake_part *part)
{
	struct shake_state *s = shake_of(qp);
	struct place_state *p = &s->place;

	if (s->again && &s->again->kept.seg == seg && s->again->part.len) {
		*part = s->again->part;
		return SHAKE_PLACE_REST;
	}
	if (before + len <= LINE)
		return SHAKE_PLACE_ALL;
	p->event = seg_is_answer(seg) ? p->reads++ | PLACE_READS : p->writes++;
	if (!points_decide(SHAKE_PLACE, s->number, p->event, &p->bits) ||
	    dst->iov_len <= place_head(dst))
		return SHAKE_PLACE_ALL;
	place_choose(dst, p->bits, part);
	p->before = before;
	p->len = dst->iov_len;
	return SHAKE_PLACE_FIRST;
}

bool place_keeps(struct qp *qp, const struct seg *seg, uint64_t off, const struct shake_part *part)
{
	bool answer = seg_is_answer(seg);
	enum shake_side side = answer ? SHAKE_ANSWERS : SHAKE_REQUESTS;
	struct shake_state *s = shake_of(qp);
	ns_t now = max(s->now, rdev_now(qp->dev)), wait;

	wait = place_wait(qp, answer, s->place.bits >> 8, now);
	if (wait <= 0 || !queue_keep_part(qp, side, seg, off, part))
		return false;
	queue_hold(qp, side, now + wait);
	place_took(qp, answer, part, wait);
	return true;
}
