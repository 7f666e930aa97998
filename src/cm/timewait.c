/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identities of peers (CA GUID with communication id, CA GUID with QP number), and
 * the timewait of ended connections (IBA 12.9.8.4).
 */
#include <errno.h>
#include <stdlib.h>
#include "cm/rx_internal.h"

/* 4.096 us * 2^n in ms, with the kernel's approximation 4.096 us * 2^8 = 1 ms. */
uint32_t cm_convert_to_ms(uint32_t iba_time)
{
	return 1u << (iba_time > 8 ? min(iba_time, 31u) - 8 : 0);
}

/*
 * Local ACK timeout (IBA 12.7.34): ack delay + 2 * packet life time. All three are
 * exponents of 2. The result is the larger term's exponent, plus one if the other
 * term is at least half as large.
 */
uint8_t cm_ack_timeout(uint8_t ca_ack_delay, uint32_t packet_life_time)
{
	uint32_t trip = packet_life_time + 1, t;

	if (trip >= ca_ack_delay)
		t = trip + (ca_ack_delay >= trip - 1);
	else
		t = ca_ack_delay + (trip >= ca_ack_delay - 1u);
	return (uint8_t)min(t, 31u);
}

static uint32_t hash_id(const struct cm *cm, uint64_t guid, uint32_t id)
{
	return cm_hash_of(&cm->remote_id, guid, id);
}

static uint32_t hash_qpn(const struct cm *cm, uint64_t guid, uint32_t qpn)
{
	return cm_hash_of(&cm->remote_qp, guid, qpn);
}

struct cm_timewait *cm_find_remote_id(struct cm *cm, uint64_t ca_guid, uint32_t remote_id)
{
	uint32_t hash = hash_id(cm, ca_guid, remote_id);
	struct cm_node *n;

	cm_hash_for_each(n, &cm->remote_id, hash) {
		struct cm_timewait *tw = container_of(n, struct cm_timewait, by_id);

		if (tw->remote_id == remote_id && tw->remote_ca_guid == ca_guid)
			return tw;
	}
	return NULL;
}

struct cm_timewait *cm_insert_remote_id(struct cm_timewait *tw)
{
	struct cm *cm = tw->cm;
	struct cm_timewait *other = cm_find_remote_id(cm, tw->remote_ca_guid, tw->remote_id);

	if (!other)
		cm_hash_add(&cm->remote_id, &tw->by_id,
			    hash_id(cm, tw->remote_ca_guid, tw->remote_id));
	return other;
}

struct cm_timewait *cm_insert_remote_qpn(struct cm_timewait *tw)
{
	struct cm *cm = tw->cm;
	uint32_t hash = hash_qpn(cm, tw->remote_ca_guid, tw->remote_qpn);
	struct cm_node *n;

	cm_hash_for_each(n, &cm->remote_qp, hash) {
		struct cm_timewait *other = container_of(n, struct cm_timewait, by_qpn);

		if (other->remote_qpn == tw->remote_qpn &&
		    other->remote_ca_guid == tw->remote_ca_guid)
			return other;
	}
	cm_hash_add(&cm->remote_qp, &tw->by_qpn, hash);
	return NULL;
}

void cm_remove_remote(struct cm_timewait *tw)
{
	cm_hash_del(&tw->cm->remote_id, &tw->by_id);
	cm_hash_del(&tw->cm->remote_qp, &tw->by_qpn);
}

void cm_timewait_free(struct cm_timewait *tw)
{
	if (!list_empty(&tw->list)) {
		list_del(&tw->list);
		tw->cm->count--;
	}
	cm_remove_remote(tw);
	timer_cancel(&tw->cm->timers, &tw->timer);
	free(tw);
}

static void timewait_over(struct timer *t, ns_t now)
{
	struct cm_timewait *tw = container_of(t, struct cm_timewait, timer);
	struct cm_priv *p = cm_find(tw->cm, tw->local_id, tw->remote_id);
	struct cm_event ev = { .event = IB_CM_TIMEWAIT_EXIT };
	const struct cm_row *row = NULL;

	if (p && p->remote_qpn == tw->remote_qpn)
		row = cm_row(CM_IN_TIMEWAIT_OVER, p->id.state, p->id.lap_state);
	cm_timewait_free(tw);
	if (row) {
		cm_apply(p, row, now);
		cm_deliver(p, &ev, now);
	}
}

int cm_timewait_create(struct cm_priv *p)
{
	struct cm_timewait *tw = calloc(1, sizeof(*tw));
	struct cm *cm = p->id.cm;

	if (!tw)
		return -ENOMEM;
	tw->timer.fn = timewait_over;
	/* Reserve the timer's place in the heap, so that arming it cannot fail. */
	if (timer_set(&cm->timers, &tw->timer, NS_NEVER - 1)) {
		free(tw);
		return -ENOMEM;
	}
	tw->cm = cm;
	tw->local_id = p->id.local_id;
	list_init(&tw->list);
	p->tw = tw;
	return 0;
}

/*
 * Starts timewait. The peer may reuse its QP at once but not its communication id: a
 * late duplicate of the REQ must not make a second connection. (The kernel releases
 * the communication id too and treats such a REQ as new.) Without a device there is
 * no timewait.
 */
void cm_enter_timewait(struct cm_priv *p, ns_t now)
{
	struct cm_timewait *tw = p->tw;

	p->id.state = IB_CM_TIMEWAIT;
	p->tw = NULL;
	if (!tw)
		return;
	if (!p->id.device) {
		cm_timewait_free(tw);
		return;
	}
	cm_hash_del(&tw->cm->remote_qp, &tw->by_qpn);
	list_add_tail(&tw->list, &tw->cm->timewait);
	tw->cm->count++;
	timer_set(&tw->cm->timers, &tw->timer,
		  now + cm_convert_to_ms(p->av.timeout) * NS_MS);
}

void cm_reset_to_idle(struct cm_priv *p)
{
	p->id.state = IB_CM_IDLE;
	if (p->tw)
		cm_timewait_free(p->tw);
	p->tw = NULL;
}
