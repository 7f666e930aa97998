/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MADs routed by LID, through the forwarding tables to an agent of the fabric or of a host. */
#include <errno.h>
#include <string.h>
#include "fabric/fabric_internal.h"
#include "wire/pkey.h"

static void hdr_turn(const struct hdr *h, struct hdr *back)
{
	*back = *h;
	back->slid = h->dlid;
	back->dlid = h->slid;
	back->sqp = h->dqp;
	back->dqp = h->sqp;
	memcpy(back->sgid, h->dgid, 16);
	memcpy(back->dgid, h->sgid, 16);
	back->hop_limit = h->grh ? 64 : 0;
}

void fabric_deliver_mad(struct port *p, const struct hdr *h, const uint8_t *mad)
{
	struct fabric *f = p->node->f;
	struct mad_addr a = {
		.qp = h->dqp & 1,
		.sl = h->sl,
		.path_bits = h->dlid == LID_PERMISSIVE ?
				     0 : (uint8_t)(h->dlid & ((1u << port_get(p, PI_LMC)) - 1)),
		.grh = h->grh,
		.hop_limit = h->hop_limit,
		.tclass = h->tclass,
		.flow = h->flow,
		.lid = h->slid,
		.qpn = h->sqp,
	};
	uint8_t gid[16];

	memcpy(a.gid, h->sgid, 16);
	memcpy(a.lgid, h->dgid, 16);
	for (uint8_t i = 0; h->grh && i < GUID_CAP; i++)
		if (!fabric_port_gid(f, p->node->index, p->num, i, gid) &&
		    !memcmp(gid, h->dgid, 16)) {
			a.sgid_index = i;
			break;
		}
	for (uint32_t i = 0; i < p->npkeys; i++)
		if (p->pkeys[i] & 0x7fff && pkey_same(p->pkeys[i], h->pkey)) {
			a.pkey_index = (uint16_t)i;
			break;
		}
	if (f->ops && f->ops->mad && p->node->on)
		f->ops->mad(f->ctx, p->node->index, p->num, &a, mad);
}

/*
 * Handles a GMP that has arrived at its destination. The PMA answers requests of its class; any other GMP is delivered to
 * the agents of a host. A switch has no such agents and answers Get and Set with an error.
 */
static void gmp_input(struct port *p, const struct hdr *h, const uint8_t *mad, ns_t now)
{
	uint8_t out[MAD_LEN];
	struct hdr back;

	if (fabric_for_agents(mad)) {
		if (!is_switch(p->node)) {
			fabric_deliver_mad(p, h, mad);
			return;
		}
		if (mad[MAD_O_METHOD] != MAD_GET && mad[MAD_O_METHOD] != MAD_SET)
			return;
		memcpy(out, mad, MAD_LEN);
		out[MAD_O_METHOD] = MAD_GET | MAD_RESP;
		put_be16(out + MAD_O_STATUS, MAD_STATUS_BAD_VERSION);
	} else if (!pma_process(p, mad, out)) {
		return;
	}
	hdr_turn(h, &back);
	fabric_carry_mad(mgmt_port(p), &back, out, now);
}

static void mad_arrive(struct port *p, const struct hdr *h, const uint8_t *mad, ns_t now)
{
	if (!p->node->on)
		return;
	if (!h->dqp)
		fabric_smp_input(p, h, mad, now);
	else if (h->dqp == 1)
		gmp_input(p, h, mad, now);
}

void fabric_carry_mad(struct port *from, const struct hdr *h, const uint8_t *mad, ns_t now)
{
	struct fabric_pkt pkt = {
		.slid = h->slid, .dlid = h->dlid, .sl = h->sl, .pkey = h->pkey, .packets = 1,
		.words = MAD_WORDS,
	};
	struct port *p = from, *out;

	if (!is_switch(from->node)) {
		if (fabric_has_lid(from, h->dlid)) {
			mad_arrive(from, h, mad, now);
			return;
		}
		p = fabric_hop(from, &pkt, !h->dqp);
	}
	for (uint32_t i = 0; p && is_switch(p->node) && h->dlid != LID_PERMISSIVE; i++) {
		out = fabric_lft_lookup(p, h->dlid, &pkt);
		if (!out || i == MAX_HOPS)
			return;
		if (!out->num) {
			if (fabric_has_lid(out, h->dlid))
				mad_arrive(p, h, mad, now);
			return;
		}
		if (out == p) {
			count_error(p, PC_RCV_SWITCH_RELAY_ERRORS, 1);
			count_detail(&p->c.rcv_detail[5]);
			return;
		}
		p = fabric_hop(out, &pkt, !h->dqp);
	}
	if (p && (h->dlid == LID_PERMISSIVE || fabric_has_lid(p, h->dlid)))
		mad_arrive(p, h, mad, now);
}

int fabric_send(struct fabric *f, uint32_t node, uint8_t port, const struct mad_addr *to,
		const uint8_t *mad, ns_t now)
{
	struct port *p = fabric_host_port(f, node, port);
	bool dr = mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR, back;
	struct fabric_pkt pkt = { .packets = 1, .words = MAD_WORDS };
	struct hdr h = { 0 };

	if (!p || (to->qp && to->pkey_index >= p->npkeys))
		return -EINVAL;
	if (!p->node->on)
		return 0;
	h.slid = (uint16_t)(port_get(p, PI_LID) |
			    (to->path_bits & ((1u << port_get(p, PI_LMC)) - 1)));
	if (!port_get(p, PI_LID))
		h.slid = LID_PERMISSIVE;
	h.dlid = to->lid;
	h.sl = to->sl & 15;
	h.sqp = to->qp;
	h.dqp = to->qpn;
	h.pkey = to->qp ? p->pkeys[to->pkey_index] : PKEY_DEFAULT;
	h.grh = to->grh;
	if (to->grh) {
		if (fabric_port_gid(f, node, port, to->sgid_index, h.sgid))
			return -EINVAL;
		memcpy(h.dgid, to->gid, 16);
		h.hop_limit = to->hop_limit;
		h.tclass = to->tclass;
		h.flow = to->flow & 0xfffff;
	}
	if (dr && !to->qp) {
		/* A pure directed route uses permissive LIDs (IBA 14.2.2.1). */
		back = get_be16(mad + MAD_O_STATUS) & SMP_DIRECTION;
		if (get_be16(mad + (back ? SMP_O_DR_DLID : SMP_O_DR_SLID)) == LID_PERMISSIVE) {
			h.slid = h.dlid = LID_PERMISSIVE;
			p = fabric_hop(p, &pkt, true);
			if (p)
				fabric_smp_input(p, &h, mad, now);
			return 0;
		}
	}
	fabric_carry_mad(p, &h, mad, now);
	return 0;
}
