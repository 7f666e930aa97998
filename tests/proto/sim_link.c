/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The simulated link of sim.h: a list of packets by time of arrival. sim_send() decides whether a
 * packet is lost, delayed or duplicated; sim_deliver() gives the next one to its QP.
 */
#include <errno.h>
#include "sim.h"
#include "sim_print.h"

static void pkt_free(struct sim *s, struct sim_pkt *p)
{
	s->inflight[p->to]--;
	list_del(&p->entry);
	free(p->data);
	free(p);
}

/* Copies the payload, as a wire does, or with by_ref keeps a reference to it, as shm does. */
static int pkt_payload(struct sim *s, struct sim_pkt *p, const struct seg *seg)
{
	if (seg->niov)
		memcpy(p->iov, seg->iov, (size_t)seg->niov * sizeof(*seg->iov));
	p->seg.iov = p->iov;
	if (!seg->len || s->by_ref)
		return 0;
	p->data = malloc(seg->len);
	p->iov[0] = (struct iovec){ p->data, seg->len };
	p->seg.niov = 1;
	return umem_copy_iov(p->iov, 1, 0, seg->iov, seg->niov, 0, seg->len);
}

static int fly(struct sim *s, int to, const struct seg *seg, ns_t at)
{
	struct sim_pkt *p = calloc(1, sizeof(*p)), *q;
	struct list_head *where = &s->flying;

	p->seg = *seg;
	if (seg->net) {
		p->net = *seg->net;
		p->seg.net = &p->net;
	}
	p->to = to;
	p->at = at;
	list_init(&p->entry);
	if (pkt_payload(s, p, seg)) {
		free(p->data);
		free(p);
		return -EFAULT;
	}
	/* Insert behind all packets that arrive earlier or at the same time. */
	while (where->prev != &s->flying) {
		q = list_entry(where->prev, struct sim_pkt, entry);
		if (q->at <= at)
			break;
		where = where->prev;
	}
	list_add_tail(&p->entry, where);
	s->inflight[to]++;
	return 0;
}

static bool chance(struct sim *s, uint32_t pct)
{
	return pct && prng_below(&s->rng, 100) < pct;
}

static int sim_send(struct link *l, const struct seg *seg)
{
	struct sim_end *e = container_of(l, struct sim_end, link);
	struct sim *s = e->sim;
	int to = !e->id;
	ns_t at = s->now + SIM_LATENCY;
	uint32_t n;
	bool lost;
	int rc = 0;

	if (s->room && s->inflight[to] >= s->room) {
		e->blocked = true;
		return -EAGAIN;
	}
	assert_true(seg->npkts >= 1);
	assert_true(seg->type == SEG_READ_REQ || seg->npkts <= l->max_pkts);
	n = s->sent++;
	lost = s->lose_all || (n < 64 && s->lose >> n & 1) || chance(s, s->loss_pct);
	if (s->filter && s->filter(s, to, seg))
		lost = true;
	if (s->trace) {
		char line[160];

		sim_print(seg, line, sizeof(line));
		print_message("%8lld %u -> %d %s%s\n", (long long)s->now, n, to, line,
			      lost ? " LOST" : "");
	}
	if (lost) {
		struct sim_pkt p;

		memset(&p, 0, sizeof(p));
		rc = pkt_payload(s, &p, seg);
		free(p.data);
		return rc;
	}
	if (chance(s, s->delay_pct))
		at += prng_below(&s->rng, 100 * NS_US);
	rc = fly(s, to, seg, at);
	if (!rc && chance(s, s->dup_pct))
		fly(s, to, seg, at + prng_below(&s->rng, 50 * NS_US));
	return rc;
}

/* With by_ref, segments in flight whose payload belongs to this QP become unreadable: drop them. */
static void sim_revoke(struct link *l, uint32_t sqpn)
{
	struct sim_end *e = container_of(l, struct sim_end, link);
	struct sim_pkt *p, *n;

	e->revokes++;
	if (!e->sim->by_ref)
		return;
	list_for_each_entry_safe(p, n, &e->sim->flying, entry)
		if (p->seg.sqpn == sqpn && p->to != e->id && p->seg.len)
			pkt_free(e->sim, p);
}

static bool sim_behind(struct link *l)
{
	return container_of(l, struct sim_end, link)->sim->behind;
}

/* The caller waits for room: make room for one more packet, unless the test says `stuck`. */
static bool sim_wait_room(struct link *l)
{
	struct sim_end *e = container_of(l, struct sim_end, link);

	e->waits++;
	e->sim->room += !e->sim->stuck;
	return !e->sim->stuck;
}

static const struct link_ops sim_ops = {
	.name = "sim", .send = sim_send, .revoke = sim_revoke, .peer_behind = sim_behind,
	.wait_room = sim_wait_room,
};

void sim_link_init(struct sim_end *e, const struct sim_cfg *cfg)
{
	e->link = (struct link){
		.ops = &sim_ops, .max_pkts = cfg->max_pkts, .max_seg = cfg->max_seg,
		.max_copy_seg = cfg->max_seg, .refs = 1, .lossy = cfg->lossy,
	};
	e->blocked = false;
}

void sim_link_drop(struct sim *s)
{
	while (!list_empty(&s->flying))
		pkt_free(s, list_first_entry(&s->flying, struct sim_pkt, entry));
}

void sim_writable(struct sim_end *e)
{
	if (!e->blocked || (e->sim->room && e->sim->inflight[!e->id] >= e->sim->room))
		return;
	e->blocked = false;
	xp_output(e->qp, e->sim->now);
}

void sim_deliver(struct sim *s)
{
	struct sim_pkt *p = list_first_entry(&s->flying, struct sim_pkt, entry);
	struct sim_end *to = &s->end[p->to];

	/* Take it off the list first: xp_input() may revoke packets in flight. */
	list_del(&p->entry);
	if (p->seg.dqpn == to->qp->qpn && !(s->arrival && s->arrival(s, p->to, &p->seg)))
		xp_input(to->qp, &p->seg, &to->link, s->now);
	pkt_free(s, p);
	for (int i = 0; i < 2; i++)
		if (!chance(s, s->lazy_pct))
			sim_writable(&s->end[i]);
}
