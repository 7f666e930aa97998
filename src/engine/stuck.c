/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers the question of rused what the QPs of this process wait for (ipc/stuck.h). The progress thread runs this when
 * rused has notified it. A wait has lasted since the first answer in which it occurs with the same mark.
 */
#include <string.h>

#include "core/cq.h"
#include "engine/engine_internal.h"
#include "engine/hold.h"
#include "engine/stuck.h"
#include "ipc/stuck.h"
#include "xport/stuck.h"

struct stuck_walk {
	uint32_t n, nold;
	bool idle;			/* the second round: only what idle programs have, too */
	struct stuck_rec rec[STUCK_MAX];
	const struct cq *cq[STUCK_MAX];	/* CQs that are in rec, at the same index */
};

/* Private copies, because the table is in memory that the program might overwrite. */
static struct stuck_walk stuck;
static struct stuck_rec stuck_old[STUCK_MAX];
static uint32_t stuck_answered;

/* Changes when a completion is added or taken. */
static uint32_t stuck_cq_mark(const struct cq *cq)
{
	return cq->ring.index * 31 + READ_ONCE(cq->ring.buf->consumer_index);
}

/* What a rule of `ruse fault` makes wait does so as long as the rule exists, whatever moves. */
static uint32_t stuck_mark(const struct qp *qp, const struct why *why, const struct cq *cq)
{
	if (why->id == WHY_WAIT_CUT || why->id == WHY_WAIT_HOLD)
		return (uint32_t)why->arg[0];
	return cq ? stuck_cq_mark(cq) : xp_stuck_mark(qp);
}

static void stuck_put(const struct stuck_rec *rec, const struct cq *cq)
{
	struct stuck_rec *r = &stuck.rec[stuck.n];

	if (stuck.n == STUCK_MAX)
		return;
	*r = *rec;
	stuck.cq[stuck.n++] = cq;
	for (uint32_t i = 0; i < stuck.nold; i++) {
		const struct stuck_rec *o = &stuck_old[i];

		if (o->dev == r->dev && o->qpn == r->qpn && o->part == r->part &&
		    o->mark == r->mark && o->peer_qpn == r->peer_qpn)
			r->since = o->since;
	}
}

static void stuck_add(const struct qp *qp, enum stuck_part part, const struct why *why,
		      const uint64_t *wr_id, const struct cq *cq)
{
	const struct stuck_rec r = {
		.why = *why, .wr_id = wr_id ? *wr_id : 0, .since = engine_now(),
		.flags = (wr_id ? STUCK_HAS_WR : 0) | (stuck.idle ? STUCK_IDLE : 0),
		.dev = qp->dev->index, .qpn = qp->qpn, .part = (uint32_t)part,
		.peer_qpn = qp->type == QPT_UD ? 0 : qp->attr.dest_qpn,
		.mark = stuck_mark(qp, why, cq),
	};

	stuck_put(&r, cq);
}

static void stuck_add_ack(uint32_t tid, const struct why *why)
{
	const struct stuck_rec r = {
		.why = *why, .since = engine_now(), .qpn = tid, .part = STUCK_ACK,
		.mark = (uint32_t)(why->arg[0] * 31 + why->arg[1] * 7 + why->arg[2]),
	};

	stuck_put(&r, NULL);
}

static uint32_t stuck_completions(const struct cq *cq)
{
	uint32_t consumer = smp_load_acquire(&cq->ring.buf->consumer_index);

	return (cq->ring.index - cq->hidden - consumer) & cq->ring.mask;
}

/* Completions that the program has not taken. */
static void stuck_cq(const struct qp *qp, const struct cq *cq)
{
	uint32_t n = stuck_completions(cq), rule = hold_rule(cq);
	struct why why;

	if (!n && !rule)
		return;
	for (uint32_t i = 0; i < stuck.n; i++)
		if (stuck.cq[i] == cq)
			return;
	if (!n)
		why_set(&why, WAIT_HOLD, rule, cq->hidden);
	else if (!cq->comp.file)
		why_set(&why, WAIT_POLL, n);
	else if (list_empty(&cq->comp.events))
		why_set(&why, WAIT_ARM, n);
	else
		why_set(&why, WAIT_EVENT, n);
	stuck_add(qp, STUCK_CQ, &why, NULL, cq);
}

/* Is it cut off by a rule of `ruse fault`? */
static bool stuck_cut(const struct qp *qp)
{
	const struct fault_rule *r = faults_cut(&engine.faults.f, qp->qpn);
	struct why why;

	if (likely(!r) || qp->state < QPS_RTR || qp->state == QPS_ERR)
		return false;
	why_set(&why, WAIT_CUT, r->id, r->action == FAULT_FREEZE);
	stuck_add(qp, STUCK_TRAFFIC, &why, NULL, NULL);
	return true;
}

static void stuck_qp(const struct qp *qp)
{
	uint64_t wr_id;
	struct why why;

	stuck_cq(qp, qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		stuck_cq(qp, qp->recv_cq);
	if (stuck_cut(qp))
		return;
	if (xp_stuck_send(qp, &why, &wr_id))
		stuck_add(qp, STUCK_SEND, &why, &wr_id, NULL);
	if (xp_stuck_recv(qp, &why) && why.id != WHY_WAIT_RECV)
		stuck_add(qp, STUCK_RECV, &why, NULL, NULL);
}

/* What a program that has nothing to do has, too. */
static void stuck_qp_idle(const struct qp *qp)
{
	uint64_t wr_id;
	struct why why;

	if (!stuck_completions(qp->send_cq) && xp_stuck_unsignaled(qp, &why, &wr_id))
		stuck_add(qp, STUCK_SEND, &why, &wr_id, NULL);
	if (xp_stuck_recv(qp, &why) && why.id == WHY_WAIT_RECV)
		stuck_add(qp, STUCK_RECV, &why, NULL, NULL);
}

static void stuck_qps(void (*look)(const struct qp *qp))
{
	const struct edev *e;
	const struct qp *qp;

	list_for_each_entry(e, &engine.devs, entry)
		for (uint32_t b = 0; b < e->dev.nblocks; b++)
			for (uint32_t id = 0; (qp = idtable_next(&e->dev.blocks[b].qps, &id)); id++)
				look(qp);
}

static void stuck_walk(void)
{
	memcpy(stuck_old, stuck.rec, sizeof(stuck_old));
	stuck.nold = stuck.n;
	stuck.n = 0;
	stuck.idle = false;
	stuck_acks(stuck_add_ack);
	stuck_qps(stuck_qp);
	stuck.idle = true;
	stuck_qps(stuck_qp_idle);
}

void stuck_look(void)
{
	uint32_t asked = READ_ONCE(engine.host_page->stuck_asked);
	struct stuck_table *t;

	if (asked == stuck_answered || !engine.proc_page)
		return;
	stuck_answered = asked;
	stuck_walk();
	t = (struct stuck_table *)((char *)engine.proc_page + STUCK_OFFSET);
	seqlock_write_begin(&t->lock);
	memcpy(t->rec, stuck.rec, stuck.n * sizeof(t->rec[0]));
	t->n = stuck.n;
	t->answered = asked;
	seqlock_write_end(&t->lock);
}
