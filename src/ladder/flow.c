/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which packets belong together, and what their order tells.
 *
 * A flow has the packets from one QP to another. RC and UC packets do not contain the QP number of the sender. A live
 * capture knows it. In a file the two directions of a connection are found by an answer: its PSN is one that a flow of the
 * other direction has asked with.
 */
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_internal.h"
#include "wire/cm_msg.h"
#include "wire/mad.h"
#include "wire/psn.h"

#define FLOW_TWICE 100000u    /* ns: the same packet again so soon was captured at both ends */
#define FLOW_LOST_MAX 0x10000 /* a larger distance of PSNs is a new connection, not a gap */

static bool flow_is(const struct ladder_flow *w, const uint8_t *sgid, const uint8_t *dgid,
		    uint32_t sqpn, uint32_t dqpn, uint8_t service)
{
	return w->sqpn == sqpn && w->dqpn == dqpn && w->service == service &&
	       !memcmp(w->sgid, sgid, 16) && !memcmp(w->dgid, dgid, 16);
}

static uint8_t flow_service(const struct ladder_parsed *d)
{
	return d->op ? d->op->service : (uint8_t)(d->bth.opcode >> 5);
}

static uint16_t *flow_bucket(struct ladder *l, const uint8_t *sgid, const uint8_t *dgid,
			     uint32_t sqpn, uint32_t dqpn)
{
	/* Addresses differ in their last bytes, QP numbers in their lowest bits. */
	uint32_t h = sqpn * 31 ^ dqpn * 0x9e3779b1u ^ sgid[15] * 131u ^ dgid[15];

	return &l->bucket[(h ^ h >> 12 ^ h >> 20) % LADDER_BUCKETS];
}

static struct ladder_flow *flow_find(struct ladder *l, const uint8_t *sgid, const uint8_t *dgid,
				     uint32_t sqpn, uint32_t dqpn, uint8_t service)
{
	uint16_t i = *flow_bucket(l, sgid, dgid, sqpn, dqpn);

	while (i != LADDER_NONE && !flow_is(&l->flows[i], sgid, dgid, sqpn, dqpn, service))
		i = l->flows[i].chain;
	return i == LADDER_NONE ? NULL : &l->flows[i];
}

static uint16_t *flow_bucket_of(struct ladder *l, const struct ladder_flow *w)
{
	return flow_bucket(l, w->sgid, w->dgid, w->sqpn, w->dqpn);
}

/* Forgets the flow that was unused for longest. The other direction of it is then not known any more. */
static struct ladder_flow *flow_forget(struct ladder *l)
{
	struct ladder_flow *w = l->flows;
	uint16_t *at;

	for (uint32_t i = 1; i < l->nflows; i++)
		if (l->flows[i].seen < w->seen)
			w = &l->flows[i];
	if (w->peer != LADDER_NONE)
		l->flows[w->peer].peer = LADDER_NONE;
	at = flow_bucket_of(l, w);
	while (*at != w - l->flows)
		at = &l->flows[*at].chain;
	*at = w->chain;
	return w;
}

static struct ladder_flow *flow_new(struct ladder *l, const struct ladder_parsed *d,
				    uint8_t service)
{
	struct ladder_flow *w = l->nflows < LADDER_FLOWS ? &l->flows[l->nflows++] : flow_forget(l);
	uint16_t *bucket;

	*w = (struct ladder_flow){ .service = service, .sqpn = d->sqpn, .dqpn = d->bth.dqpn,
				   .peer = LADDER_NONE };
	memcpy(w->sgid, d->f.net.sgid, sizeof(w->sgid));
	memcpy(w->dgid, d->f.net.dgid, sizeof(w->dgid));
	bucket = flow_bucket_of(l, w);
	w->chain = *bucket;
	*bucket = (uint16_t)(w - l->flows);
	return w;
}

static bool flow_answers(const struct ladder_parsed *d)
{
	return d->op && d->op->flags & OPF_RESP;
}

/* Did a flow ask with this PSN, or with a READ whose answer has it? */
static bool flow_asked(const struct ladder_flow *w, uint32_t psn)
{
	return w->asked && psn_diff(psn, w->first) >= 0 &&
	       psn_diff(psn, psn_add(w->next, w->slack)) < 0;
}

/* The other direction of a flow that has none; the one that was used last if several fit. */
static struct ladder_flow *flow_peer(struct ladder *l, const struct ladder_flow *w,
				     const struct ladder_parsed *d)
{
	struct ladder_flow *found = NULL;

	if (w->sqpn)
		return flow_find(l, w->dgid, w->sgid, w->dqpn, w->sqpn, w->service);
	if (!flow_answers(d))
		return NULL;
	for (uint32_t i = 0; i < l->nflows; i++) {
		struct ladder_flow *o = &l->flows[i];

		if (o != w && o->peer == LADDER_NONE && o->service == w->service && !o->sqpn &&
		    !memcmp(o->sgid, w->dgid, 16) && !memcmp(o->dgid, w->sgid, 16) &&
		    flow_asked(o, d->bth.psn) && (!found || o->seen > found->seen))
			found = o;
	}
	return found;
}

static void flow_end(struct ladder_end *e, const uint8_t gid[16], bool v4, uint32_t qpn)
{
	memcpy(e->gid, gid, 16);
	e->v4 = v4;
	if (qpn)
		e->qpn = qpn;
}

/* Gives a flow a pair of its own, of which it is the left end. False: no memory. */
static bool flow_pair(struct ladder *l, struct ladder_flow *w, const struct ladder_parsed *d)
{
	struct ladder_pair *more;
	bool v4 = net_is_v4(&d->f.net);

	w->left = true;
	if (l->npairs == LADDER_PAIRS) {
		w->pair = LADDER_PAIRS - 1;
		return true;
	}
	if (l->npairs == l->pairs_room) {
		l->pairs_room = l->pairs_room ? 2 * l->pairs_room : 16;
		more = reallocarray(l->pairs, l->pairs_room, sizeof(*more));
		if (!more)
			return false;
		l->pairs = more;
	}
	w->pair = l->npairs++;
	memset(&l->pairs[w->pair], 0, sizeof(*l->pairs));
	flow_end(&l->pairs[w->pair].left, w->sgid, v4, w->sqpn);
	flow_end(&l->pairs[w->pair].right, w->dgid, v4, w->dqpn);
	return true;
}

/* Joins the two directions: both have the pair of the other one, which was there first. */
static void flow_join(struct ladder *l, struct ladder_flow *w, struct ladder_flow *peer)
{
	struct ladder_pair *p = &l->pairs[peer->pair];

	w->peer = (uint16_t)(peer - l->flows);
	peer->peer = (uint16_t)(w - l->flows);
	w->pair = peer->pair;
	w->left = !peer->left;
	/* A packet to a QP comes from the other one. */
	(w->left ? &p->left : &p->right)->qpn = peer->dqpn;
	(peer->left ? &p->left : &p->right)->qpn = w->dqpn;
}

/*
 * Two ends with the same address and QP number, as the QPs 1 of a host: which one has sent a MAD? A CM message has an id of
 * its sender; the left end has sent a REQ with it. Of other MADs responses come from the right.
 */
static bool flow_left_of_mad(struct ladder *l, const struct ladder_parsed *d)
{
	struct cm_hdr cm;
	uint32_t id;

	if (!d->mad)
		return true;
	if (!cm_msg_hdr(d->mad, &cm))
		return !(d->mad[MAD_O_METHOD] & MAD_RESP);
	/* Local_Communication_ID, or RequestID, is the first field of each. */
	memcpy(&id, d->mad + CM_HDR_LEN, sizeof(id));
	if (cm.attr == CM_ATTR_SIDR_REP)
		return false;
	if (cm.attr == CM_ATTR_REQ || cm.attr == CM_ATTR_SIDR_REQ) {
		l->cm_ids[l->ncm_ids++ % ARRAY_SIZE(l->cm_ids)] = id;
		return true;
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(l->cm_ids) && i < l->ncm_ids; i++)
		if (l->cm_ids[i] == id)
			return true;
	return false;
}

static void flow_name(struct ladder *l, const struct ladder_flow *w, const struct ladder_parsed *d)
{
	struct ladder_pair *p = &l->pairs[w->pair];
	struct ladder_end *e = w->left ? &p->left : &p->right;

	if (e->pid || !d->p->pid || !d->p->sqpn)
		return;
	e->pid = d->p->pid;
	snprintf(e->comm, sizeof(e->comm), "%s", d->p->comm);
}

struct ladder_flow *ladder_flow_of(struct ladder *l, const struct ladder_parsed *d, bool *left)
{
	const uint8_t *sgid = d->f.net.sgid, *dgid = d->f.net.dgid;
	uint8_t service = flow_service(d);
	struct ladder_flow *w = flow_find(l, sgid, dgid, d->sqpn, d->bth.dqpn, service),
			   *peer = NULL;
	bool known = w;

	if (!known)
		w = flow_new(l, d, service);
	if (w->peer == LADDER_NONE)
		peer = flow_peer(l, w, d);
	w->seen = l->packets;
	if (peer && peer != w)
		flow_join(l, w, peer);
	else if (!known && !flow_pair(l, w, d))
		return NULL;
	flow_name(l, w, d);
	*left = peer == w ? flow_left_of_mad(l, d) : w->left;
	return w;
}

/* A request with a PSN that was seen, or behind a gap. */
static void order_request(struct ladder_flow *w, const struct ladder_parsed *d,
			  struct ladder_row *row)
{
	uint32_t psn = d->bth.psn, from = w->next, to = psn_add(w->next, w->slack);
	int32_t ahead = psn_diff(psn, to);
	bool read = d->op->flags & OPF_READ;

	if (!w->asked || ahead > FLOW_LOST_MAX || psn_diff(psn, from) < -FLOW_LOST_MAX) {
		w->first = psn;
	} else if (psn_diff(psn, from) < 0) {
		ladder_mark(row, LADDER_WARN, "again");
		return;
	} else if (ahead > 0) {
		ladder_mark(row, LADDER_BAD, "%d PSN%s missing before", (int)ahead,
			    ahead == 1 ? "" : "s");
	}
	w->asked = true;
	w->next = psn_add(psn, 1);
	/* The answer to a READ has as many PSNs as packets, of 256 to 4096 bytes. */
	w->slack = read && d->reth.dma_len ? (d->reth.dma_len - 1) / 256 : 0;
	w->slack = min(w->slack, PSN_MASK >> 1);
	/* Old PSNs would be taken for those of a later round. */
	if (psn_diff(w->next, w->first) < 0)
		w->first = psn_add(w->next, PSN_MASK - 0x400000u);
}

/* Data that answers a READ: each packet but the first of a message follows the one before. */
static void order_answer(struct ladder_flow *w, const struct ladder_parsed *d,
			 struct ladder_row *row)
{
	int32_t ahead = psn_diff(d->bth.psn, w->answer_next);

	if (w->answered && ahead < 0 && ahead > -FLOW_LOST_MAX) {
		ladder_mark(row, LADDER_WARN, "again");
		return;
	}
	if (w->answered && ahead > 0 && ahead < FLOW_LOST_MAX && !(d->op->flags & OPF_START))
		ladder_mark(row, LADDER_BAD, "%d PSN%s missing before", (int)ahead,
			    ahead == 1 ? "" : "s");
	w->answered = true;
	w->answer_next = psn_add(d->bth.psn, 1);
}

/* PSNs of datagrams mean nothing to their receiver. */
void ladder_order(struct ladder *l, struct ladder_flow *w, const struct ladder_parsed *d,
		  struct ladder_row *row)
{
	bool same = l->packets > 1 && !l->last_lost && l->last_opcode == d->bth.opcode &&
		    l->last_psn == d->bth.psn && l->last_dqpn == d->bth.dqpn &&
		    l->last_left == row->left && row->ns - l->last_ns < FLOW_TWICE;

	l->last_opcode = d->bth.opcode;
	l->last_psn = d->bth.psn;
	l->last_dqpn = d->bth.dqpn;
	l->last_left = row->left;
	l->last_lost = row->lost;
	l->last_ns = row->ns;
	if (!d->op || d->op->service == SEG_UD)
		return;
	if (same) {
		ladder_mark(row, LADDER_DIM, "captured twice, or duplicated");
		return;
	}
	if (d->op->flags & OPF_REQ)
		order_request(w, d, row);
	else if (d->op->flags & OPF_PAYLOAD)
		order_answer(w, d, row);
}
