/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules of `ruse fault` for rused's own MADs. They can be lost and duplicated here, but not
 * delayed.
 */
#include <string.h>

#include "gsi/fault.h"
#include "loop/loop.h"

struct mad_packet {
	struct seg seg;
	uint32_t dev;
	const uint8_t *peer;
};

static ns_t judged_at;

static ns_t gsi_fault_now(void)
{
	return judged_at;
}

static void gsi_fault_facts(const struct link *l, const struct seg *seg, bool in,
			    struct fault_facts *f)
{
	const struct mad_packet *p = container_of(seg, struct mad_packet, seg);

	f->dev = p->dev;
	memcpy(f->peer, p->peer, 16);
}

static void gsi_fault_wake(ns_t when)
{
}

static const struct fault_ops fault_ops = { .now = gsi_fault_now, .facts = gsi_fault_facts,
					      .wake = gsi_fault_wake };

void gsi_fault_init(struct gsi_faults *g)
{
	g->version = 0;
	faults_init(&g->f, &fault_ops, g->count, NULL);
}

void gsi_fault_look(struct gsi *g)
{
	const struct fault_table *t = &g->page->fault;

	if (likely(g->faults.version == t->version))
		return;
	g->faults.version = t->version;
	faults_set(&g->faults.f, t, 0);
}

uint32_t gsi_fault(struct gsi_port *p, const uint8_t peer[16], uint32_t qpn, uint32_t psn,
		   enum fault_side side)
{
	bool in = side == FAULT_INGRESS;
	struct mad_packet m = {
		.seg = { .service = SEG_UD, .type = SEG_SEND, .flags = SEG_F_START | SEG_F_END,
			 .npkts = 1, .len = CM_MAD_LEN, .sqpn = in ? qpn : GSI_QPN,
			 .dqpn = in ? GSI_QPN : qpn, .psn = psn },
		.dev = p->gsi->page->dev[p->slot].index,
		.peer = peer,
	};
	struct gsi_faults *g = &p->gsi->faults;

	gsi_fault_look(p->gsi);
	if (!g->f.nrules)
		return 1;
	judged_at = p->gsi->loop->now;
	return faults_judge(&g->f, &m.seg, side, in);
}
