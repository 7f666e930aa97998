/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop: the link of a process to itself, a FIFO of segments.
 *
 * send() only queues and poll() only delivers. Otherwise a responder that answers inside input()
 * would re-enter the requester that is still sending. RC payload is referenced, because the
 * requester keeps it until the ACK or revokes it. UC and UD have no ACK, so their payload is
 * copied. The FIFO restarts at its first entry when it is empty, so a ping-pong uses one warm cache
 * line.
 *
 * If referenced payload cannot be read, the requester gets a NAK and repeats the message, which is
 * copied then: send() fails with -EFAULT in that copy, as the memory is bad.
 */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "base/pool.h"
#include "link/lost.h"
#include "why/why.h"

#define LOOP_SEGS 1024
#define LOOP_INLINE 64		/* up to this size a copy is cheaper than a reference */
#define LOOP_MAX_SEG (1u << 20)
#define LOOP_POOLED (32u << 10)	/* longer copies have blocks of LOOP_MAX_SEG, as the pool would map one for each */
#define LOOP_SPARE 8		/* of these blocks so many are kept */

_Static_assert(sizeof(struct why) <= LOOP_INLINE, "a reason fits in the place of payload");

struct loop_entry {
	struct seg seg;
	bool dropped;		/* revoked: the payload may be gone */
	bool by_ref;
	void *heap;		/* copy of long UC or UD payload */
	struct iovec copy_iov;
	struct seg_net net;
	struct iovec iov[SEG_MAX_IOV];
	uint8_t data[LOOP_INLINE] __attribute__((aligned(8)));	/* payload, or the reason of a NAK (struct why) */
};

struct loopback {
	struct link l;
	uint32_t head, count;	/* oldest entry; number of entries */
	bool polling, want_room;
	bool unread;		/* the payload of the entry that is delivered cannot be read */
	uint32_t copy_sqpn;	/* the next message of this QP is copied; 0: of none */
	void *spare[LOOP_SPARE];	/* blocks for long copies; `spares` of them */
	uint32_t spares;
	struct loop_entry ent[LOOP_SEGS];
};

static void *loop_copy_alloc(struct loopback *lo, size_t len)
{
	if (len <= LOOP_POOLED)
		return pool_alloc(len);
	return lo->spares ? lo->spare[--lo->spares] : pool_alloc(LOOP_MAX_SEG);
}

static void loop_copy_free(struct loopback *lo, struct loop_entry *e)
{
	size_t len = e->copy_iov.iov_len;

	if (e->heap && len > LOOP_POOLED && lo->spares < LOOP_SPARE)
		lo->spare[lo->spares++] = e->heap;
	else if (e->heap)
		pool_free(e->heap, len > LOOP_POOLED ? LOOP_MAX_SEG : len);
	e->heap = NULL;
}

/* Copy the payload into the entry. 0, -EFAULT, or -EAGAIN without memory. */
static int loop_copy(struct loopback *lo, struct loop_entry *e, const struct seg *seg)
{
	int rc;

	e->heap = seg->len > LOOP_INLINE ? loop_copy_alloc(lo, seg->len) : NULL;
	if (seg->len > LOOP_INLINE && !e->heap)
		return -EAGAIN;
	e->copy_iov.iov_base = e->heap ? e->heap : e->data;
	e->copy_iov.iov_len = seg->len;
	rc = lo->l.host->copy_iov(&e->copy_iov, 1, 0, seg->iov, seg->niov, 0, seg->len);
	if (rc) {
		loop_copy_free(lo, e);
		return rc;
	}
	e->seg.iov = &e->copy_iov;
	e->seg.niov = 1;
	return 0;
}

/* seg_pull.copy of referenced payload. */
HOT static int loop_pull_copy(const struct seg *seg, uint64_t off, const struct iovec *dst,
			      int ndst, uint64_t len)
{
	struct loopback *lo = seg->pull_arg;

	if (likely(!lo->l.host->copy_iov(dst, ndst, 0, seg->iov, seg->niov, off, len)))
		return 0;
	if (seg_readable(seg, off, len, lo->l.host->copy_iov))
		return -EFAULT;
	lo->unread = true;
	return -EIO;
}

static const struct seg_pull loop_pull = { .copy = loop_pull_copy };

/* Gives the requester the NAK that its responder would send on the next packet. */
static noinline __cold void loop_tell_unread(struct loopback *lo, const struct seg *seg)
{
	lo->unread = false;
	lo->copy_sqpn = seg->sqpn;
	if (seg->type == SEG_READ_RESP)
		link_tell_lost(&lo->l, seg->dqpn, seg->sqpn, seg->psn, seg->pkey);
	else
		link_tell_lost(&lo->l, seg->sqpn, seg->dqpn, seg->psn, seg->pkey);
}

/* Whether a segment with payload is passed by reference. */
static bool loop_refers(struct loopback *lo, const struct seg *seg)
{
	/*
	 * With the fault wrapper the payload of every packet is copied: fault frees a packet that it
	 * held back as soon as send() has returned.
	 */
	if (seg->len <= LOOP_INLINE || seg->service != SEG_RC || unlikely(lo->l.lossy))
		return false;
	if (likely(seg->sqpn != lo->copy_sqpn))
		return true;
	if (seg->flags & SEG_F_END)
		lo->copy_sqpn = 0;
	return false;
}

static int loop_send(struct link *l, const struct seg *seg)
{
	struct loopback *lo = container_of(l, struct loopback, l);
	struct loop_entry *e;
	int rc;

	if (lo->count == LOOP_SEGS) {
		lo->want_room = true;
		return -EAGAIN;
	}
	if (BUG_ON(seg->niov < 0 || seg->niov > SEG_MAX_IOV || seg->len > LOOP_MAX_SEG))
		return -EFAULT;
	e = &lo->ent[(lo->head + lo->count) % LOOP_SEGS];
	e->seg = *seg;
	e->dropped = e->by_ref = false;
	e->heap = NULL;
	if (seg->net) {
		e->net = *seg->net;
		e->seg.net = &e->net;
	}
	if (!seg->len) {
		e->seg.iov = NULL;
		e->seg.niov = 0;
		if (unlikely(seg->why)) {
			memcpy(e->data, seg->why, sizeof(*seg->why));
			e->seg.why = (const struct why *)e->data;
		}
	} else if (loop_refers(lo, seg)) {
		e->by_ref = true;
		memcpy(e->iov, seg->iov, sizeof(*seg->iov) * (size_t)seg->niov);
		e->seg.iov = e->iov;
		e->seg.pull = &loop_pull;
		e->seg.pull_arg = lo;
	} else {
		rc = loop_copy(lo, e, seg);
		if (rc == -EAGAIN)
			lo->want_room = true;
		if (rc)
			return rc;
	}
	lo->count++;
	l->tx_segs++;
	l->tx_bytes += seg->len;
	return 0;
}

static void loop_revoke(struct link *l, uint32_t sqpn)
{
	struct loopback *lo = container_of(l, struct loopback, l);

	for (uint32_t i = 0; i < lo->count; i++) {
		struct loop_entry *e = &lo->ent[(lo->head + i) % LOOP_SEGS];

		if (e->by_ref && e->seg.sqpn == sqpn)
			e->dropped = true;
	}
}

static bool loop_peer_behind(struct link *l)
{
	return container_of(l, struct loopback, l)->count > 0;
}

static int loop_poll(struct link *l, int budget)
{
	struct loopback *lo = container_of(l, struct loopback, l);
	int n = 0;

	if (lo->polling)
		return 0;
	lo->polling = true;
	while (n < budget && lo->count) {
		struct loop_entry *e = &lo->ent[lo->head];

		if (!e->dropped) {
			l->rx_segs++;
			l->rx_bytes += e->seg.len;
			l->host->input(l, &e->seg);
			if (unlikely(lo->unread))
				loop_tell_unread(lo, &e->seg);
			n++;
		}
		loop_copy_free(lo, e);
		lo->head = (lo->head + 1) % LOOP_SEGS;
		if (--lo->count == 0)
			lo->head = 0;
	}
	lo->polling = false;
	if (lo->want_room && lo->count <= LOOP_SEGS / 2) {
		lo->want_room = false;
		l->host->writable(l);
	}
	return n;
}

static void loop_destroy(struct link *l)
{
	struct loopback *lo = container_of(l, struct loopback, l);

	for (uint32_t i = 0; i < lo->count; i++)
		loop_copy_free(lo, &lo->ent[(lo->head + i) % LOOP_SEGS]);
	while (lo->spares)
		pool_free(lo->spare[--lo->spares], LOOP_MAX_SEG);
	pool_free(lo, sizeof(*lo));
}

static const struct link_ops loop_ops = {
	.name = "loop",
	.send = loop_send,
	.revoke = loop_revoke,
	.peer_behind = loop_peer_behind,
	.poll = loop_poll,
	.destroy = loop_destroy,
};

struct link *link_loopback_create(const struct link_user_ops *host, void *host_arg)
{
	struct loopback *lo = pool_zalloc(sizeof(*lo));

	if (!lo)
		return NULL;
	lo->l.ops = &loop_ops;
	lo->l.kind = LINK_LOOP;
	lo->l.host = host;
	lo->l.host_arg = host_arg;
	lo->l.max_seg = LOOP_MAX_SEG;
	lo->l.max_copy_seg = LOOP_MAX_SEG;
	lo->l.max_pkts = 1u << 16;
	lo->l.refs = 1;
	return &lo->l;
}
