/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * QP1 of the devices: MADs between devices of this host, the CM's MAD agent, and timers.
 *
 * A MAD to a device of this host is queued and delivered later by the timer gsi.local, which
 * expires at once. It is not delivered during the send, because the sender's state may then be only
 * partly updated. MADs from other hosts come from the event loop (wire.c). The CM calls this
 * file through cm_ops: to send a MAD through QP1 or through the fabric, and to find the port and
 * GID index of a path.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "gsi/fault.h"
#include "gsi/gsi.h"
#include "loop/loop.h"
#include "mad/mad_why.h"
#include "umads/umads.h"
#include "wire/be.h"
#include "wire/cm_msg.h"
#include "wire/smp.h"

#define CM_CLASS 7
#define METHOD_SEND 3
#define ACK_DELAY 15		/* local_ca_ack_delay of rxe */
#define QUEUE_MAX 65536u	/* further MADs are lost */

struct local_mad {
	struct list_head node;
	unsigned int slot;	/* destination port */
	struct mad_addr from;
	uint8_t mad[CM_MAD_LEN];
};

static const struct host_dev *gsi_dev(const struct gsi_port *p)
{
	return &p->gsi->page->dev[p->slot];
}

static bool gsi_gid_empty(const uint8_t gid[16])
{
	static const uint8_t none[16];

	return !memcmp(gid, none, sizeof(none));
}

static int gsi_gid_at(const struct host_dev *d, uint32_t index, uint8_t gid[16])
{
	if (index >= d->ngids || index >= HOST_MAX_GIDS || gsi_gid_empty(d->gid[index].raw))
		return -EINVAL;
	memcpy(gid, d->gid[index].raw, 16);
	return 0;
}

/* v1: of RoCEv1; else of RoCEv2, or of an InfiniBand port. */
static bool gsi_find_in(const struct host_dev *d, const uint8_t gid[16], bool v1, uint16_t *index)
{
	for (uint32_t i = 0; i < d->ngids && i < HOST_MAX_GIDS; i++)
		if (!memcmp(d->gid[i].raw, gid, 16) && d->gid[i].v1 == v1) {
			*index = (uint16_t)i;
			return true;
		}
	return false;
}

static struct gsi_port *gsi_find_type(struct gsi *g, const uint8_t gid[16], bool v1,
				      uint16_t *index)
{
	if (gsi_gid_empty(gid))
		return NULL;
	for (int i = 0; i < HOST_MAX_DEVS; i++) {
		struct gsi_port *p = &g->port[i];

		if (p->in_use && !gsi_dev(p)->ib.host && gsi_find_in(gsi_dev(p), gid, v1, index))
			return p;
	}
	return NULL;
}

struct gsi_port *gsi_find_gid(struct gsi *g, const uint8_t gid[16], uint16_t *index)
{
	return gsi_find_type(g, gid, false, index);
}

bool gsi_queue(struct gsi_port *to, const struct mad_addr *from, const uint8_t mad[CM_MAD_LEN])
{
	struct gsi *g = to->gsi;
	struct local_mad *m = g->nqueue < QUEUE_MAX ? malloc(sizeof(*m)) : NULL;

	/* The timer is armed while the queue is not empty. */
	if (!m || (list_empty(&g->queue) &&
		   timer_set(&g->loop->timers, &g->local, g->loop->now))) {
		free(m);
		return false;
	}
	m->slot = to->slot;
	m->from = *from;
	memcpy(m->mad, mad, sizeof(m->mad));
	list_add_tail(&m->node, &g->queue);
	g->nqueue++;
	return true;
}

/* Sends a MAD from device port p to device port `to` of this host, without a packet. */
static int gsi_send_local(struct gsi_port *p, struct gsi_port *to, const struct mad_addr *a,
			  uint16_t index, const void *mad, size_t len)
{
	struct mad_addr from = { .qp = GSI_QPN, .qpn = GSI_QPN, .grh = true,
				 .sgid_index = (uint8_t)index, .hop_limit = a->hop_limit,
				 .tclass = a->tclass, .flow = a->flow };
	uint8_t whole[CM_MAD_LEN] = { 0 };
	int rc = gsi_gid_at(gsi_dev(p), a->sgid_index, from.gid);

	if (rc)
		return rc;
	memcpy(from.lgid, a->gid, 16);
	memcpy(whole, mad, min(len, sizeof(whole)));
	if (gsi_queue(to, &from, whole) && capture_out_any(p->gsi->capture))
		gsi_wire_show(p, a, whole, NULL);
	return 0;
}

static int gsi_port_send(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	struct gsi_port *p = ctx, *to;
	bool v1 = gsi_dev(p)->gid[a->sgid_index % HOST_MAX_GIDS].v1;
	uint16_t index;
	uint32_t n;
	int rc = 0;

	/* The MAD is lost, as if the cable were unplugged. */
	if (gsi_dev(p)->state != PORT_ACTIVE)
		return 0;
	/* Other QPs belong to processes and are reached through UDP, also on this host. */
	to = a->qpn == GSI_QPN ? gsi_find_type(p->gsi, a->gid, v1, &index) : NULL;
	/* RoCEv1 exists within the host only. */
	if (v1 && !to)
		return 0;
	n = gsi_fault(p, a->gid, a->qpn, p->psn, to ? FAULT_LOCAL : FAULT_EGRESS);
	for (; n && !rc; n--)
		rc = to ? gsi_send_local(p, to, a, index, mad, len) : gsi_wire_send(p, a, mad);
	return rc;
}

static int gsi_port_gid(void *ctx, uint8_t index, uint8_t gid[16])
{
	return gsi_gid_at(gsi_dev(ctx), index, gid);
}

static void gsi_port_why(void *ctx, const struct mad_addr *a, const uint8_t *mad, struct why *w)
{
	struct gsi_port *p = ctx, *to = gsi_find_gid(p->gsi, a->gid, &(uint16_t){ 0 });
	uint64_t name[2];

	why_str(name, gsi_dev(p)->name);
	if (gsi_dev(p)->state != PORT_ACTIVE)
		why_set(w, MAD_PORT_DOWN, name[0], name[1], gsi_dev(p)->state);
	else if (to)
		mad_why(&to->port, a, mad, gsi_dev(to)->name, w);
}

static const struct mad_ops port_ops = { .send = gsi_port_send, .gid = gsi_port_gid,
					 .why = gsi_port_why };

/* Sends by LID, through the fabric. */
static int gsi_cm_send_ib(const struct cm_av *av, const uint8_t mad[CM_MAD_LEN])
{
	struct gsi_port *p = av->dev->ctx;
	struct mad_addr a = { .qp = GSI_QPN, .qpn = GSI_QPN, .sl = av->sl, .lid = av->dlid,
			      .path_bits = av->src_path_bits, .grh = av->is_global,
			      .sgid_index = (uint8_t)av->sgid_index, .hop_limit = av->hop_limit,
			      .tclass = av->traffic_class, .flow = av->flow_label,
			      .pkey_index = av->pkey_index };
	enum gsi_fate fate;
	const char *note;

	memcpy(a.gid, av->dgid, 16);
	if (unlikely(p->gsi->late.wait) && gsi_is_late(p, &a, mad))
		return 0;
	fate = gsi_fault_cm(p, &a, mad, FAULT_BOTH, &note);
	if (unlikely(fate != GSI_PASS))
		return fate == GSI_NO_ANSWER ? CM_NO_ANSWER : 0;
	return p->port.ops->send(p->port.ctx, &a, mad, CM_MAD_LEN);
}

static int gsi_cm_send(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN])
{
	struct mad_addr a = { .qp = GSI_QPN, .qpn = GSI_QPN, .sl = av->sl, .grh = true,
			      .sgid_index = (uint8_t)av->sgid_index, .hop_limit = av->hop_limit,
			      .tclass = av->traffic_class, .flow = av->flow_label,
			      .pkey_index = av->pkey_index };
	enum gsi_fate fate;
	struct gsi_port *p;
	const char *note;

	if (!av->dev)
		return -EINVAL;
	if (!av->roce)
		return gsi_cm_send_ib(av, mad);
	p = av->dev->ctx;
	memcpy(a.gid, av->dgid, 16);
	if (unlikely(p->gsi->late.wait) && gsi_is_late(p, &a, mad))
		return 0;
	if (unlikely(gsi_faults_cm(p->gsi))) {
		bool here = gsi_find_gid(p->gsi, a.gid, &(uint16_t){ 0 });

		fate = gsi_fault_cm(p, &a, mad, here ? FAULT_BOTH : FAULT_OUT, &note);
		if (fate != GSI_PASS && capture_out_any(p->gsi->capture))
			gsi_wire_show(p, &a, mad, note);
		if (fate != GSI_PASS)
			return fate == GSI_NO_ANSWER ? CM_NO_ANSWER : 0;
	}
	return gsi_port_send(p, &a, mad, CM_MAD_LEN);
}

/*
 * gsi_cm_find_port() for InfiniBand: finds a device port. Uses that of av->dev if it is set, else the port of the fabric
 * host that has the source GID.
 */
static int gsi_find_ib_port(struct gsi *g, const struct cm_path *path, struct cm_av *av)
{
	struct gsi_port *p = av->dev ? av->dev->ctx : NULL;
	uint16_t index = 0;
	int pkey;

	for (unsigned int i = 0; i < HOST_MAX_DEVS && !p; i++)
		if (g->port[i].in_use && gsi_dev(&g->port[i])->ib.host &&
		    gsi_find_in(gsi_dev(&g->port[i]), path->sgid, false, &index))
			p = &g->port[i];
	if (!p || gsi_gid_empty(path->sgid) || !gsi_find_in(gsi_dev(p), path->sgid, false, &index))
		return -EINVAL;
	pkey = host_ib_find_pkey(&gsi_dev(p)->ib, path->pkey);
	if (pkey < 0)
		return pkey;
	av->dev = &p->cdev;
	av->port = 1;
	av->roce = false;
	av->sgid_index = index;
	av->pkey_index = (uint16_t)pkey;
	av->pkey = gsi_dev(p)->ib.pkey[pkey];
	av->src_path_bits = path->slid & ((1u << gsi_dev(p)->ib.lmc) - 1);
	return 0;
}

static int gsi_cm_find_port(void *ctx, const struct cm_path *path, struct cm_av *av)
{
	struct gsi_port *p;
	struct gsi *g = ctx;
	uint16_t index = av->sgid_index;

	if (!path->roce)
		return gsi_find_ib_port(g, path, av);
	if (av->dev) {
		p = av->dev->ctx;
		if (!gsi_find_in(gsi_dev(p), path->sgid, false, &index))
			return -EINVAL;
	} else {
		p = gsi_find_gid(g, path->sgid, &index);
		if (!p)
			return -EINVAL;
	}
	if ((path->pkey & 0x7fff) != (GSI_PKEY & 0x7fff))
		return -ENOENT;
	av->dev = &p->cdev;
	av->port = 1;
	av->roce = true;
	av->sgid_index = index;
	av->pkey = GSI_PKEY;
	av->pkey_index = 0;
	av->src_path_bits = 0;
	return 0;
}

static int gsi_cm_gid0(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16])
{
	return gsi_gid_at(gsi_dev(dev->ctx), 0, gid);
}

static const struct cm_ops cm_ops = { .send = gsi_cm_send, .find_port = gsi_cm_find_port,
				      .gid0 = gsi_cm_gid0 };

static void gsi_av_of_ib(struct cm_av *av, const struct gsi_port *p, const struct mad_addr *a)
{
	av->roce = false;
	av->is_global = a->grh;
	av->dlid = a->lid;
	av->src_path_bits = a->path_bits;
	av->pkey_index = a->pkey_index;
	av->pkey = gsi_dev(p)->ib.pkey[a->pkey_index % HOST_MAX_PKEYS];
	if (!a->grh)
		av->hop_limit = 0;
}

/* Receives the MADs of the CM. */
static void gsi_agent_recv(void *ctx, const struct mad_recv *m, ns_t now)
{
	struct gsi_port *p = ctx;
	struct cm_av av = { .dev = &p->cdev, .port = 1, .roce = true, .is_global = true,
			    .sl = m->addr.sl, .hop_limit = m->addr.hop_limit,
			    .traffic_class = m->addr.tclass, .flow_label = m->addr.flow,
			    .sgid_index = m->addr.sgid_index, .pkey = GSI_PKEY };

	if (m->len != CM_MAD_LEN)
		return;
	if (gsi_dev(p)->ib.host)
		gsi_av_of_ib(&av, p, &m->addr);
	memcpy(av.sgid, m->addr.lgid, 16);
	memcpy(av.dgid, m->addr.gid, 16);
	cm_input(p->gsi->cm, &av, m->mad, now);
}

/* The CM does its own retries and needs no completions. */
static void gsi_agent_done(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status,
			   ns_t now)
{
}

static const struct mad_agent_ops agent_ops = { .recv = gsi_agent_recv, .done = gsi_agent_done };

void gsi_deliver(struct gsi_port *to, const struct mad_addr *from,
		 const uint8_t mad[CM_MAD_LEN])
{
	mad_input(&to->port, from, mad, CM_MAD_LEN, to->gsi->loop->now);
}

static void gsi_local_due(struct timer *t, ns_t now)
{
	struct gsi *g = container_of(t, struct gsi, local);

	/* MADs that are queued during this loop wait for the next round of the event loop. */
	for (uint32_t n = g->nqueue; n; n--) {
		struct local_mad *m = list_first_entry(&g->queue, struct local_mad, node);
		struct gsi_port *p = &g->port[m->slot];

		list_del(&m->node);
		g->nqueue--;
		if (p->in_use)
			gsi_deliver(p, &m->from, m->mad);
		free(m);
	}
	if (g->nqueue)
		timer_set(&g->loop->timers, t, now);
}

static void gsi_wake_due(struct timer *t, ns_t now)
{
	struct gsi *g = container_of(t, struct gsi, wake);

	mad_timer(&g->mad, now);
	cm_timer(g->cm, now);
}

void gsi_settle(struct gsi *g)
{
	ns_t when;

	if (!g->cm)
		return;
	when = min(mad_wake(&g->mad), cm_next(g->cm));
	if (timer_armed(&g->wake) ? g->wake.when != when : when != NS_NEVER)
		timer_set(&g->loop->timers, &g->wake, when);
}

int gsi_device_added(struct gsi *g, unsigned int slot, const struct gsi_owner *owner)
{
	static const struct mad_reg reg = { .qp = GSI_QPN, .mgmt_class = CM_CLASS,
					    .class_version = CM_CLASS_VERSION,
					    .methods = { 1ull << METHOD_SEND } };
	struct gsi_port *p = &g->port[slot];
	int rc;

	if (!g->cm || p->in_use)
		return 0;
	*p = (struct gsi_port){ .gsi = g, .slot = slot, .umad_ops = &gsi_umad_ops,
				.view = &g->umads->view };
	p->port = (struct mad_port){ .ops = &port_ops, .ctx = p, .qps = 1 << GSI_QPN };
	if (owner) {
		p->umad_ops = owner->umad;
		p->view = owner->view;
		p->port.ops = owner->mad;
		p->port.ctx = owner->ctx;
		p->port.qps |= 1;
		p->port.num = gsi_dev(p)->ib.hca_port;
	}
	mad_port_init(&p->port, &g->mad);
	rc = mad_agent_create(&p->port, &reg, &agent_ops, p, &p->agent);
	if (rc) {
		mad_port_fini(&p->port, g->loop->now);
		return rc;
	}
	p->cdev = (struct cm_device){ .ctx = p, .node_guid = get_be64(gsi_dev(p)->node_guid),
				      .hi_tid = mad_agent_hi_tid(p->agent),
				      .ack_delay = ACK_DELAY };
	p->in_use = true;
	return 0;
}

void gsi_device_removed(struct gsi *g, unsigned int slot)
{
	struct gsi_port *p = &g->port[slot];

	if (!p->in_use)
		return;
	umad_node_del(p->umad);
	p->umad = NULL;
	cm_remove_device(g->cm, &p->cdev);
	mad_port_fini(&p->port, g->loop->now);
	p->in_use = false;
}

int gsi_init(struct gsi *g, struct loop *l, const struct host_page *page, struct umads *us)
{
	g->loop = l;
	g->page = page;
	g->umads = us;
	list_init(&g->queue);
	list_init(&g->held);
	g->tx[0] = g->tx[1] = -1;
	mad_ports_init(&g->mad);
	gsi_fault_init(&g->faults);
	g->local.fn = gsi_local_due;
	g->wake.fn = gsi_wake_due;
	g->cm = cm_create(&cm_ops, g, rand_u32());
	return g->cm ? 0 : -ENOMEM;
}

void gsi_fini(struct gsi *g)
{
	if (!g->local.fn)
		return;
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++)
		gsi_device_removed(g, i);
	cm_free(g->cm);
	g->cm = NULL;
	while (!list_empty(&g->queue)) {
		struct local_mad *m = list_first_entry(&g->queue, struct local_mad, node);

		list_del(&m->node);
		free(m);
	}
	timer_cancel(&g->loop->timers, &g->local);
	timer_cancel(&g->loop->timers, &g->wake);
	gsi_fault_fini(g);
	gsi_wire_fini(g);
	mad_ports_fini(&g->mad);
}
