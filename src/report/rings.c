/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "ladder/ladder.h"
#include "report/rings.h"
#include "wire/frame.h"
#include "wire/opcode.h"

#define RING_AFTER 16		/* packets after an event that its copy waits for */
#define RINGS_BUCKETS 2048
#define OPCODE_SERVICE_UD 3	/* the upper three bits of an opcode */

struct ring_packet {
	uint64_t ns;
	uint32_t len, sqpn;
	int pid;
	uint16_t caplen;
	char comm[16], note[40];
	uint8_t frame[RINGS_FRAME];
};

/* A QP of a ring, in the bucket of its number. */
struct ring_end {
	struct list_head node;
	uint32_t qpn;		/* 0: unknown, in no bucket */
	struct ring *ring;
	uint32_t psn;		/* after the last request to this QP */
	bool has_psn, has_gid;
	uint8_t gid[16];	/* from which it sends */
};

struct ring {
	struct list_head node;	/* the one with the newest packet is the first */
	struct ring_end end[2];
	struct ring_packet *last, *first;
	uint64_t n;		/* packets so far; the newest is last[(n - 1) % RINGS_PACKETS] */
	size_t nfirst;
	uint64_t first_end;	/* n when the copy was made */
	uint64_t events;
	unsigned int after;	/* packets until the copy is made; 0: none, or it is made */
};

struct rings {
	struct list_head list;
	struct list_head buckets[RINGS_BUCKETS];
	size_t count, bytes;
};

#define RING_BYTES (RINGS_PACKETS * sizeof(struct ring_packet))

struct rings *rings_new(void)
{
	struct rings *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return NULL;
	list_init(&rs->list);
	for (size_t i = 0; i < RINGS_BUCKETS; i++)
		list_init(&rs->buckets[i]);
	return rs;
}

static struct list_head *rings_bucket(const struct rings *rs, uint32_t qpn)
{
	return (struct list_head *)&rs->buckets[(qpn ^ qpn >> 11) % RINGS_BUCKETS];
}

static void ring_remove(struct rings *rs, struct ring *r)
{
	list_del(&r->node);
	for (int i = 0; i < 2; i++)
		if (r->end[i].qpn)
			list_del(&r->end[i].node);
	rs->bytes -= (r->last ? RING_BYTES : 0) + (r->first ? RING_BYTES : 0);
	rs->count--;
	free(r->last);
	free(r->first);
	free(r);
}

void rings_free(struct rings *rs)
{
	if (!rs)
		return;
	while (!list_empty(&rs->list))
		ring_remove(rs, list_first_entry(&rs->list, struct ring, node));
	free(rs);
}

static struct ring_end *rings_end(const struct rings *rs, uint32_t qpn)
{
	struct ring_end *e;

	if (!qpn)
		return NULL;
	list_for_each_entry(e, rings_bucket(rs, qpn), node)
		if (e->qpn == qpn)
			return e;
	return NULL;
}

/* Makes room for the packets of one more ring or copy, of which `keep` is not part. */
static void rings_room(struct rings *rs, const struct ring *keep)
{
	struct ring *oldest;

	while (rs->count >= RINGS_MAX || rs->bytes + RING_BYTES > RINGS_BYTES) {
		oldest = list_entry(rs->list.prev, struct ring, node);
		if (list_empty(&rs->list) || oldest == keep)
			break;
		ring_remove(rs, oldest);
	}
}

static void ring_name(struct rings *rs, struct ring *r, int end, uint32_t qpn)
{
	struct ring_end *e = &r->end[end];

	if (!qpn || e->qpn || rings_end(rs, qpn))
		return;
	e->qpn = qpn;
	e->ring = r;
	list_add_tail(&e->node, rings_bucket(rs, qpn));
}

static struct ring *ring_new(struct rings *rs, uint32_t sqpn, uint32_t dqpn, bool ud)
{
	struct ring *r;

	rings_room(rs, NULL);
	r = calloc(1, sizeof(*r));
	if (r)
		r->last = calloc(RINGS_PACKETS, sizeof(*r->last));
	if (!r || !r->last) {
		free(r);
		return NULL;
	}
	list_add(&r->node, &rs->list);
	rs->bytes += RING_BYTES;
	rs->count++;
	ring_name(rs, r, 0, sqpn ? sqpn : dqpn);
	if (!ud && sqpn)
		ring_name(rs, r, 1, dqpn);
	return r;
}

/* The ring of a packet. NULL: no memory. */
static struct ring *rings_of(struct rings *rs, uint32_t sqpn, uint32_t dqpn, bool ud)
{
	struct ring_end *e = rings_end(rs, sqpn);

	if (!e && (!ud || !sqpn))
		e = rings_end(rs, dqpn);
	if (!e)
		return ring_new(rs, sqpn, dqpn, ud);
	/* The first packet of a peer on another host has no sender. */
	if (!ud && sqpn && e->ring->end[0].qpn != dqpn)
		ring_name(rs, e->ring, 1, dqpn);
	return e->ring;
}

static void ring_copy(struct rings *rs, struct ring *r)
{
	size_t n = (size_t)min(r->n, (uint64_t)RINGS_PACKETS);

	rings_room(rs, r);
	if (rs->bytes + RING_BYTES <= RINGS_BYTES)
		r->first = malloc(RING_BYTES);
	if (!r->first)
		return;
	rs->bytes += RING_BYTES;
	for (size_t i = 0; i < n; i++)
		r->first[i] = r->last[(r->n - n + i) % RINGS_PACKETS];
	r->nfirst = n;
	r->first_end = r->n;
}

/* A request whose PSN is before one that was sent. The numbers have 24 bits. */
static bool ring_repeats(struct ring *r, const struct bth *bth)
{
	struct ring_end *e = r->end[1].qpn && r->end[1].qpn == bth->dqpn ? &r->end[1] : &r->end[0];
	const struct opcode_info *op = opcode_info(bth->opcode);
	uint32_t ahead = (bth->psn - e->psn) & 0xffffff;
	bool back;

	if (!op || op->flags & OPF_ACK || bth->opcode >> 5)	/* requests of RC only */
		return false;
	back = e->has_psn && ahead >= 0x800000;
	if (!back)
		e->psn = (bth->psn + 1) & 0xffffff;
	e->has_psn = true;
	return back;
}

/* Bits 5 and 6 of the syndrome: 0 of an ACK, 1 of an RNR NAK, 3 of a NAK. */
static bool ring_is_nak(const struct frame *f, const struct bth *bth)
{
	const struct opcode_info *op = opcode_info(bth->opcode);
	struct aeth aeth;

	if (!op || bth->opcode != OP_ACK || f->len < BTH_LEN + AETH_LEN)
		return false;
	aeth_get(f->packet + BTH_LEN, &aeth);
	return aeth.syndrome >> 5 & 1;
}

/* snprintf() takes longer than all the rest of a packet. */
static void ring_text(char *to, size_t size, const char *from)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

static void ring_put(struct ring *r, const struct ladder_packet *p)
{
	struct ring_packet *k = &r->last[r->n++ % RINGS_PACKETS];

	k->ns = p->ns;
	k->len = p->len;
	k->sqpn = p->sqpn;
	k->pid = p->pid;
	k->caplen = (uint16_t)min(p->caplen, (uint32_t)RINGS_FRAME);
	memcpy(k->frame, p->frame, k->caplen);
	ring_text(k->comm, sizeof(k->comm), p->comm);
	ring_text(k->note, sizeof(k->note), p->note);
}

void rings_add(struct rings *rs, const struct ladder_packet *p)
{
	struct frame f;
	struct ring *r;
	struct bth bth;
	bool event;

	if (frame_parse(p->frame, p->caplen, &f) == FRAME_OTHER || f.len < BTH_LEN)
		return;
	bth_get(f.packet, &bth);
	r = rings_of(rs, p->sqpn, bth.dqpn, bth.opcode >> 5 == OPCODE_SERVICE_UD);
	if (!r)
		return;
	list_del(&r->node);
	list_add(&r->node, &rs->list);
	event = ring_repeats(r, &bth);
	event |= *p->note || ring_is_nak(&f, &bth);
	ring_put(r, p);
	for (int i = 0; i < 2; i++)
		if (r->end[i].qpn && r->end[i].qpn == p->sqpn && !r->end[i].has_gid) {
			r->end[i].has_gid = true;
			memcpy(r->end[i].gid, f.net.sgid, sizeof(r->end[i].gid));
		}
	if (event && !r->events++)
		r->after = RING_AFTER;
	else if (r->after && !--r->after)
		ring_copy(rs, r);
}

const struct ring *rings_find(const struct rings *rs, uint32_t qpn)
{
	const struct ring_end *e = rings_end(rs, qpn);

	return e ? e->ring : NULL;
}

const struct ring *rings_next(const struct rings *rs, const struct ring *after)
{
	const struct list_head *at = after ? after->node.next : rs->list.next;

	return at == &rs->list ? NULL : list_entry(at, struct ring, node);
}

size_t rings_count(const struct rings *rs)
{
	return rs->count;
}

uint64_t ring_events(const struct ring *r)
{
	return r->events;
}

uint32_t ring_qpn(const struct ring *r, int end)
{
	return r->end[end].qpn;
}

const uint8_t *ring_gid(const struct ring *r, uint32_t qpn)
{
	for (int i = 0; i < 2; i++)
		if (r->end[i].qpn == qpn && r->end[i].has_gid)
			return r->end[i].gid;
	return NULL;
}

bool ring_has_first(const struct ring *r)
{
	return r->first && r->n > r->first_end + RINGS_PACKETS - RING_AFTER - 1;
}

size_t ring_chart(const struct ring *r, bool first, struct ladder *l)
{
	size_t n = first ? r->nfirst : (size_t)min(r->n, (uint64_t)RINGS_PACKETS), added = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ring_packet *k = first ? &r->first[i] :
						      &r->last[(r->n - n + i) % RINGS_PACKETS];
		const struct ladder_packet p = {
			.ns = k->ns, .frame = k->frame, .caplen = k->caplen, .len = k->len,
			.note = k->note, .sqpn = k->sqpn, .pid = k->pid, .comm = k->comm,
		};

		added += !ladder_add(l, &p, NULL, NULL);
	}
	return added;
}
