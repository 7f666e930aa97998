/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The CM's entry points. A received MAD goes to the handler of its message type, which finds the
 * id, looks up the row for the message and the id's state in the state table (table.c), executes
 * the row's actions and delivers its event. Each id has at most one message that awaits an answer,
 * which msg.c repeats. Ended connections are in timewait.c.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/log.h"
#include "cm/rx_internal.h"
#include "core/event.h"

struct cm *cm_create(const struct cm_ops *ops, void *ctx, uint32_t seed)
{
	struct cm *cm = calloc(1, sizeof(*cm));

	if (!cm)
		return NULL;
	cm->ops = ops;
	cm->ctx = ctx;
	cm->random = seed;
	cm->next_service_id = CM_ASSIGN_SERVICE_ID;
	timer_heap_init(&cm->timers);
	list_init(&cm->ids);
	list_init(&cm->establish);
	list_init(&cm->timewait);
	cm_hash_init(&cm->local, seed);
	cm_hash_init(&cm->remote_id, seed);
	cm_hash_init(&cm->remote_qp, seed);
	cm_hash_init(&cm->sidr, seed);
	cm_hash_init(&cm->service, seed);
	return cm;
}

void cm_free(struct cm *cm)
{
	if (!cm)
		return;
	while (!list_empty(&cm->timewait))
		cm_timewait_free(list_first_entry(&cm->timewait, struct cm_timewait, list));
	BUG_ON(!list_empty(&cm->ids));
	cm_hash_fini(&cm->local);
	cm_hash_fini(&cm->remote_id);
	cm_hash_fini(&cm->remote_qp);
	cm_hash_fini(&cm->sidr);
	cm_hash_fini(&cm->service);
	timer_heap_fini(&cm->timers);
	free(cm);
}

void cm_remove_device(struct cm *cm, struct cm_device *dev)
{
	struct cm_priv *p;

	list_for_each_entry(p, &cm->ids, all) {
		if (p->msg && p->msg->av.dev == dev)
			cm_cancel(p);
		if (p->av.av.dev == dev)
			p->av.av.dev = NULL;
		if (p->alt.av.dev == dev)
			p->alt.av.dev = NULL;
		if (p->id.device == dev)
			p->id.device = NULL;
	}
}

/*
 * cm_notify(COMM_EST) must not call the id's handler inside the consumer's call. Its event is
 * delivered here, at the next MAD or timer.
 */
static void tell_established(struct cm *cm, ns_t now)
{
	struct cm_event ev = { .event = IB_CM_USER_ESTABLISHED };
	const struct cm_row *row;
	struct cm_priv *p;

	while (!list_empty(&cm->establish)) {
		p = list_first_entry(&cm->establish, struct cm_priv, establish);
		list_del(&p->establish);
		row = cm_row(CM_IN_COMM_EST_LATER, p->id.state, p->id.lap_state);
		if (!row)
			continue;
		cm_apply(p, row, now);
		cm_deliver(p, &ev, now);
	}
}

int cm_notify(struct cm_id *id, int event, ns_t now)
{
	struct cm_priv *p = cm_priv(id);
	const struct cm_row *row;

	switch (event) {
	case IB_EVENT_COMM_EST:
		if (!id->device)
			return -ENODEV;
		if (id->state == IB_CM_ESTABLISHED)
			return -EISCONN;
		row = cm_row(CM_IN_COMM_EST, id->state, id->lap_state);
		if (!row)
			return -EINVAL;
		cm_apply(p, row, now);
		list_del(&p->establish);
		list_add_tail(&p->establish, &id->cm->establish);
		return 0;
	case IB_EVENT_PATH_MIG:
		row = cm_row(CM_IN_PATH_MIG, id->state, id->lap_state);
		if (!row)
			return -EINVAL;
		cm_apply(p, row, now);
		p->av = p->alt;
		return 0;
	default:
		return -EINVAL;
	}
}

void cm_input(struct cm *cm, const struct cm_av *from, const uint8_t mad[CM_MAD_LEN], ns_t now)
{
	static void (*const handlers[CM_ATTR_COUNT])(struct cm_rx *rx) = {
		cm_req_handler,	 cm_mra_handler,  cm_rej_handler,      cm_rep_handler,
		cm_rtu_handler,	 cm_dreq_handler, cm_drep_handler,     cm_sidr_req_handler,
		cm_sidr_rep_handler, cm_lap_handler, cm_apr_handler,
	};
	struct cm_rx rx = { .cm = cm, .from = from, .mad = mad, .now = now };
	uint32_t i;

	if (BUG_ON(cm->sending || !from->dev))
		return;
	tell_established(cm, now);
	if (!cm_msg_hdr(mad, &rx.hdr) || rx.hdr.attr < CM_ATTR_REQ || rx.hdr.attr >= CM_ATTR_END)
		return;
	i = rx.hdr.attr - CM_ATTR_REQ;
	from->dev->counters[CM_RECV][i]++;
	handlers[i](&rx);
}

struct timer_heap *cm_timers(struct cm *cm)
{
	return &cm->timers;
}

void cm_timer(struct cm *cm, ns_t now)
{
	tell_established(cm, now);
	timer_run(&cm->timers, now);
}

ns_t cm_next(const struct cm *cm)
{
	ns_t next = timer_next(&cm->timers);

	if (!list_empty(&cm->establish))
		return 0;
	return next >= NS_NEVER - 1 ? NS_NEVER : next;
}
