/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Directed routes, IBA 14.2.2: an SMP says itself through which ports it goes, and
 * notes where it came in, for the way back. smi_step() is what a node does with
 * one: on arrival, or, for a response, as the one who answers.
 */
#include <string.h>
#include "fabric/fabric_internal.h"

enum step {
	STEP_DROP,
	STEP_LOCAL,	/* it is there: to the SMA or the agents */
	STEP_OUT,	/* by the port */
	STEP_LID,	/* the directed part is over, the rest goes by LID */
};

static bool permissive(const uint8_t *smp, uint32_t off)
{
	return get_be16(smp + off) == LID_PERMISSIVE;
}

/* C14-9: outbound */
static enum step forth(const struct port *p, uint8_t *smp, uint8_t *out)
{
	uint8_t *ptr = &smp[SMP_O_HOP_POINTER], count = smp[SMP_O_HOP_COUNT];
	bool sw = is_switch(p->node);

	/* Starts here, after a part by LID. */
	if (count && !*ptr) {
		if (!sw || permissive(smp, SMP_O_DR_SLID))
			return STEP_DROP;
		*out = smp[SMP_O_INITIAL_PATH + ++*ptr];
		return STEP_OUT;
	}
	if (*ptr < count) {
		if (!sw)
			return STEP_DROP;
		smp[SMP_O_RETURN_PATH + *ptr] = p->num;
		*out = smp[SMP_O_INITIAL_PATH + ++*ptr];
		return STEP_OUT;
	}
	if (*ptr == count) {
		if (count)
			smp[SMP_O_RETURN_PATH + *ptr] = p->num;
		++*ptr;
		if (permissive(smp, SMP_O_DR_DLID))
			return STEP_LOCAL;
		return sw ? STEP_LID : STEP_DROP;
	}
	return *ptr == count + 1 ? STEP_LOCAL : STEP_DROP;
}

/* C14-13: on the way back */
static enum step back(const struct port *p, uint8_t *smp, uint8_t *out)
{
	uint8_t *ptr = &smp[SMP_O_HOP_POINTER], count = smp[SMP_O_HOP_COUNT];
	bool sw = is_switch(p->node);

	if (count && *ptr == count + 1) {
		*out = smp[SMP_O_RETURN_PATH + --*ptr];
		return sw || *out == p->num ? STEP_OUT : STEP_DROP;
	}
	if (*ptr >= 2 && *ptr <= count) {
		*out = smp[SMP_O_RETURN_PATH + --*ptr];
		return sw ? STEP_OUT : STEP_DROP;
	}
	if (*ptr == 1) {
		*ptr = 0;
		if (permissive(smp, SMP_O_DR_SLID))
			return STEP_LOCAL;
		return STEP_LID;
	}
	return *ptr ? STEP_DROP : STEP_LOCAL;
}

static bool returns(const uint8_t *smp)
{
	return get_be16(smp + MAD_O_STATUS) & SMP_DIRECTION;
}

static enum step smi_step(const struct port *p, uint8_t *smp, uint8_t *out)
{
	if (smp[SMP_O_HOP_COUNT] > SMP_MAX_HOPS)
		return STEP_DROP;
	return returns(smp) ? back(p, smp, out) : forth(p, smp, out);
}

/* It is there; raw is how it came. True: smp is now the answer. */
static bool local(struct port *p, const struct hdr *h, const uint8_t *raw, uint8_t *smp, ns_t now)
{
	uint8_t out[MAD_LEN];

	if (for_agents(smp)) {
		if (!is_switch(p->node)) {
			deliver_mad(p, h, raw);
			return false;
		}
		/* A switch has no SM. */
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
	carry_mad(mgmt_port(p), &go, smp, now);
}

/* Follows the route of smp from p on; false: it has left by LID, is done or is lost. */
static bool follow(struct port **p, uint8_t *smp, const struct hdr *h, ns_t now)
{
	static const struct fabric_pkt pkt = { .packets = 1, .words = MAD_WORDS };
	uint8_t raw[MAD_LEN], out = 0;

	memcpy(raw, smp, MAD_LEN);
	switch (smi_step(*p, smp, &out)) {
	case STEP_DROP:
		return false;
	case STEP_LOCAL:
		/* An answer with its directed part before a part by LID starts with the latter. */
		if (!local(*p, h, raw, smp, now))
			return false;
		if (!permissive(smp, SMP_O_DR_DLID)) {
			by_lid(*p, h, h->slid, smp, now);
			return false;
		}
		return true;
	case STEP_LID:
		by_lid(*p, h, get_be16(smp + (returns(smp) ? SMP_O_DR_SLID : SMP_O_DR_DLID)), smp,
		       now);
		return false;
	case STEP_OUT:
		if (!out || out > (*p)->node->nports)
			return false;
		*p = hop(&(*p)->node->ports[out], &pkt, true);
		return *p && (*p)->node->on;
	}
	return false;
}

void smp_input(struct port *p, const struct hdr *h, const uint8_t *mad, ns_t now)
{
	uint8_t smp[MAD_LEN];
	struct hdr turned = *h;

	memcpy(smp, mad, MAD_LEN);
	if (smp[MAD_O_CLASS] == MAD_CLASS_SUBN_DR) {
		/* There and back, each hop moves the pointer. */
		while (follow(&p, smp, h, now))
			;
		return;
	}
	if (smp[MAD_O_CLASS] != MAD_CLASS_SUBN_LID || !local(p, h, mad, smp, now))
		return;
	turned.slid = (uint16_t)port_get(mgmt_port(p), PI_LID);
	turned.dlid = h->slid;
	carry_mad(mgmt_port(p), &turned, smp, now);
}

enum mad_verdict fabric_process(struct fabric *f, uint32_t node, uint8_t port, const uint8_t *mad,
				uint8_t *out, ns_t now)
{
	struct port *p = host_port(f, node, port);

	if (!p || !p->node->on)
		return MAD_DISCARD;
	if (for_agents(mad))
		return MAD_PASS;
	if (mad[MAD_O_CLASS] == MAD_CLASS_PERF)
		return pma_process(p, mad, out) ? MAD_REPLY : MAD_CONSUMED;
	return sma_process(p, mad, out, now) ? MAD_REPLY : MAD_CONSUMED;
}
