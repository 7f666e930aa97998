/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules of `ruse fault add cm ...` on messages of the CM. A message within the host, or within a fabric, is judged when it is
 * sent; one to or from another host where it leaves and where it arrives.
 *
 * A rejected request does not arrive; its sender gets the answer of a CM that refuses it. A delayed message is held until
 * it is sent on or delivered. Without memory for that it is lost.
 *
 * A message that `ruse run --shake` delays is held in the same way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gsi/fault.h"
#include "loop/loop.h"

#define HELD_MAX 4096u		/* further messages are lost */

struct held_mad {
	struct list_head node;	/* gsi.held */
	struct timer timer;
	struct gsi *gsi;
	unsigned int slot;
	uint32_t dev;		/* index of the device that had the slot */
	bool in;
	struct mad_addr addr;
	uint8_t mad[CM_MAD_LEN];
};

/* A message that is judged. */
struct cm_judged {
	struct gsi_port *p;
	const struct mad_addr *a;	/* destination, or origin */
	const uint8_t *mad;
	enum fault_dir dir;
	struct fault_case c;
	struct cm_id *id[2];		/* at this host; NULL: none */
};

static void held_free(struct held_mad *h)
{
	timer_cancel(&h->gsi->loop->timers, &h->timer);
	list_del(&h->node);
	h->gsi->nheld--;
	free(h);
}

void gsi_fault_fini(struct gsi *g)
{
	while (!list_empty(&g->held))
		held_free(list_first_entry(&g->held, struct held_mad, node));
}

static void held_due(struct timer *t, ns_t now)
{
	struct held_mad *h = container_of(t, struct held_mad, timer);
	struct gsi_port *p = &h->gsi->port[h->slot];

	if (p->in_use && h->gsi->page->dev[h->slot].index == h->dev) {
		if (h->in)
			gsi_deliver(p, &h->addr, h->mad);
		else
			p->port.ops->send(p->port.ctx, &h->addr, h->mad, CM_MAD_LEN);
	}
	held_free(h);
}

/* Holds the message of j, of which p, a, mad and dir are set. False: there is no memory. */
static bool cm_hold(const struct cm_judged *j, ns_t delay)
{
	struct gsi *g = j->p->gsi;
	struct held_mad *h = g->nheld < HELD_MAX ? calloc(1, sizeof(*h)) : NULL;

	if (!h)
		return false;
	h->gsi = g;
	h->slot = j->p->slot;
	h->dev = g->page->dev[h->slot].index;
	h->in = j->dir == FAULT_IN;
	h->addr = *j->a;
	memcpy(h->mad, j->mad, sizeof(h->mad));
	h->timer.fn = held_due;
	list_add_tail(&h->node, &g->held);
	g->nheld++;
	if (!timer_set(&g->loop->timers, &h->timer, g->loop->now + delay))
		return true;
	held_free(h);
	return false;
}

bool gsi_is_late(struct gsi_port *p, const struct mad_addr *a, const uint8_t mad[CM_MAD_LEN])
{
	struct gsi_late late = p->gsi->late;

	p->gsi->late.wait = 0;
	return cm_hold(&(struct cm_judged){ .p = p, .a = a, .mad = mad, .dir = FAULT_OUT },
		       late.wait) && !late.twice;
}

/* The answer to a request that this host has sent, as if it came from the peer. */
static void cm_answer_here(const struct cm_judged *j, const uint8_t answer[CM_MAD_LEN])
{
	struct mad_addr from = *j->a;

	if (from.grh && j->p->port.ops->gid(j->p->port.ctx, from.sgid_index, from.lgid))
		return;
	gsi_queue(j->p, &from, answer);
}

static void cm_refuse(const struct cm_judged *j, uint32_t reason)
{
	uint8_t answer[CM_MAD_LEN];

	cm_mad_refuse(j->mad, reason, answer);
	if (j->dir == FAULT_IN)
		j->p->port.ops->send(j->p->port.ctx, j->a, answer, CM_MAD_LEN);
	else
		cm_answer_here(j, answer);
}

static void cm_mark(const struct cm_judged *j, const struct fault_rule *r)
{
	for (int i = 0; i < 2; i++)
		if (j->id[i])
			j->id[i]->fault = (struct cm_fault){ r->id, r->action,
							     j->id[i]->fault.n + 1 };
}

/* Does a rule with this action act on the message? */
static const struct fault_rule *cm_struck(struct cm_judged *j, enum fault_action action)
{
	const struct fault_rule *r;

	j->c.action = action;
	j->c.call = 0;
	r = faults_strike(&j->p->gsi->faults.f, &j->c);
	if (r)
		cm_mark(j, r);
	return r;
}

static enum gsi_fate cm_judge(struct cm_judged *j, const char **note)
{
	const struct fault_rule *r;

	if (cm_struck(j, FAULT_CM_DROP)) {
		*note = "fault: dropped";
		return GSI_LOST;
	}
	if (j->dir != FAULT_IN && cm_struck(j, FAULT_CM_UNREACHABLE)) {
		*note = "fault: unreachable";
		return GSI_NO_ANSWER;
	}
	r = cm_struck(j, FAULT_CM_REJECT);
	if (r) {
		*note = "fault: rejected";
		cm_refuse(j, r->error);
		return GSI_LOST;
	}
	r = cm_struck(j, FAULT_CM_DELAY);
	if (!r)
		return GSI_PASS;
	*note = "fault: delayed";
	(void)cm_hold(j, (ns_t)r->delay);
	return GSI_LOST;
}

enum gsi_fate gsi_fault_cm(struct gsi_port *p, const struct mad_addr *a,
			   const uint8_t mad[CM_MAD_LEN], enum fault_dir dir, const char **note)
{
	struct cm_judged j = { .p = p, .a = a, .mad = mad, .dir = dir };
	struct gsi *g = p->gsi;
	struct cm_hdr h;

	if (!gsi_faults_cm(g) || !cm_msg_hdr(mad, &h) || h.attr < CM_ATTR_REQ ||
	    h.attr >= CM_ATTR_END)
		return GSI_PASS;
	if (dir != FAULT_IN)
		j.id[0] = cm_mad_id(g->cm, mad, true);
	if (dir != FAULT_OUT)
		j.id[1] = cm_mad_id(g->cm, mad, false);
	j.c.ops = 1u << (h.attr - CM_ATTR_REQ);
	j.c.dev = g->page->dev[p->slot].index;
	j.c.peer = a->gid;
	j.c.dir = dir;
	j.c.port = cm_mad_service(mad, j.id[0] ? j.id[0] : j.id[1]) & 0xffff;
	return cm_judge(&j, note);
}

uint32_t gsi_fault_step(void *gsi, enum fault_step step, const uint8_t peer[16], uint32_t port,
			uint32_t dev)
{
	struct fault_case c = { .action = FAULT_CM_UNREACHABLE, .call = step, .peer = peer,
				.port = port, .dev = dev };
	const struct fault_rule *r;
	struct gsi *g = gsi;

	if (!gsi_faults_cm(g))
		return 0;
	r = faults_strike(&g->faults.f, &c);
	return r ? r->id : 0;
}
