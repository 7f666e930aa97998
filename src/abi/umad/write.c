/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * write() on umadN: a header, followed by a MAD or a whole RMPP message. It becomes a struct umad_send,
 * which lasts until the MAD layer calls done().
 */
#include <errno.h>
#include <stdlib.h>
#include "abi/umad/umad_internal.h"

static void addr_of(const struct ib_user_mad_hdr *h, struct mad_addr *a)
{
	*a = (struct mad_addr){ 0 };
	a->qpn = get_be32(&h->qpn);
	a->lid = get_be16(&h->lid);
	a->sl = h->sl;
	a->path_bits = h->path_bits;
	a->pkey_index = h->pkey_index;
	a->grh = h->grh_present;
	if (!a->grh)
		return;
	a->sgid_index = h->gid_index;
	a->hop_limit = h->hop_limit;
	a->tclass = h->traffic_class;
	memcpy(a->gid, h->gid, sizeof(a->gid));
	a->flow = get_be32(&h->flow_label);
}

static bool same_destination(const struct ib_user_mad_hdr *a, const struct ib_user_mad_hdr *b)
{
	if (!a->grh_present != !b->grh_present)
		return false;
	return a->grh_present ? !memcmp(a->gid, b->gid, sizeof(a->gid)) : a->lid == b->lid;
}

/* Requests are compared by transaction ID and class, responses by destination as well. */
static bool is_duplicate(const struct umad_file *f, const struct umad_send *s)
{
	bool resp = mad_is_response(s->mad);
	struct umad_send *o;

	list_for_each_entry(o, &f->sends, link) {
		if (mad_tid(o->mad) != mad_tid(s->mad) ||
		    o->mad[MAD_O_CLASS] != s->mad[MAD_O_CLASS] || mad_is_response(o->mad) != resp)
			continue;
		if (!resp || same_destination(&o->hdr, &s->hdr))
			return true;
	}
	return false;
}

/* A program that does RMPP itself sends several MADs with one transaction ID. */
static bool user_rmpp(const struct mad_agent *a, const uint8_t *mad)
{
	return !mad_agent_does_rmpp(a) && mad_class_has_rmpp(mad[MAD_O_CLASS]) &&
	       mad[RMPP_O_RTIME_FLAGS] & RMPP_F_ACTIVE;
}

/* mad: a copy of the len bytes after the header. Takes ownership of s if it returns 0. */
static int umad_send_post(struct umad_file *f, struct mad_agent *a, struct umad_send *s,
			  uint8_t *mad, size_t len, ns_t now)
{
	struct mad_send send = { .mad = mad, .len = (uint32_t)len,
				 .timeout_ms = s->hdr.timeout_ms, .retries = s->hdr.retries,
				 .cookie = s };
	int rc;

	addr_of(&s->hdr, &send.addr);
	rc = f->port->ops->check_addr(f->port->ctx, &send.addr);
	if (rc)
		return rc;
	/* The high half of the transaction ID leads a response back to its agent. */
	if (!mad_is_response(mad))
		put_be32(mad + MAD_O_TID, mad_agent_hi_tid(a));
	memcpy(s->mad, mad, sizeof(s->mad));
	if (!user_rmpp(a, mad) && is_duplicate(f, s))
		return umad_refuse(f, -EINVAL, UMAD_DUPLICATE, mad_tid(mad) & UINT32_MAX,
				   mad[MAD_O_CLASS]);
	send_begin(s);
	rc = mad_send(a, &send, now);
	if (rc)
		send_end(s);
	return rc;
}

ssize_t umad_write(struct umad_file *f, const void *buf, size_t len, ns_t now)
{
	size_t hdr = umad_hdr_len(f);
	struct umad_send *s;
	struct mad_agent *a;
	uint8_t *mad;
	int rc;

	if (len < hdr + RMPP_HDR_LEN || len > UINT32_MAX)
		return umad_refuse(f, -EINVAL, UMAD_SHORT, len, hdr, RMPP_HDR_LEN);
	s = calloc(1, sizeof(*s));
	mad = s ? malloc(len - hdr) : NULL;
	if (!mad) {
		free(s);
		return -ENOMEM;
	}
	memcpy(&s->hdr, buf, hdr);
	memcpy(mad, (const uint8_t *)buf + hdr, len - hdr);
	s->file = f;
	list_init(&s->link);
	a = f->dead || s->hdr.id >= UMAD_MAX_AGENTS ? NULL : f->agents[s->hdr.id].agent;
	rc = a ? umad_send_post(f, a, s, mad, len - hdr, now) :
		 umad_refuse(f, s->hdr.id < UMAD_MAX_AGENTS ? -EIO : -EINVAL, UMAD_NO_AGENT,
			     s->hdr.id);
	free(mad);
	if (rc) {
		free(s);
		return rc;
	}
	return (ssize_t)len;
}
