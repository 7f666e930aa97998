/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registration of agents for class, version, methods and OUI; dispatch of received MADs. */
#include <errno.h>
#include <stdlib.h>
#include "base/log.h"
#include "mad/mad_internal.h"

void mad_ports_init(struct mad_ports *h)
{
	*h = (struct mad_ports){ 0 };
	timer_heap_init(&h->timers);
}

void mad_ports_fini(struct mad_ports *h)
{
	BUG_ON(h->nports);
	timer_heap_fini(&h->timers);
}

void mad_port_init(struct mad_port *p, struct mad_ports *h)
{
	p->host = h;
	list_init(&p->agents);
	h->nports++;
}

void mad_port_fini(struct mad_port *p, ns_t now)
{
	while (!list_empty(&p->agents))
		mad_agent_destroy(list_first_entry(&p->agents, struct mad_agent, link), now);
	p->host->nports--;
}

static bool agent_is_smp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SUBN_LID || mgmt_class == MAD_CLASS_SUBN_DR;
}

static int agent_check_class(const struct mad_port *p, const struct mad_reg *r)
{
	uint8_t c = r->mgmt_class;

	if (r->class_version >= MAD_MAX_VERSION)
		return mad_refuse(p, -EINVAL, UMAD_CLASS_VERSION, r->class_version,
				  MAD_MAX_VERSION - 1);
	if (c >= MAD_MAX_CLASS && c != MAD_CLASS_SUBN_DR)
		return mad_refuse(p, -EINVAL, UMAD_CLASS, c, MAD_MAX_CLASS - 1);
	if (mad_class_has_oui(c) && !get_be24(r->oui))
		return mad_refuse(p, -EINVAL, UMAD_OUI, c);
	if (r->rmpp_version && !mad_class_has_rmpp(c))
		return mad_refuse(p, -EINVAL, UMAD_CLASS_RMPP, c);
	if (agent_is_smp(c) != (r->qp == 0))
		return mad_refuse(p, -EINVAL, UMAD_CLASS_QP, c, agent_is_smp(c) ? 0 : 1, r->qp);
	return 0;
}

static int agent_check_reg(const struct mad_port *p, const struct mad_reg *r)
{
	if (r->qp > 1)
		return mad_refuse(p, -EINVAL, UMAD_QPN, r->qp);
	if (!(p->qps & 1 << r->qp))
		return mad_refuse(p, -EPROTONOSUPPORT, UMAD_NO_QP0, r->qp);
	if (r->rmpp_version && r->rmpp_version != RMPP_VERSION)
		return mad_refuse(p, -EINVAL, UMAD_RMPP_VERSION, r->rmpp_version);
	if (!r->mgmt_class && r->flags & MAD_REG_USER_RMPP)
		return mad_refuse(p, -EINVAL, UMAD_FLAGS, r->flags, 1);
	return r->mgmt_class ? agent_check_class(p, r) : 0;
}

/* True if two agents have the same class and version. Unless their OUIs differ they must not share a method. */
static bool agent_same_class(const struct mad_reg *a, const struct mad_reg *b)
{
	return a->mgmt_class == b->mgmt_class && a->class_version == b->class_version;
}

/* Names the first method that r wants and an agent has. */
static int agent_method_taken(const struct mad_port *p, const struct mad_reg *r,
			      const struct mad_reg *has)
{
	uint64_t low = r->methods[0] & has->methods[0], high = r->methods[1] & has->methods[1];
	unsigned int method = (unsigned int)(low ? __builtin_ctzll(low) :
						   64 + __builtin_ctzll(high));

	if (!has->pid)
		return mad_refuse(p, -EINVAL, UMAD_METHOD_OWN, method, r->mgmt_class,
				  r->class_version);
	return mad_refuse(p, -EINVAL, UMAD_METHOD_TAKEN, method, r->mgmt_class, r->class_version,
			  (uint64_t)has->pid);
}

static int agent_check_methods(const struct mad_port *p, const struct mad_reg *r)
{
	uint8_t ouis[MAD_MAX_OUI][3];
	struct mad_agent *a;
	bool known = !mad_class_has_oui(r->mgmt_class);
	uint32_t n = 0, i;

	if (!r->mgmt_class)
		return 0;
	list_for_each_entry(a, &p->agents, link) {
		if (!agent_same_class(&a->reg, r))
			continue;
		if (mad_class_has_oui(r->mgmt_class) && memcmp(a->reg.oui, r->oui, 3)) {
			for (i = 0; i < n && memcmp(ouis[i], a->reg.oui, 3); i++)
				;
			if (i == n && n < MAD_MAX_OUI)
				memcpy(ouis[n++], a->reg.oui, 3);
			continue;
		}
		if (a->reg.methods[0] & r->methods[0] || a->reg.methods[1] & r->methods[1])
			return agent_method_taken(p, r, &a->reg);
		known = true;
	}
	return known || n < MAD_MAX_OUI ? 0 :
		       mad_refuse(p, -ENOMEM, UMAD_OUIS, r->mgmt_class, MAD_MAX_OUI);
}

/*
 * Upper halves of transaction ids are assigned to agents cyclically, as in the kernel. So a late
 * response to a destroyed agent's request matches no new agent.
 */
static uint32_t agent_new_hi_tid(struct mad_port *p)
{
	struct mad_agent *a;
	uint32_t id;
	bool taken;

	do {
		id = p->host->last_hi_tid = (p->host->last_hi_tid + 1) & 0xffffff;
		taken = !id;
		list_for_each_entry(a, &p->agents, link)
			taken |= a->hi_tid == id;
	} while (taken);
	return id;
}

int mad_agent_create(struct mad_port *p, const struct mad_reg *r, const struct mad_agent_ops *ops,
		     void *ctx, struct mad_agent **out)
{
	int rc = agent_check_reg(p, r);
	struct mad_agent *a;

	if (!rc)
		rc = agent_check_methods(p, r);
	if (rc)
		return rc;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->port = p;
	a->reg = *r;
	a->ops = ops;
	a->ctx = ctx;
	a->refs = 1;
	list_init(&a->sends);
	list_init(&a->recvs);
	list_init(&a->finished);
	a->hi_tid = agent_new_hi_tid(p);
	list_add_tail(&a->link, &p->agents);
	*out = a;
	return 0;
}

void agent_put(struct mad_agent *a)
{
	if (--a->refs == 0)
		free(a);
}

void mad_agent_destroy(struct mad_agent *a, ns_t now)
{
	list_del(&a->link);
	a->dead = true;
	while (!list_empty(&a->sends))
		tx_done(list_first_entry(&a->sends, struct mad_tx, link), MAD_FLUSHED, 0, now);
	while (!list_empty(&a->recvs))
		rmpp_rx_free(list_first_entry(&a->recvs, struct rmpp_rx, link));
	while (!list_empty(&a->finished))
		rmpp_rx_free(list_first_entry(&a->finished, struct rmpp_rx, link));
	agent_put(a);
}

uint32_t mad_agent_hi_tid(const struct mad_agent *a)
{
	return a->hi_tid;
}

bool mad_agent_does_rmpp(const struct mad_agent *a)
{
	return a->reg.rmpp_version && !(a->reg.flags & MAD_REG_USER_RMPP);
}

struct mad_agent *port_find_agent(struct mad_port *p, const uint8_t *mad)
{
	uint8_t method = mad[MAD_O_METHOD] & (uint8_t)~MAD_RESP;
	bool resp = mad_is_response(mad);
	struct mad_agent *a;

	list_for_each_entry(a, &p->agents, link) {
		const struct mad_reg *r = &a->reg;

		if (resp) {
			if (a->hi_tid == mad_tid(mad) >> 32)
				return a;
			continue;
		}
		if (r->mgmt_class != mad[MAD_O_CLASS] || !r->mgmt_class ||
		    r->class_version != mad[MAD_O_CLASS_VERSION])
			continue;
		if (mad_class_has_oui(r->mgmt_class) && memcmp(r->oui, mad + VENDOR_O_OUI, 3))
			continue;
		if (r->methods[method / 64] >> (method % 64) & 1)
			return a;
	}
	return NULL;
}
