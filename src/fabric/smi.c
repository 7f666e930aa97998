/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Directed routes. An SMP moves from node to node by the rules of mad/smi.h; the SMA
 * of the last node answers, and the response follows the return path.
 */
#include <string.h>
#include "fabric/fabric_internal.h"
#include "mad/smi.h"

/*
 * One step of the subnet management interface (SMI) for smp at port p. If answers is true, smp is a response that p is about
 * to send; else p has just received smp. If the result is SMI_WIRE, *out is the number of the output port.
 */
static enum smi_way smi_step(const struct port *p, uint8_t *smp, bool answers, uint8_t *out)
{
	struct smi_node n = { .is_switch = is_switch(p->node), .port = p->num,
			      .nports = p->node->nports };
	enum smi_way way;

	*out = p->num;
	if (answers)
		return smi_send(&n, smp);
	way = smi_input(&n, smp, out);
	n.port = *out;
	return way == SMI_WIRE ? smi_send(&n, smp) : way;
}

/* Handles an SMP that is at its destination; raw is the SMP as received. True: smp is now the response, to be sent. */
static bool smi_local(struct port *p, const struct hdr *h, const uint8_t *raw, uint8_t *smp,
		      ns_t now)
{
	uint8_t out[MAD_LEN];

	if (fabric_for_agents(smp)) {
		if (!is_switch(p->node)) {
			fabric_deliver_mad(p, h, raw);
			return false;
		}
		/* A switch has no SM: answer with an error. */
		if (smp[MAD_O_METHOD] != MAD_GET && smp[MAD_O_METHOD] != MAD_SET)
			return false;
		smp[MAD_O_METHOD] = MAD_GET | MAD_RESP;
		put_be16(smp + MAD_O_STATUS,
			 MAD_STATUS_BAD_METHOD_ATTR |
				 (smp[MAD_O_CLASS] == MAD_CLASS_SUBN_DR ? SMP_DIRECTION : 0));
		return true;
	}
	if (!sma_process(p, smp, out, now))
		return false;
	memcpy(smp, out, MAD_LEN);
	return true;
}

static void by_lid(struct port *p, const struct hdr *h, uint16_t dlid, const uint8_t *smp, ns_t now)
{
	struct hdr go = *h;

	go.slid = (uint16_t)port_get(mgmt_port(p), PI_LID);
	go.dlid = dlid;
	go.sqp = go.dqp = 0;
	go.grh = false;
	fabric_carry_mad(mgmt_port(p), &go, smp, now);
}

/*
 * Moves smp one step along its directed route. *p is the port where smp is. *answers is true, on entry and on return, if smp
 * is a response that *p is about to send. False: there is no further step, because smp was sent by LID, handled without a
 * response, or lost.
 */
static bool smi_follow(struct port **p, uint8_t *smp, bool *answers, const struct hdr *h, ns_t now)
{
	static const struct fabric_pkt pkt = { .packets = 1, .words = MAD_WORDS };
	uint8_t raw[MAD_LEN], out;

	memcpy(raw, smp, MAD_LEN);
	switch (smi_step(*p, smp, *answers, &out)) {
	case SMI_DISCARD:
		return false;
	case SMI_LOCAL:
		*answers = smi_local(*p, h, raw, smp, now);
		/* The first part of the response's route, the last part of the request's, is by LID. */
		if (*answers && !smi_starts(smp)) {
			by_lid(*p, h, h->slid, smp, now);
			return false;
		}
		return *answers;
	case SMI_LID:
		by_lid(*p, h, smi_lid(smp), smp, now);
		return false;
	case SMI_WIRE:
		*answers = false;
		if (!out || out > (*p)->node->nports)
			return false;
		*p = fabric_hop(&(*p)->node->ports[out], &pkt, true);
		return *p && (*p)->node->on;
	}
	return false;
}

void fabric_smp_input(struct port *p, const struct hdr *h, const uint8_t *mad, ns_t now)
{
	uint8_t smp[MAD_LEN];
	struct hdr turned = *h;
	bool answers = false;

	memcpy(smp, mad, MAD_LEN);
	if (smp[MAD_O_CLASS] == MAD_CLASS_SUBN_DR) {
		/* The loop takes the hops of the request, and then those of the response. */
		while (smi_follow(&p, smp, &answers, h, now))
			;
		return;
	}
	if (smp[MAD_O_CLASS] != MAD_CLASS_SUBN_LID || !smi_local(p, h, mad, smp, now))
		return;
	turned.slid = (uint16_t)port_get(mgmt_port(p), PI_LID);
	turned.dlid = h->slid;
	fabric_carry_mad(mgmt_port(p), &turned, smp, now);
}

enum mad_verdict fabric_process(struct fabric *f, uint32_t node, uint8_t port, const uint8_t *mad,
				uint8_t *out, ns_t now)
{
	struct port *p = fabric_host_port(f, node, port);

	if (!p || !p->node->on)
		return MAD_DISCARD;
	if (fabric_for_agents(mad))
		return MAD_PASS;
	if (mad[MAD_O_CLASS] == MAD_CLASS_PERF)
		return pma_process(p, mad, out) ? MAD_REPLY : MAD_CONSUMED;
	return sma_process(p, mad, out, now) ? MAD_REPLY : MAD_CONSUMED;
}
