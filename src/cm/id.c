/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ids and listeners: creation, lookup, destruction, delivery of events. An id that
 * is destroyed while its handler runs is removed from all tables at once and freed
 * when the handler returns. Destruction gives the id the input CM_IN_DESTROY (state
 * table, table.c) until the id is IDLE; in each state this may send a message to the peer.
 * A listener for one service id is found by hash, a listener with a mask by a search of
 * a short list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "cm/rx_internal.h"
#include "wire/be.h"

static struct cm_priv *find_local(struct cm *cm, uint32_t local_id)
{
	uint32_t hash = cm_hash_of(&cm->local, local_id, 0);
	struct cm_node *n;

	cm_hash_for_each(n, &cm->local, hash) {
		struct cm_priv *p = container_of(n, struct cm_priv, local);

		if (p->id.local_id == local_id)
			return p;
	}
	return NULL;
}

struct cm_priv *cm_find(struct cm *cm, uint32_t local_id, uint32_t remote_id)
{
	struct cm_priv *p = find_local(cm, local_id);

	return p && p->visible && p->id.remote_id == remote_id ? p : NULL;
}

struct cm_id *cm_mad_id(struct cm *cm, const uint8_t mad[CM_MAD_LEN], bool sent)
{
	struct cm_hdr h;
	struct cm_priv *p;

	if (!cm_msg_hdr(mad, &h))
		return NULL;
	/* Both ids have the same offsets in all messages. A REQ and both SIDR messages have only that of their sender. */
	if (h.attr == CM_ATTR_SIDR_REP ? sent :
	    !sent && (h.attr == CM_ATTR_REQ || h.attr == CM_ATTR_SIDR_REQ))
		return NULL;
	p = find_local(cm, (uint32_t)cm_get(mad, sent || h.attr == CM_ATTR_SIDR_REP ?
						 CM_REJ_LOCAL_COMM_ID : CM_REJ_REMOTE_COMM_ID));
	return p ? &p->id : NULL;
}

uint64_t cm_mad_service(const uint8_t mad[CM_MAD_LEN], const struct cm_id *id)
{
	struct cm_hdr h;

	if (!cm_msg_hdr(mad, &h))
		return 0;
	if (h.attr == CM_ATTR_REQ)
		return cm_get(mad, CM_REQ_SERVICE_ID);
	if (h.attr == CM_ATTR_SIDR_REQ)
		return cm_get(mad, CM_SIDR_REQ_SERVICEID);
	if (h.attr == CM_ATTR_SIDR_REP)
		return cm_get(mad, CM_SIDR_REP_SERVICEID);
	return id ? id->service_id : 0;
}

/*
 * Local ids count up and are XORed with a random number, as in the kernel, so that a number is
 * reused late.
 */
static void set_local_id(struct cm_priv *p)
{
	struct cm *cm = p->id.cm;

	do {
		p->id.local_id = cm->next_id++ ^ cm->random;
	} while (!p->id.local_id || find_local(cm, p->id.local_id));
	cm_hash_add(&cm->local, &p->local, cm_hash_of(&cm->local, p->id.local_id, 0));
}

struct cm_priv *cm_new(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx)
{
	struct cm_priv *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->timer.fn = cm_msg_timer;
	/* Reserve the timer's place in the heap, so that arming it cannot fail. */
	if (timer_set(&cm->timers, &p->timer, NS_NEVER - 1)) {
		free(p);
		return NULL;
	}
	p->id.cm = cm;
	p->id.device = dev;
	p->id.handler = handler;
	p->id.context = ctx;
	list_init(&p->establish);
	list_add_tail(&p->all, &cm->ids);
	set_local_id(p);
	cm->count++;
	return p;
}

struct cm_id *cm_create_id(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx)
{
	struct cm_priv *p = cm_new(cm, dev, handler, ctx);

	if (!p)
		return NULL;
	p->visible = true;
	return &p->id;
}

static void free_id(struct cm_priv *p)
{
	free(p->private_data);
	free(p);
}

static void say_rej_timeout(struct cm_priv *p, ns_t now)
{
	uint8_t guid[8] = { 0 };

	/* The REJ's ARI is the local CA GUID, by which the peer finds its id (IBA 12.6.7.2). */
	if (p->id.device)
		put_be64(guid, p->id.device->node_guid);
	cm_send_rej(&p->id, IB_CM_REJ_TIMEOUT, guid, sizeof(guid), NULL, 0, now);
}

/* Executes a row of the state table for CM_IN_DESTROY. False: p is a listener with other owners, which must not be destroyed. */
static bool destroy_step(struct cm_priv *p, const struct cm_row *row, int err, ns_t now)
{
	static const struct cm_sidr_rep_param reject = { .status = IB_SIDR_REJECT };

	if (row->what & CM_UNLISTEN) {
		if (--p->sharecount)
			return false;
		cm_hash_del(&p->id.cm->service, &p->service);
	}
	if (row->what & CM_SAY_REJ_TIMEOUT)
		say_rej_timeout(p, now);
	if (row->what & CM_SAY_REJ_CONSUMER) {
		/* After -ENOMEM send no REJ, so that the peer repeats its REQ. */
		if (err == -ENOMEM && p->id.state == IB_CM_REQ_RCVD)
			cm_reset_to_idle(p);
		else
			cm_send_rej(&p->id, IB_CM_REJ_CONSUMER_DEFINED, NULL, 0, NULL, 0, now);
	}
	if (row->what & CM_SAY_DREQ) {
		/* An XRC target QP sends no DREQ. */
		if (p->qp_type == IB_UVERBS_QPT_XRC_TGT)
			cm_reset_to_idle(p);
		else
			cm_send_dreq(&p->id, NULL, 0, now);
	}
	if (row->what & CM_SAY_DREP)
		cm_send_drep(&p->id, NULL, 0, now);
	if (row->what & CM_SAY_SIDR_REJECT)
		cm_send_sidr_rep(&p->id, &reject, now);
	cm_apply(p, row, now);
	return true;
}

void cm_destroy(struct cm_priv *p, int err, ns_t now)
{
	struct cm *cm = p->id.cm;
	const struct cm_row *row;
	enum ib_cm_state was;

	while (p->id.state != IB_CM_IDLE) {
		was = p->id.state;
		row = cm_row(CM_IN_DESTROY, was, p->id.lap_state);
		if (!row || !destroy_step(p, row, err, now))
			return;
		if (BUG_ON(p->id.state == was))
			break;
	}
	cm_cancel(p);
	cm_reset_to_idle(p);
	cm_hash_del(&cm->sidr, &p->sidr);
	cm_hash_del(&cm->local, &p->local);
	timer_cancel(&cm->timers, &p->timer);
	list_del(&p->establish);
	list_del(&p->all);
	cm->count--;
	p->dead = true;
	if (!p->refs)
		free_id(p);
}

void cm_destroy_id(struct cm_id *id, ns_t now)
{
	cm_destroy(cm_priv(id), 0, now);
}

int cm_deliver(struct cm_priv *p, const struct cm_event *ev, ns_t now)
{
	int ret = 0;

	p->refs++;
	if (p->id.handler)
		ret = p->id.handler(&p->id, ev, now);
	p->refs--;
	if (!p->dead) {
		if (ret)
			cm_destroy(p, ret, now);
	} else if (!p->refs) {
		free_id(p);
	}
	return ret;
}

void cm_apply(struct cm_priv *p, const struct cm_row *row, ns_t now)
{
	if (row->what & CM_CANCEL)
		cm_cancel(p);
	if (row->to == IB_CM_TIMEWAIT)
		cm_enter_timewait(p, now);
	else if (row->to == IB_CM_IDLE)
		cm_reset_to_idle(p);
	else if (row->to != CM_KEEP)
		p->id.state = (enum ib_cm_state)row->to;
	if (row->to != CM_KEEP)
		p->since = now;
	if (row->lap_to != CM_KEEP)
		p->id.lap_state = (enum ib_cm_lap_state)row->lap_to;
}

/* Listeners. After cm_remove_device() a listener has no device: it stays in the hash, but no search finds it. */

static uint32_t hash_service(struct cm *cm, const struct cm_device *dev, uint64_t service_id)
{
	return cm_hash_of(&cm->service, (uintptr_t)dev, service_id);
}

struct cm_priv *cm_find_listen(struct cm *cm, struct cm_device *dev, uint64_t service_id)
{
	uint32_t hash = hash_service(cm, dev, service_id);
	struct cm_node *n;
	struct cm_priv *p;

	cm_hash_for_each(n, &cm->service, hash) {
		p = container_of(n, struct cm_priv, service);
		if (p->id.device == dev && p->id.service_id == service_id)
			return p;
	}
	return NULL;
}

static int init_listen(struct cm_priv *p, uint64_t service_id)
{
	if (service_id == CM_ASSIGN_SERVICE_ID)
		service_id = p->id.cm->next_service_id++;
	else if ((service_id & CM_SERVICE_ID_AGN_MASK) == CM_ASSIGN_SERVICE_ID)
		return -EINVAL;
	p->id.service_id = service_id;
	return 0;
}

static void start_listen(struct cm_priv *p)
{
	struct cm *cm = p->id.cm;

	p->sharecount = 1;
	cm_hash_add(&cm->service, &p->service, hash_service(cm, p->id.device, p->id.service_id));
	p->id.state = IB_CM_LISTEN;
}

int cm_insert_listen(struct cm *cm, struct cm_device *dev, cm_handler handler, void *ctx,
		     uint64_t service_id, struct cm_id **id)
{
	struct cm_priv *p = cm_new(cm, dev, handler, ctx), *q;
	int ret;

	if (!p)
		return -ENOMEM;
	ret = init_listen(p, service_id);
	q = ret ? NULL : cm_find_listen(cm, dev, p->id.service_id);
	if (q && (q->id.handler != handler || q->id.context != ctx))
		ret = -EINVAL;
	if (ret || q) {
		cm_destroy(p, 0, 0);
		if (ret)
			return ret;
		q->sharecount++;
		*id = &q->id;
		return 0;
	}
	start_listen(p);
	*id = &p->id;
	return 0;
}
