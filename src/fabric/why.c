/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a request gets no answer: follows the way of a MAD through the fabric as it is, without sending, up to the first
 * port or table where it ends.
 */
#include "fabric/fabric_internal.h"
#include "fabric/fabric_why.h"

enum hop_end { HOP_NO_CABLE, HOP_DOWN, HOP_INIT, HOP_ARMED, HOP_NO_PORT, HOP_NO_SWITCH };

struct trace {
	struct why *why;
	uint16_t dlid;
	bool smp, back;
};

/* The port at the other end of out; NULL: packets do not pass. *end: why. */
static struct port *trace_link(struct port *out, bool smp, enum hop_end *end)
{
	enum port_state s = port_state(out);

	*end = !out->peer ? HOP_NO_CABLE : s <= PORT_DOWN ? HOP_DOWN :
	       s == PORT_INIT ? HOP_INIT : HOP_ARMED;
	if (!out->peer || s <= PORT_DOWN || (!smp && s != PORT_ACTIVE))
		return NULL;
	if (!smp && port_state(out->peer) < PORT_ARMED) {
		*end = HOP_INIT;
		return NULL;
	}
	return out->peer;
}

static struct port *trace_hop(const struct trace *t, struct port *out)
{
	uint64_t name[2];
	enum hop_end end;
	struct port *in = trace_link(out, t->smp, &end);

	why_str(name, out->node->id);
	if (!in)
		why_set(t->why, MAD_HOP, name[0], name[1], out->num, end, t->dlid, t->back);
	return in;
}

static struct port *trace_no_route(const struct trace *t, const struct node *n)
{
	uint64_t name[2];

	why_str(name, n->id);
	why_set(t->why, MAD_NO_ROUTE, name[0], name[1], t->dlid, t->back);
	return NULL;
}

/* The port that receives a MAD sent by LID from port p; NULL: none, and the reason is set. */
static struct port *trace_lid(const struct trace *t, struct port *p)
{
	static const struct fabric_pkt query = { .packets = 0 };
	struct port *out;

	if (!is_switch(p->node)) {
		if (fabric_has_lid(p, t->dlid))
			return p;
		p = trace_hop(t, p);
	}
	for (uint32_t i = 0; p && is_switch(p->node); i++) {
		out = i < MAX_HOPS ? fabric_lft_lookup(p, t->dlid, &query) : NULL;
		if (!out || out == p || (!out->num && !fabric_has_lid(out, t->dlid)))
			return trace_no_route(t, p->node);
		if (!out->num)
			return p;
		p = trace_hop(t, out);
	}
	if (p && !fabric_has_lid(p, t->dlid))
		return trace_no_route(t, p->node);
	return p;
}

/* The port at the end of a directed route from p; NULL: none, and the reason is set. */
static struct port *trace_directed(struct port *p, const uint8_t *smp, struct why *w)
{
	uint8_t count = smp[SMP_O_HOP_COUNT];

	for (uint8_t i = 1; i <= count && i <= SMP_MAX_HOPS; i++) {
		uint8_t num = smp[SMP_O_INITIAL_PATH + i];
		struct node *n = p->node;
		enum hop_end end = HOP_NO_PORT;
		uint64_t name[2];

		why_str(name, n->id);
		p = num && num <= n->nports ? trace_link(&n->ports[num], true, &end) : NULL;
		if (i > 1 && !is_switch(n)) {
			p = NULL;
			end = HOP_NO_SWITCH;
		}
		if (!p) {
			why_set(w, MAD_DR_HOP, name[0], name[1], num, end, i, count);
			return NULL;
		}
	}
	return p;
}

static bool trace_lid_exists(const struct fabric *f, uint16_t lid)
{
	for (uint32_t i = 0; i < f->count; i++)
		for (uint32_t p = 0; p <= f->nodes[i].nports; p++)
			if (fabric_has_lid(&f->nodes[i].ports[p], lid))
				return true;
	return false;
}

/* Would the SMA of this port refuse the M_Key of an SMP? */
static bool trace_m_key(struct port *p, const uint8_t *smp, struct why *w)
{
	const struct port *m = mgmt_port(p);
	uint64_t key = ib_smp_get(m->info, PI_M_KEY), name[2];

	if (!key || key == get_be64(smp + SMP_O_MKEY) ||
	    (smp[MAD_O_METHOD] == MAD_GET && port_get(m, PI_M_KEY_PROTECT_BITS) < 2))
		return false;
	why_str(name, p->node->id);
	why_set(w, MAD_M_KEY, name[0], name[1], get_be64(smp + SMP_O_MKEY));
	return true;
}

/* The port that a request arrives at; NULL: none, and the reason is set, if it is known. */
static struct port *trace_request(struct trace *t, struct port *from, const struct mad_addr *to,
				  const uint8_t *mad)
{
	if (mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR) {
		/* Routes with a part by LID are not followed. */
		if (get_be16(mad + SMP_O_DR_SLID) != LID_PERMISSIVE ||
		    get_be16(mad + SMP_O_DR_DLID) != LID_PERMISSIVE)
			return NULL;
		return trace_directed(from, mad, t->why);
	}
	if (!trace_lid_exists(from->node->f, t->dlid)) {
		why_set(t->why, MAD_NO_LID, t->dlid);
		return NULL;
	}
	return trace_lid(t, from);
}

bool fabric_why(struct fabric *f, uint32_t node, uint8_t port, const struct mad_addr *to,
		const uint8_t *mad, struct fabric_end *end, struct why *w)
{
	struct port *from = fabric_host_port(f, node, port), *p;
	struct trace t = { .why = w, .dlid = to->lid, .smp = !to->qp };

	p = from ? trace_request(&t, from, to, mad) : NULL;
	if (!p)
		return false;
	if (fabric_for_agents(mad) || to->qpn != to->qp) {
		*end = (struct fabric_end){ p->node->index, is_switch(p->node) ? 0 : p->num };
		return true;
	}
	if (!to->qp && trace_m_key(p, mad, w))
		return false;
	/* The SMA or PMA has answered. An answer to a directed route takes the same way back. */
	t.dlid = (uint16_t)port_get(from, PI_LID);
	t.back = true;
	if (mad[MAD_O_CLASS] != MAD_CLASS_SUBN_DR)
		trace_lid(&t, mgmt_port(p));
	return false;
}
