/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Received MADs: checks, the port's built-in agents, dispatch, completion of transactions. */
#include <stdlib.h>
#include "mad/mad_internal.h"
#include "mad/smi.h"

void agent_deliver(struct mad_agent *a, struct mad_tx *tx, const struct mad_addr *from,
		   const uint8_t *mad, uint32_t len, ns_t now)
{
	struct mad_recv r = { .addr = *from, .mad = mad, .len = len };

	if (tx) {
		/* tx stays on the agent's list, so that it is flushed if recv() destroys the agent. */
		tx->answered = true;
		r.cookie = tx->cookie;
	}
	if (a->ops->recv)
		a->ops->recv(a->ctx, &r, now);
	if (tx && !a->dead)
		tx_done(tx, MAD_SENT, 0, now);
}

/* An RMPP MAD for an agent that receives whole messages. */
static void mad_input_rmpp(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			   ns_t now)
{
	struct rmpp_msg msg;
	struct mad_tx *tx = NULL;

	if (mad_is_response(mad) && mad[RMPP_O_TYPE] == RMPP_DATA && !tx_find(a, from, mad)) {
		rmpp_stray(a, from, mad, now);
		return;
	}
	if (!rmpp_input(a, from, mad, &msg, now))
		return;
	if (mad_is_response(msg.buf))
		tx = tx_find(a, &msg.addr, msg.buf);
	if (tx || !mad_is_response(msg.buf))
		agent_deliver(a, tx, &msg.addr, msg.buf, msg.len, now);
	free(msg.buf);
}

static void agent_input(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			ns_t now)
{
	struct mad_tx *tx;

	if (mad_agent_does_rmpp(a) && rmpp_active(mad)) {
		mad_input_rmpp(a, from, mad, now);
		return;
	}
	if (!mad_is_response(mad)) {
		agent_deliver(a, NULL, from, mad, MAD_LEN, now);
		return;
	}
	tx = tx_find(a, from, mad);
	/*
	 * Agents that do RMPP themselves get every segment of a response. The first one ends tx, so
	 * the later ones arrive when there is no tx.
	 */
	if (tx || rmpp_active(mad))
		agent_deliver(a, tx, from, mad, MAD_LEN, now);
}

/* As the kernel's validate_mad(): QP 0 is for SMPs, QP 1 for all else; a CM MAD is a Send, except for ClassPortInfo. */
static bool mad_input_valid(const struct mad_addr *from, const uint8_t *mad)
{
	uint8_t c = mad[MAD_O_CLASS];
	bool smp = c == MAD_CLASS_SUBN_LID || c == MAD_CLASS_SUBN_DR;

	if (mad[MAD_O_BASE_VERSION] != MAD_BASE_VERSION || smp != (from->qp == 0))
		return false;
	return c != MAD_CLASS_CM || mad_attr(mad) == MAD_ATTR_CLASS_PORT_INFO ||
	       mad[MAD_O_METHOD] == MAD_SEND;
}

/* Sends an answer of the device port's built-in agents, by directed route if the request came by one. */
static void mad_input_reply(struct mad_port *p, const struct mad_addr *to, uint8_t *mad)
{
	const struct smi_node node = { .port = p->num, .nports = p->num };

	if (mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR && smi_starts(mad) &&
	    smi_send(&node, mad) != SMI_WIRE)
		return;
	port_send(p, to, mad);
}

/* Handles a MAD for which there is no agent: a Get or Set gets a response with an error status. */
static void mad_unmatched(struct mad_port *p, const struct mad_addr *from, const uint8_t *mad)
{
	uint8_t out[MAD_LEN];
	uint16_t status = MAD_STATUS_BAD_METHOD_ATTR;

	if (mad[MAD_O_METHOD] != MAD_GET && mad[MAD_O_METHOD] != MAD_SET)
		return;
	memcpy(out, mad, MAD_LEN);
	out[MAD_O_METHOD] = MAD_GET | MAD_RESP;
	if (mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR)
		status |= SMP_DIRECTION;
	put_be16(out + MAD_O_STATUS, status);
	mad_input_reply(p, from, out);
}

void mad_input(struct mad_port *p, const struct mad_addr *from, const void *buf, size_t len,
	       ns_t now)
{
	const uint8_t *mad = buf;
	uint8_t out[MAD_LEN] = { 0 }, smp[MAD_LEN], port;
	const struct smi_node node = { .port = p->num, .nports = p->num };
	struct mad_agent *a;

	if (len != MAD_LEN || from->qp > 1 || !(p->qps & 1 << from->qp) ||
	    !mad_input_valid(from, mad))
		return;
	if (mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR) {
		memcpy(smp, mad, MAD_LEN);
		if (smi_input(&node, smp, &port) != SMI_LOCAL)
			return;
		mad = smp;
	}
	switch (p->ops->process ? p->ops->process(p->ctx, from, mad, out) : MAD_PASS) {
	case MAD_REPLY:
		mad_input_reply(p, from, out);
		return;
	case MAD_CONSUMED:
	case MAD_DISCARD:
		return;
	case MAD_PASS:
		break;
	}
	a = port_find_agent(p, mad);
	if (!a || !a->ops->recv) {
		mad_unmatched(p, from, mad);
		return;
	}
	agent_get(a);
	agent_input(a, from, mad, now);
	agent_put(a);
}
