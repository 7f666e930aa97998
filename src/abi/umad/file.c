/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of umadN: open, close, removal of the device, and read(). A file has up to UMAD_MAX_AGENTS
 * agents of the MAD layer and one queue of packets for all of them. The MAD layer calls umad_agent_recv() for a
 * received MAD and umad_send_done() at the end of a send; umad_agent_recv(), and umad_send_done() after a timeout, queue a packet.
 * Behaviour and errno follow Linux 6.1 user_mad.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include "abi/umad/umad_internal.h"
#include "base/log.h"

_Static_assert(sizeof(struct ib_user_mad_hdr) == 64, "with P_Key index");
_Static_assert(sizeof(struct ib_user_mad_hdr_old) == 56, "without");

void umad_port_init(struct umad_port *p)
{
	p->removed = false;
	p->sm = NULL;
	list_init(&p->files);
	list_init(&p->sm_waiting);
}

static void end_agents(struct umad_file *f, ns_t now)
{
	for (uint32_t i = 0; i < UMAD_MAX_AGENTS; i++) {
		struct mad_agent *a = f->agents[i].agent;

		f->agents[i].agent = NULL;
		if (a)
			mad_agent_destroy(a, now);
	}
	BUG_ON(!list_empty(&f->sends));
}

void umad_port_remove(struct umad_port *p, ns_t now)
{
	struct umad_sm *sm, *next_sm;
	struct umad_file *f, *next;

	p->removed = true;
	list_for_each_entry_safe(f, next, &p->files, link) {
		f->dead = true;
		end_agents(f, now);
		f->ops->dead(f->ctx);
	}
	list_for_each_entry_safe(sm, next_sm, &p->sm_waiting, link) {
		list_del(&sm->link);
		sm->waiting = false;
		sm->port = NULL;
		sm->granted(sm, -ENXIO);
	}
}

int umad_open(struct umad_port *p, const struct umad_file_ops *ops, void *ctx,
	      struct umad_file **out)
{
	struct umad_file *f;

	if (p->removed)
		return -ENXIO;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->port = p;
	f->ops = ops;
	f->ctx = ctx;
	for (uint32_t i = 0; i < UMAD_MAX_AGENTS; i++)
		f->agents[i].file = f;
	list_init(&f->packets);
	list_init(&f->sends);
	list_add_tail(&f->link, &p->files);
	*out = f;
	return 0;
}

static void packet_free(struct umad_file *f, struct umad_packet *pk)
{
	list_del(&pk->link);
	f->npackets--;
	free(pk);
}

void umad_close(struct umad_file *f, ns_t now)
{
	list_del(&f->link);
	f->dead = true;		/* nothing is queued from here on */
	end_agents(f, now);
	while (!list_empty(&f->packets))
		packet_free(f, list_first_entry(&f->packets, struct umad_packet, link));
	free(f->last);
	free(f);
}

static void umad_packet_queue(struct umad_file *f, struct umad_packet *pk)
{
	list_add_tail(&pk->link, &f->packets);
	f->npackets++;
	f->ops->queued(f->ctx);
}

static struct umad_packet *packet_new(const void *data, uint32_t len)
{
	struct umad_packet *pk = calloc(1, sizeof(*pk) + len);

	if (!pk)
		return NULL;
	pk->len = len;
	memcpy(pk->data, data, len);
	return pk;
}

static void fill_hdr(struct ib_user_mad_hdr *h, const struct mad_addr *a)
{
	put_be32(&h->qpn, a->qpn);
	put_be16(&h->lid, a->lid);
	h->sl = a->sl;
	h->path_bits = a->path_bits;
	h->pkey_index = a->pkey_index;
	h->grh_present = a->grh;
	if (!a->grh)
		return;
	h->gid_index = a->sgid_index;
	h->hop_limit = a->hop_limit;
	h->traffic_class = a->tclass;
	memcpy(h->gid, a->gid, sizeof(h->gid));
	put_be32(&h->flow_label, a->flow);
}

static void umad_agent_recv(void *ctx, const struct mad_recv *r, ns_t now)
{
	struct umad_slot *slot = ctx;
	struct umad_file *f = slot->file;
	struct umad_packet *pk;

	if (f->dead || !slot->agent || f->npackets > UMAD_MAX_RECVS)
		return;
	pk = packet_new(r->mad, r->len);
	if (!pk)
		return;
	pk->received = true;
	fill_hdr(&pk->hdr, &r->addr);
	pk->hdr.id = (uint32_t)(slot - f->agents);
	pk->hdr.length = (uint32_t)umad_hdr_len(f) + r->len;
	umad_packet_queue(f, pk);
}

/* The common header of a MAD that timed out, and the reason. */
static struct umad_packet *packet_of_timeout(const struct umad_send *s)
{
	const struct why *why = &s->file->port->mad->host->why;
	uint8_t data[MAD_HDR_LEN + sizeof(*why)];
	struct umad_packet *pk;

	memcpy(data, s->mad, MAD_HDR_LEN);
	memcpy(data + MAD_HDR_LEN, why, sizeof(*why));
	pk = packet_new(data, sizeof(data));
	if (pk) {
		pk->len = MAD_HDR_LEN;
		pk->why = true;
	}
	return pk;
}

/*
 * Ends a send. A request that timed out is returned to the program as a packet: its ib_user_mad_hdr
 * with status ETIMEDOUT, and the common MAD header.
 */
static void umad_send_done(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status,
			   ns_t now)
{
	struct umad_slot *slot = ctx;
	struct umad_file *f = slot->file;
	struct umad_send *s = cookie;
	struct umad_packet *pk;

	send_end(s);
	pk = st == MAD_TIMEOUT && !f->dead && slot->agent ? packet_of_timeout(s) : NULL;
	if (pk) {
		pk->hdr = s->hdr;
		pk->hdr.id = (uint32_t)(slot - f->agents);
		pk->hdr.status = ETIMEDOUT;
		umad_packet_queue(f, pk);
	}
	free(s);
}

const struct mad_agent_ops umad_agent_ops = { umad_agent_recv, umad_send_done };

/*
 * Returns how many bytes of data must fit into the program's buffer, or read() fails with EINVAL. For a
 * received message that is its first segment, in which an RMPP header gives the length of the whole
 * message; for a send that timed out it is the whole packet.
 */
static size_t first_len(const struct umad_packet *pk)
{
	return pk->received ? min(pk->len, (uint32_t)MAD_LEN) : pk->len;
}

ssize_t umad_read(struct umad_file *f, void *buf, size_t count, size_t *copied)
{
	size_t hdr = umad_hdr_len(f), len;
	struct umad_packet *pk;

	*copied = 0;
	if (count < hdr)
		return -EINVAL;
	if (f->dead)
		return -EIO;
	if (list_empty(&f->packets))
		return -EAGAIN;
	pk = list_first_entry(&f->packets, struct umad_packet, link);
	len = first_len(pk);
	if (count < hdr + len)
		return -EINVAL;
	memcpy(buf, &pk->hdr, hdr);
	memcpy((uint8_t *)buf + hdr, pk->data, len);
	*copied = hdr + len;
	if (count < hdr + pk->len)
		return -ENOSPC;
	memcpy((uint8_t *)buf + hdr + len, pk->data + len, pk->len - len);
	*copied = hdr + pk->len;
	list_del(&pk->link);
	f->npackets--;
	free(f->last);
	f->last = pk;
	return (ssize_t)*copied;
}

void umad_unread(struct umad_file *f)
{
	if (!f->last)
		return;
	list_add(&f->last->link, &f->packets);
	f->npackets++;
	f->last = NULL;
}

size_t umad_next_len(const struct umad_file *f)
{
	if (list_empty(&f->packets))
		return 0;
	return umad_hdr_len(f) + list_first_entry(&f->packets, struct umad_packet, link)->len;
}

bool umad_next_why(const struct umad_file *f, void *why)
{
	const struct umad_packet *pk = list_first_entry(&f->packets, struct umad_packet, link);

	if (list_empty(&f->packets) || !pk->why)
		return false;
	memcpy(why, pk->data + pk->len, sizeof(struct why));
	return true;
}

size_t umad_file_hdr_len(const struct umad_file *f)
{
	return umad_hdr_len(f);
}
