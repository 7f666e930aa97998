/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forwarding of data. At each hop, that is, each link on the way, VL, MTU, partition and port states are checked, and the
 * packets are counted at both ends. A unicast packet follows the linear forwarding tables (LFT) to a host. A multicast
 * packet is copied as the multicast forwarding tables (MFT) say; the total number of hops of all copies is limited. The
 * result is an enum fabric_fate.
 */
#include <errno.h>
#include "fabric/fabric_cable.h"
#include "fabric/fabric_internal.h"
#include "wire/mtu.h"
#include "wire/pkey.h"

bool fabric_has_lid(const struct port *p, uint16_t lid)
{
	uint32_t base = port_get(p, PI_LID);

	return base && lid >= base && lid < base + (1u << port_get(p, PI_LMC));
}

static bool is_mcast(uint16_t dlid)
{
	return dlid >= LID_MCAST && dlid != LID_PERMISSIVE;
}

void count_detail(uint16_t *detail)
{
	if (*detail < UINT16_MAX)
		++*detail;
}

/* Counts discarded packets at port out. A query, which has 0 packets, counts nothing. */
static void hop_discard(struct port *out, uint16_t *detail, const struct fabric_pkt *pkt)
{
	if (!pkt->packets)
		return;
	count_error(out, PC_XMIT_DISCARDS, pkt->packets);
	count_detail(detail);
}

static void hop_relay_error(struct port *in, uint16_t *detail, const struct fabric_pkt *pkt)
{
	if (!pkt->packets)
		return;
	count_error(in, PC_RCV_SWITCH_RELAY_ERRORS, pkt->packets);
	count_detail(detail);
}

static void hop_count(struct port *out, struct port *in, const struct fabric_pkt *pkt)
{
	bool mcast = is_mcast(pkt->dlid);

	out->c.xmit_data += pkt->words;
	out->c.xmit_pkts += pkt->packets;
	*(mcast ? &out->c.mcast_xmit : &out->c.ucast_xmit) += pkt->packets;
	out->c.xmit_sl[pkt->sl % SLS] += (uint32_t)pkt->words;
	in->c.rcv_data += pkt->words;
	in->c.rcv_pkts += pkt->packets;
	*(mcast ? &in->c.mcast_rcv : &in->c.ucast_rcv) += pkt->packets;
	in->c.rcv_sl[pkt->sl % SLS] += (uint32_t)pkt->words;
}

struct port *fabric_hop(struct port *out, const struct fabric_pkt *pkt, bool vl15)
{
	struct port *in = out->peer;
	enum port_state s = port_state(out);

	if (!in || s == PORT_DOWN || (!vl15 && s != PORT_ACTIVE)) {
		hop_discard(out, &out->c.discard_detail[0], pkt);
		return NULL;
	}
	if (!vl15 && port_state(in) < PORT_ARMED)
		return NULL;
	/* A packet that arrives at an Armed port makes it Active (IBA 7.2.4). */
	if (!vl15 && pkt->packets && port_state(in) == PORT_ARMED)
		port_set_state(in, PORT_ACTIVE);
	hop_count(out, in, pkt);
	return in;
}

struct port *fabric_lft_lookup(struct port *in, uint16_t dlid, const struct fabric_pkt *pkt)
{
	struct node *n = in->node;
	uint8_t out = SMP_LFT_NONE;

	if (n->lft && dlid < LFT_CAP && dlid <= ib_smp_get(n->swinfo, SI_LINEAR_FDB_TOP))
		out = n->lft[dlid];
	if (out <= n->nports)
		return &n->ports[out];
	hop_relay_error(in, &in->c.rcv_detail[3], pkt);
	return NULL;
}

static uint32_t port_vls(const struct port *p)
{
	static const uint8_t n[] = { 0, 1, 2, 4, 8, 15 };
	uint32_t v = port_get(p, PI_OPERATIONAL_VLS);

	return v < ARRAY_SIZE(n) ? n[v] : 0;
}

static bool pkey_in(const struct port *p, uint16_t key)
{
	for (uint32_t i = 0; i < p->npkeys; i++)
		if (pkey_admits(p->pkeys[i], key))
			return true;
	return false;
}

/*
 * The inbound P_Key check of a switch port: the port's P_Key table has an entry for the packet's partition. If the
 * packet's P_Key is that of a full member, the entry must be one, too.
 */
static bool pkey_from(const struct port *p, uint16_t key)
{
	for (uint32_t i = 0; i < p->npkeys; i++)
		if (p->pkeys[i] & 0x7fff && pkey_same(p->pkeys[i], key) && p->pkeys[i] >= key)
			return true;
	return false;
}

/* Sends data over the link of out; in is the switch's input port, NULL at the sending host. */
static struct port *data_hop(const struct port *in, struct port *out, const struct fabric_pkt *pkt,
			     enum fabric_fate *fate)
{
	uint32_t sl = pkt->sl % SLS, row = in ? in->num : 0;
	uint32_t vl = out->sltovl ? out->sltovl[row * SLS + sl] : sl % 8;
	struct port *q;

	*fate = FABRIC_NO_VL;
	if (vl == VL15 || vl >= port_vls(out)) {
		count_error(out, PC_XMIT_DISCARDS, pkt->packets);
		return NULL;
	}
	*fate = FABRIC_TOO_BIG;
	if (pkt->mtu > mtu_bytes(port_get(out, PI_NEIGHBOR_MTU))) {
		hop_discard(out, &out->c.discard_detail[1], pkt);
		return NULL;
	}
	*fate = FABRIC_BAD_PKEY;
	if (is_switch(out->node) && port_get(out, PI_PARTITION_ENFORCEMENT_OUTBOUND) &&
	    !pkey_in(out, pkt->pkey)) {
		count_error(out, PC_XMIT_CONSTRAINT_ERRORS, pkt->packets);
		return NULL;
	}
	*fate = FABRIC_NOT_ACTIVE;
	q = fabric_hop(out, pkt, false);
	if (!q)
		return NULL;
	*fate = FABRIC_BAD_PKEY;
	if (is_switch(q->node) && port_get(q, PI_PARTITION_ENFORCEMENT_INBOUND) &&
	    !pkey_from(q, pkt->pkey)) {
		count_error(q, PC_RCV_CONSTRAINT_ERRORS, pkt->packets);
		return NULL;
	}
	*fate = FABRIC_DELIVERED;
	return q;
}

struct walk {
	const struct fabric_pkt *pkt;
	fabric_deliver deliver;
	void *ctx;
	fabric_deliver hop;	/* for each sending port of a unicast way, with ctx; NULL: none */
	uint32_t budget;	/* hops left for all copies together; wrong tables could create copies without end */
};

static void walk_deliver(const struct walk *w, const struct port *p)
{
	if (w->deliver)
		w->deliver(w->ctx, p->node->index, p->num);
}

static enum fabric_fate walk_unicast(const struct walk *w, struct port *p)
{
	enum fabric_fate fate = FABRIC_LOOP;
	struct port *out;

	for (uint32_t i = 0; i < MAX_HOPS; i++) {
		if (!is_switch(p->node)) {
			if (!fabric_has_lid(p, w->pkt->dlid))
				return FABRIC_NOT_MINE;
			walk_deliver(w, p);
			return FABRIC_DELIVERED;
		}
		out = fabric_lft_lookup(p, w->pkt->dlid, w->pkt);
		if (!out)
			return FABRIC_NO_ROUTE;
		if (!out->num)
			return FABRIC_NOT_MINE;
		if (out == p) {
			hop_relay_error(p, &p->c.rcv_detail[5], w->pkt);
			return FABRIC_LOOP;
		}
		if (w->hop)
			w->hop(w->ctx, out->node->index, out->num);
		p = data_hop(p, out, w->pkt, &fate);
		if (!p)
			return fate;
	}
	/* After MAX_HOPS hops the packets are discarded, and counted as over the switch lifetime limit. */
	hop_discard(p, &p->c.discard_detail[2], w->pkt);
	return FABRIC_LOOP;
}

/*
 * Sends copies of a packet received at port p of a switch to the ports in its forwarding table.
 * MAX_HOPS limits the recursion depth, w->budget the number of all copies.
 */
static enum fabric_fate walk_multicast(struct walk *w, struct port *p, uint32_t depth)
{
	enum fabric_fate fate = FABRIC_DELIVERED, f;
	struct node *n = p->node;
	uint32_t mlid = w->pkt->dlid - LID_MCAST;
	bool entry = false;

	if (mlid >= MFT_CAP)
		return FABRIC_NO_ROUTE;
	for (uint32_t i = 0; i <= n->nports; i++) {
		struct port *q;

		if (!(n->mft[mlid * n->positions + i / 16] >> i % 16 & 1))
			continue;
		entry = true;
		if (!i || i == p->num)
			continue;
		if (depth >= MAX_HOPS || !w->budget--) {
			w->budget = 0;
			return FABRIC_LOOP;
		}
		q = data_hop(p, &n->ports[i], w->pkt, &f);
		if (q && is_switch(q->node))
			f = walk_multicast(w, q, depth + 1);
		else if (q)
			walk_deliver(w, q);
		if (f != FABRIC_DELIVERED)
			fate = f;
	}
	return entry ? fate : FABRIC_NO_ROUTE;
}

enum fabric_fate fabric_data(struct fabric *f, uint32_t node, uint8_t port,
			     const struct fabric_pkt *pkt, fabric_deliver deliver, void *ctx,
			     ns_t now)
{
	struct walk w = { pkt, deliver, ctx, NULL, f->count * 4 + MAX_HOPS };
	struct port *p = fabric_host_port(f, node, port), *q;
	enum fabric_fate fate;

	if (BUG_ON(!p))
		return FABRIC_NOT_ACTIVE;
	/* An HCA delivers packets to its own LID without the wire. */
	if (fabric_has_lid(p, pkt->dlid) && port_state(p) == PORT_ACTIVE) {
		walk_deliver(&w, p);
		return FABRIC_DELIVERED;
	}
	q = data_hop(NULL, p, pkt, &fate);
	if (!q)
		return fate;
	if (!is_mcast(pkt->dlid))
		return walk_unicast(&w, q);
	if (is_switch(q->node))
		return walk_multicast(&w, q, 0);
	walk_deliver(&w, q);
	return FABRIC_DELIVERED;
}

enum fabric_fate fabric_trace(struct fabric *f, uint32_t node, uint8_t port, uint16_t dlid,
			      fabric_deliver hop, void *ctx)
{
	struct port *p = fabric_host_port(f, node, port);
	struct fabric_pkt pkt = { .dlid = dlid, .pkey = 0xffff };
	struct walk w = { .pkt = &pkt, .ctx = ctx, .hop = hop };
	enum fabric_fate fate;

	if (BUG_ON(!p))
		return FABRIC_NOT_ACTIVE;
	pkt.slid = (uint16_t)port_get(p, PI_LID);
	if (fabric_has_lid(p, dlid))
		return port_state(p) == PORT_ACTIVE ? FABRIC_DELIVERED : FABRIC_NOT_ACTIVE;
	hop(ctx, node, port);
	p = data_hop(NULL, p, &pkt, &fate);
	return p ? walk_unicast(&w, p) : fate;
}
