/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending. A send that expects a response or an RMPP ACK is on its agent's list and
 * is repeated every timeout_ms until a MAD with the same transaction id, class and
 * address arrives or the retries are spent. Other sends are complete once sent. A
 * directed-route SMP for this node is handled here without being sent.
 */
#include <errno.h>
#include <stdlib.h>
#include "mad/mad_internal.h"
#include "mad/smi.h"

int port_send(struct mad_port *p, const struct mad_addr *to, const uint8_t *mad)
{
	return p->ops->send(p->ctx, to, mad, MAD_LEN);
}

int tx_set_timer(struct mad_tx *tx, uint32_t ms, ns_t now)
{
	return timer_set(&tx->agent->port->host->timers, &tx->timer, now + ms * NS_MS);
}

static void tx_free(struct mad_tx *tx)
{
	list_del(&tx->link);
	timer_cancel(&tx->agent->port->host->timers, &tx->timer);
	free(tx);
}

void tx_done(struct mad_tx *tx, enum mad_send_status st, uint8_t rmpp_status, ns_t now)
{
	struct mad_agent *a = tx->agent;
	void *cookie = tx->cookie;

	tx_free(tx);
	if (a->ops->done)
		a->ops->done(a->ctx, cookie, st, rmpp_status, now);
}

static void tx_timer(struct timer *t, ns_t now)
{
	struct mad_tx *tx = container_of(t, struct mad_tx, timer);
	int rc = -ETIMEDOUT;

	if (tx->retries_left) {
		tx->retries_left--;
		if (tx->seg_count) {
			rc = rmpp_retry(tx, now);
		} else {
			rc = port_send(tx->agent->port, &tx->addr, tx->mad);
			if (!rc)
				rc = tx_set_timer(tx, tx->timeout_ms, now);
		}
	}
	if (!rc)
		return;
	if (tx->seg_count && tx->last_ack < tx->seg_count)
		rmpp_give_up(tx);
	tx_why(tx);
	tx_done(tx, MAD_TIMEOUT, 0, now);
}

static bool tx_same_lid(const struct mad_port *p, const struct mad_addr *sent,
			const struct mad_addr *from)
{
	uint8_t mask = (uint8_t)((1u << p->lmc) - 1);

	return !((sent->path_bits ^ from->path_bits) & mask);
}

/*
 * True if the addresses of a received MAD match those of the send tx. A response matches
 * if its local address is the one the request was sent from. An ACK of a sent response
 * matches if its remote address is the one the response was sent to.
 */
static bool tx_same_gid(const struct mad_tx *tx, const struct mad_addr *from, const uint8_t *mad)
{
	const struct mad_port *p = tx->agent->port;
	bool sent_resp = mad_is_response(tx->mad);
	uint8_t gid[16];

	if (sent_resp == mad_is_response(mad) || tx->addr.grh != from->grh)
		return false;
	if (sent_resp)
		return from->grh ? !memcmp(tx->addr.gid, from->gid, 16) :
				   tx->addr.lid == from->lid;
	if (!from->grh)
		return tx_same_lid(p, &tx->addr, from);
	return p->ops->gid && !p->ops->gid(p->ctx, tx->addr.sgid_index, gid) &&
	       !memcmp(gid, from->lgid, 16);
}

struct mad_tx *tx_find(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad)
{
	struct mad_tx *tx;

	list_for_each_entry(tx, &a->sends, link) {
		if (mad_tid(tx->mad) != mad_tid(mad) || tx->mad[MAD_O_CLASS] != mad[MAD_O_CLASS])
			continue;
		/* Directed-route SMPs may have permissive LIDs: no address match. */
		if (mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR || tx_same_gid(tx, from, mad))
			return tx->answered ? NULL : tx;
	}
	return NULL;
}

int mad_cancel(struct mad_agent *a, const void *cookie, ns_t now)
{
	struct mad_tx *tx;

	list_for_each_entry(tx, &a->sends, link) {
		if (tx->cookie != cookie || tx->answered)
			continue;
		tx_done(tx, MAD_FLUSHED, 0, now);
		return 0;
	}
	return -EINVAL;
}

/*
 * The node's own SMA does not answer, for example because of a wrong M_Key. The kernel completes
 * such a request as sent, and a subnet manager waits for its answer for ever. Here it times out. There
 * are no retries, because a retry would leave by the port instead of reaching this node's SMA.
 */
static int tx_unanswered(struct mad_tx *tx, ns_t now)
{
	int rc;

	if (tx->timeout_ms) {
		tx->retries_left = 0;
		rc = tx_set_timer(tx, tx->timeout_ms, now);
		if (rc)
			tx_free(tx);
		return rc;
	}
	tx_done(tx, MAD_SENT, 0, now);
	return 0;
}

/*
 * An outgoing directed-route SMP, as in the kernel's handle_outgoing_dr_smp().
 * > 0: send it. 0: it was for this node, and is handled. -EINVAL: bad route; tx freed.
 */
static int tx_send_smp(struct mad_tx *tx, ns_t now)
{
	struct mad_addr from = { .lid = LID_PERMISSIVE, .pkey_index = tx->addr.pkey_index };
	struct mad_agent *a = tx->agent, *to;
	struct mad_port *p = a->port;
	const struct smi_node node = { .port = p->num, .nports = p->num };
	uint8_t out[MAD_LEN] = { 0 };
	enum smi_way way = smi_starts(tx->mad) ? smi_send(&node, tx->mad) : SMI_WIRE;

	if (way == SMI_DISCARD) {
		why_set(&p->host->why, UMAD_ROUTE, p->num, tx->mad[MAD_O_CLASS_SPECIFIC + 1],
			tx->mad[SMP_O_INITIAL_PATH + 1]);
		tx_free(tx);
		return -EINVAL;
	}
	if (way == SMI_WIRE || !p->ops->process)
		return 1;
	switch (p->ops->process(p->ctx, &from, tx->mad, out)) {
	case MAD_DISCARD:
		tx_free(tx);
		return -EINVAL;
	case MAD_REPLY:
		if (mad_is_response(out)) {
			agent_deliver(a, tx, &from, out, MAD_LEN, now);
			return 0;
		}
		break;
	case MAD_PASS:
		to = port_find_agent(p, tx->mad);
		if (to) {
			memcpy(out, tx->mad, MAD_LEN);
			agent_get(to);
			agent_deliver(to, NULL, &from, out, MAD_LEN, now);
			agent_put(to);
			if (a->dead)
				return 0;
		}
		break;
	case MAD_CONSUMED:
		return tx_unanswered(tx, now);
	}
	tx_done(tx, MAD_SENT, 0, now);
	return 0;
}

static int tx_start(struct mad_tx *tx, ns_t now)
{
	struct mad_agent *a = tx->agent;
	int rc;

	if (tx->mad[MAD_O_CLASS] == MAD_CLASS_SUBN_DR) {
		rc = tx_send_smp(tx, now);
		if (rc <= 0)
			return rc;
	}
	/* Arm the timer before anything is sent: afterwards setting it cannot fail. */
	rc = timer_set(&a->port->host->timers, &tx->timer, NS_NEVER - 1);
	if (!rc)
		rc = tx->seg_count ? rmpp_start(tx, now) : port_send(a->port, &tx->addr, tx->mad);
	if (rc) {
		tx_free(tx);
		return rc;
	}
	if (tx->seg_count)
		return 0;
	if (tx->timeout_ms)
		return tx_set_timer(tx, tx->timeout_ms, now);
	tx_done(tx, MAD_SENT, 0, now);
	return 0;
}

int mad_send(struct mad_agent *a, const struct mad_send *s, ns_t now)
{
	struct mad_tx *tx;
	bool rmpp;
	int rc;

	if (a->dead || s->len < MAD_HDR_LEN)
		return -EINVAL;
	if (s->len < mad_hdr_len(s->mad[MAD_O_CLASS]))
		return mad_refuse(a->port, -EINVAL, UMAD_CLASS_SHORT, s->len, s->mad[MAD_O_CLASS],
				  mad_hdr_len(s->mad[MAD_O_CLASS]));
	rmpp = mad_agent_does_rmpp(a) && s->len >= RMPP_HDR_LEN && rmpp_active(s->mad);
	if (s->len > (rmpp ? RMPP_MAX_BYTES : MAD_LEN))
		return mad_refuse(a->port, -EINVAL, UMAD_LONG, s->len,
				  rmpp ? RMPP_MAX_BYTES : MAD_LEN);
	if (a->reg.rmpp_version && !mad_class_has_rmpp(s->mad[MAD_O_CLASS]))
		return mad_refuse(a->port, -EINVAL, UMAD_CLASS_RMPP, s->mad[MAD_O_CLASS]);
	if (s->timeout_ms && !a->ops->recv)
		return -EINVAL;
	tx = calloc(1, sizeof(*tx) + max(s->len, (uint32_t)MAD_LEN));
	if (!tx)
		return -ENOMEM;
	tx->agent = a;
	tx->timer.fn = tx_timer;
	tx->addr = s->addr;
	tx->addr.qp = a->reg.qp;
	tx->cookie = s->cookie;
	tx->timeout_ms = s->timeout_ms;
	tx->retries = tx->retries_left = s->retries;
	tx->since = now;
	tx->len = rmpp ? s->len : MAD_LEN;
	memcpy(tx->mad, s->mad, s->len);
	if (rmpp)
		rmpp_prepare(tx);
	list_add_tail(&tx->link, &a->sends);
	agent_get(a);
	rc = tx_start(tx, now);
	agent_put(a);
	return rc;
}

ns_t mad_wake(const struct mad_ports *h)
{
	return timer_next(&h->timers);
}

void mad_timer(struct mad_ports *h, ns_t now)
{
	timer_run(&h->timers, now);
}
