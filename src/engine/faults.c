/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of `ruse fault`, which rused publishes in host_page.fault, memory that all processes
 * read. The first rule about packets wraps every link, and removing the last one unwraps them all, so links cost
 * nothing extra without rules. What other rules are about asks engine.faults.f (faults_strike()) where it happens.
 */
#include <string.h>
#include "base/log.h"
#include "engine/engine_internal.h"
#include "engine/faults.h"
#include "engine/hold.h"
#include "engine/wire.h"
#include "link/fault.h"
#include "link/udp.h"
#include "wire/fault_call.h"
#include "wire/psn.h"

static void faults_due(struct timer *t, ns_t now)
{
	faults_run(&engine.faults.f, now);
}

static void faults_wake(ns_t when)
{
	engine.faults.timer.fn = faults_due;
	if (timer_set(&engine.timers, &engine.faults.timer, when))
		return;
	if (when < READ_ONCE(engine.sleep_until))
		progress_kick();
}

static bool faults_expected(const struct qp *qp, const struct seg *seg)
{
	return qp->type == QPT_RC && qp->state >= QPS_RTR && qp->state <= QPS_SQE &&
	       !qp->resp.fatal_syn && !qp->resp.res_count &&
	       !psn_diff(seg->psn & PSN_MASK, READ_ONCE(qp->card->epsn) & PSN_MASK);
}

/* Does the packet consume a receive, and is there one? */
static bool faults_receives(const struct qp *qp, const struct seg *seg)
{
	bool send = seg->type <= SEG_SEND_INV && seg->flags & SEG_F_START;

	if (!send && !(seg->type == SEG_WRITE_IMM && seg->flags & SEG_F_END))
		return false;
	if (qp->type == QPT_RC && !faults_expected(qp, seg))
		return false;
	if (qp->state < QPS_RTR || qp->state == QPS_ERR)
		return false;
	if (qp->type == QPT_UD && seg->qkey != qp->attr.qkey)
		return false;
	return qp->resp.have_wqe || !ring_empty(qp->srq ? &qp->srq->rq : &qp->rq);
}

/* Is it the first packet of a work request, sent for the first time? Of a repetition the PSN is an old one. */
static bool faults_first(const struct qp *qp, const struct seg *seg)
{
	const struct qp_req *r = &qp->req;

	return !r->cur_pkt &&
	       (qp->type != QPT_RC || !psn_diff(seg->psn & PSN_MASK, r->nxt & PSN_MASK));
}

static void faults_facts(const struct link *l, const struct seg *seg, bool in,
			 struct fault_facts *f)
{
	uint32_t ours = in ? seg->dqpn : seg->sqpn;
	struct rdev *dev = engine_dev_of(ours);
	struct qp *qp = dev ? rdev_find_qp(dev, ours) : NULL;

	if (dev)
		f->dev = dev->index;
	if (seg->net)
		memcpy(f->peer, in ? seg->net->sgid : seg->net->dgid, 16);
	else if (qp)
		memcpy(f->peer, qp->attr.ah.grh.dgid, 16);
	f->expected = in && qp && faults_expected(qp, seg);
	f->receives = in && qp && faults_receives(qp, seg);
	f->first = !in && qp && faults_first(qp, seg);
}

static const struct fault_ops fault_ops = {
	.now = engine_now, .facts = faults_facts, .wake = faults_wake,
};

static void faults_wrap(struct link *l)
{
	enum fault_side side = l == wire_in() ? FAULT_INGRESS :
			       udp_link_path(l) ? FAULT_EGRESS : FAULT_LOCAL;

	if (fault_wrap(&engine.faults.f, l, side))
		log_warn("out of memory: fault rules do not apply to link %s", l->ops->name);
}

static void faults_wrap_wire(struct link *l, void *arg)
{
	faults_wrap(l);
}

static void faults_wrap_shm(struct link *l, uint32_t proc, uint32_t flags, void *arg)
{
	faults_wrap(l);
}

static void faults_unwrap_wire(struct link *l, void *arg)
{
	fault_unwrap(l);
}

static void faults_unwrap_shm(struct link *l, uint32_t proc, uint32_t flags, void *arg)
{
	fault_unwrap(l);
}

static void faults_wrap_all(void)
{
	faults_wrap(engine.loop);
	shm_for_each(engine.ep, faults_wrap_shm, NULL);
	wire_for_each(faults_wrap_wire, NULL);
	if (wire_in())
		faults_wrap(wire_in());
}

static void faults_unwrap_all(void)
{
	fault_unwrap(engine.loop);
	shm_for_each(engine.ep, faults_unwrap_shm, NULL);
	wire_for_each(faults_unwrap_wire, NULL);
	if (wire_in())
		fault_unwrap(wire_in());
	engine_link_ops.writable(engine.loop);
}

void faults_begin(void)
{
	faults_init(&engine.faults.f, &fault_ops, engine.proc_page->fault, engine.proc_page->act);
}

void faults_look(void)
{
	uint32_t version = READ_ONCE(engine.host_page->fault.version);
	const struct host_page *copy;
	bool active, hung;

	if (likely(version == engine.faults.version && engine.faults.proc == engine.proc))
		return;
	copy = host_page_copy();
	if (copy) {
		engine.faults.version = copy->fault.version;
		engine.faults.proc = engine.proc;
		hung = engine.faults.f.actions >> FAULT_HANG & 1;
		faults_set(&engine.faults.f, &copy->fault, engine.proc);
		active = engine.faults.f.actions & FAULT_ON_LINKS;
		if (active && !engine.faults.active)
			faults_wrap_all();
		else if (!active && engine.faults.active)
			faults_unwrap_all();
		engine.faults.active = active;
		failwrap_use();
		hold_use();
		if (hung)
			engine_link_ops.writable(engine.loop);
	}
}

uint32_t faults_down(uint32_t dev_index)
{
	const struct host_page *page = host_page_copy();

	for (int i = 0; page && i < FAULT_MAX_RULES; i++) {
		const struct fault_rule *r = &page->fault.rule[i];

		if (r->id && r->action == FAULT_DOWN && r->when == FAULT_ALWAYS && !r->times &&
		    (!r->by || (r->by == FAULT_BY_DEV && r->dev == dev_index)))
			return r->id;
	}
	return 0;
}

uint32_t faults_services(const struct qp *qp)
{
	static const uint8_t services[] = { [QPT_RC] = SEG_RC, [QPT_UC] = SEG_UC,
					    [QPT_UD] = SEG_UD };

	return qp ? 1u << services[qp->type] : 0;
}

/*
 * A rule applies from the first command on that begins after it was added. What a program posts is under the rules that
 * the last command, or the progress thread, has seen.
 */
int faults_command(struct uverbs_file *f, const struct uverbs_req *r, const char *name)
{
	struct rdev *dev = uverbs_ucontext(f)->dev;
	struct fault_case c = { .action = FAULT_FAIL, .dev = dev->index };
	const struct fault_rule *rule;
	const struct qp *qp;

	faults_look();
	if (likely(!(engine.faults.f.actions >> FAULT_FAIL & 1)))
		return 0;
	c.call = fault_call_of(name);
	if (c.call == FAULT_CALL_NONE)
		return 0;
	qp = uverbs_fault_qp(r, name);
	c.qpn = qp ? qp->qpn : 0;
	c.services = faults_services(qp);
	rule = faults_strike(&engine.faults.f, &c);
	if (!rule)
		return 0;
	dev->fails.refused_qpn = c.qpn;
	return rdev_refuse(dev, -(int)rule->error, FAULT_CALL, rule->id);
}

void faults_new_link(struct link *l)
{
	if (unlikely(engine.faults.active))
		faults_wrap(l);
}
