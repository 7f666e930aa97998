/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of `ruse fault`, which rused publishes in host_page.fault, memory that all processes
 * read. The first rule wraps every link, and removing the last one unwraps them all, so links cost
 * nothing extra without rules.
 */
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "engine/engine_internal.h"
#include "engine/faults.h"
#include "engine/wire.h"
#include "link/fault.h"
#include "link/udp.h"
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

static void faults_facts(const struct link *l, const struct seg *seg, bool in,
			 struct fault_facts *f)
{
	uint32_t ours = in ? seg->dqpn : seg->sqpn;
	struct rdev *dev = engine.block_dev[(ours >> QPN_INDEX_BITS) & (QPN_BLOCKS - 1)];
	struct qp *qp = dev ? rdev_find_qp(dev, ours) : NULL;

	if (dev)
		f->dev = dev->index;
	if (seg->net)
		memcpy(f->peer, in ? seg->net->sgid : seg->net->dgid, 16);
	else if (qp)
		memcpy(f->peer, qp->attr.ah.grh.dgid, 16);
	f->expected = in && qp && faults_expected(qp, seg);
}

static const struct fault_host fault_host = {
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
	link_host_ops.writable(engine.loop);
}

void faults_begin(void)
{
	faults_init(&engine.faults.f, &fault_host, engine.proc_page->fault);
}

void faults_look(void)
{
	uint32_t version = READ_ONCE(engine.host_page->fault.version);
	struct host_page *copy;
	bool active;

	if (likely(version == engine.faults.version && engine.faults.proc == engine.proc))
		return;
	copy = malloc(sizeof(*copy));
	if (copy && !host_page_read(engine.host_page, copy)) {
		engine.faults.version = copy->fault.version;
		engine.faults.proc = engine.proc;
		active = faults_set(&engine.faults.f, &copy->fault, engine.proc);
		if (active && !engine.faults.active)
			faults_wrap_all();
		else if (!active && engine.faults.active)
			faults_unwrap_all();
		engine.faults.active = active;
	}
	free(copy);
}

void faults_new_link(struct link *l)
{
	if (unlikely(engine.faults.active))
		faults_wrap(l);
}
