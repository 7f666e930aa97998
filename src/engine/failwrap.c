/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posts that rules of `ruse fault` make fail: the user VERBS_FAULTS of verbs/verbs.h. Nothing is wrapped before the first
 * such rule. Then the pointers of all QPs and their contexts are replaced, and stay so, as verbs.h says.
 *
 * A rule counts work requests, in the order in which they are posted. Those before the one that fails are posted. On a QP
 * that a rule can be about, each is posted by itself, so that a rule does not act on what librxe never takes. What is
 * built between ibv_wr_start() and ibv_wr_complete() is posted together or not at all: it counts as one, with the opcode
 * of its first work request, which is in the ring behind those posted before.
 */
#include <errno.h>
#include <string.h>
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/postone.h"
#include "verbs/verbs.h"
#include "wire/fault_call.h"

static struct verbs_ops failwrap_next;
/* Is there a rule that makes a post fail? Read without the lock. */
static uint32_t failwrap_active;

static uint32_t failwrap_op(uint32_t opcode)
{
	return opcode < 31 ? 1u << opcode : 0;
}

static uint32_t failwrap_next_op(const struct qp *qp)
{
	const struct rxe_send_wqe *s = ring_slot(&qp->sq, ring_producer(&qp->sq));

	return failwrap_op(READ_ONCE(s->wr.opcode));
}

/*
 * Does the call fail? Returns its errno, 0: no, and logs it. qpn: of the QP; 0: an SRQ. ops: FAULT_OP_* of the work request;
 * UINT32_MAX: that of the next one in the ring.
 */
static noinline __cold int failwrap_strike(enum fault_call call, uint32_t qpn, uint32_t ops)
{
	struct fault_case c = { .action = FAULT_FAIL, .call = call, .qpn = qpn, .ops = ops };
	struct why_rec rec = { .qpn = qpn };
	const struct fault_rule *rule;
	struct qp *qp;

	engine_check_fork();
	if (!engine.attached || !engine_lock())
		return 0;
	if (engine.host_page)
		faults_look();
	qp = qpn ? engine_qp(qpn) : NULL;
	c.dev = qp ? qp->dev->index : 0;
	c.services = faults_services(qp);
	if (ops == UINT32_MAX)
		c.ops = qp ? failwrap_next_op(qp) : 0;
	rule = faults_strike(&engine.faults.f, &c);
	if (rule) {
		rec.error = (uint16_t)rule->error;
		why_set(&rec.why, FAULT_CALL, rule->id);
	}
	engine_unlock();
	if (!rule)
		return 0;
	strcpy(rec.call, "ibv_");
	strncat(rec.call, fault_call_row(call)->name, sizeof(rec.call) - 5);
	if (ops == UINT32_MAX)
		strcpy(rec.call, "ibv_wr_complete");
	explain_failed(qp ? qp->dev : NULL, &rec);
	return rec.error;
}

/* Can a rule make this call fail for the QP? qpn 0: an SRQ. Does not count. */
static noinline __cold bool failwrap_concerns(enum fault_call call, uint32_t qpn)
{
	struct fault_case c = { .action = FAULT_FAIL, .call = call, .qpn = qpn, .ops = UINT32_MAX };
	const struct qp *qp;
	bool concerns;

	engine_check_fork();
	if (!engine.attached || !engine_lock())
		return false;
	if (engine.host_page)
		faults_look();
	qp = qpn ? engine_qp(qpn) : NULL;
	c.dev = qp ? qp->dev->index : 0;
	c.services = faults_services(qp);
	concerns = faults_concern(&engine.faults.f, &c);
	engine_unlock();
	return concerns;
}

static noinline __cold int failwrap_sends(struct ibv_qp *qp, struct ibv_send_wr *wr,
					  struct ibv_send_wr **bad)
{
	int ret = 0;

	for (; wr && !ret; wr = wr->next) {
		ret = failwrap_strike(FAULT_POST_SEND, qp->qp_num, failwrap_op(wr->opcode));
		if (ret)
			*bad = wr;
		else
			ret = postone_send(failwrap_next.post_send, qp, wr, bad);
	}
	return ret;
}

static int failwrap_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (likely(!READ_ONCE(failwrap_active)) || !wr || !bad ||
	    !failwrap_concerns(FAULT_POST_SEND, qp->qp_num))
		return failwrap_next.post_send(qp, wr, bad);
	return failwrap_sends(qp, wr, bad);
}

/* The same of receives. srq: NULL: the receive queue of qp. */
static noinline __cold int failwrap_receives(struct ibv_qp *qp, struct ibv_srq *srq,
					     struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	enum fault_call call = srq ? FAULT_POST_SRQ_RECV : FAULT_POST_RECV;
	int ret = 0;

	for (; wr && !ret; wr = wr->next) {
		ret = failwrap_strike(call, qp ? qp->qp_num : 0, FAULT_OP_RECV);
		if (ret)
			*bad = wr;
		else
			ret = postone_recv(&failwrap_next, qp, srq, wr, bad);
	}
	return ret;
}

static int failwrap_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (likely(!READ_ONCE(failwrap_active)) || !wr || !bad ||
	    !failwrap_concerns(FAULT_POST_RECV, qp->qp_num))
		return failwrap_next.post_recv(qp, wr, bad);
	return failwrap_receives(qp, NULL, wr, bad);
}

static int failwrap_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (likely(!READ_ONCE(failwrap_active)) || !wr || !bad ||
	    !failwrap_concerns(FAULT_POST_SRQ_RECV, 0))
		return failwrap_next.post_srq_recv(srq, wr, bad);
	return failwrap_receives(NULL, srq, wr, bad);
}

/* An opcode that no work request has: nothing was built in the slot. */
#define FAILWRAP_EMPTY UINT32_MAX

/*
 * The slot of the ring in which the next work request will be built. NULL: the ring is full, so none is built. The thread
 * holds librxe's lock of the queue.
 */
static struct rxe_send_wqe *failwrap_slot(uint32_t qpn)
{
	struct rxe_send_wqe *slot = NULL;
	struct qp *qp;

	engine_check_fork();
	if (!engine.attached || !engine_lock())
		return NULL;
	qp = engine_qp(qpn);
	if (qp && ring_count(&qp->sq) < ring_capacity(&qp->sq))
		slot = ring_slot(&qp->sq, ring_producer(&qp->sq));
	engine_unlock();
	return slot;
}

static void failwrap_wr_start(struct ibv_qp_ex *qp)
{
	struct rxe_send_wqe *slot;

	failwrap_next.wr_start(qp);
	if (likely(!READ_ONCE(failwrap_active)))
		return;
	slot = failwrap_slot(qp->qp_base.qp_num);
	if (slot)
		WRITE_ONCE(slot->wr.opcode, FAILWRAP_EMPTY);
}

/* ibv_wr_abort() drops what was built, and gives back the provider's lock. */
static int failwrap_wr_complete(struct ibv_qp_ex *qp)
{
	const struct rxe_send_wqe *slot;
	int error;

	if (likely(!READ_ONCE(failwrap_active)))
		return failwrap_next.wr_complete(qp);
	slot = failwrap_slot(qp->qp_base.qp_num);
	if (!slot || READ_ONCE(slot->wr.opcode) == FAILWRAP_EMPTY)
		return failwrap_next.wr_complete(qp);
	error = failwrap_strike(FAULT_POST_SEND, qp->qp_base.qp_num, UINT32_MAX);
	if (!error)
		return failwrap_next.wr_complete(qp);
	qp->wr_abort(qp);
	return error;
}

static bool failwrap_wanted(void)
{
	const struct faults *f = &engine.faults.f;

	for (uint32_t i = 0; i < f->nrules; i++) {
		const struct fault_rule *r = &f->table.rule[i];

		if (r->id && r->action == FAULT_FAIL && r->call <= FAULT_POST_SRQ_RECV)
			return true;
	}
	return false;
}

static void failwrap_qps(struct rdev *dev)
{
	struct qp *qp;

	for (uint32_t b = 0; b < dev->nblocks; b++)
		for (uint32_t i = 0; (qp = idtable_next(&dev->blocks[b].qps, &i)); i++)
			verbs_wrap_qp(qp->async.user_handle, qp->qpn, engine.host->is_uverbs);
}

void failwrap_use(void)
{
	static const struct verbs_ops ops = {
		.post_send = failwrap_send,
		.post_recv = failwrap_recv,
		.post_srq_recv = failwrap_srq_recv,
		.wr_start = failwrap_wr_start,
		.wr_complete = failwrap_wr_complete,
	};
	static bool used;
	bool wanted = failwrap_wanted();
	struct edev *e;

	WRITE_ONCE(failwrap_active, wanted);
	if (!wanted || used)
		return;
	used = true;
	verbs_use(VERBS_FAULTS, &ops, &failwrap_next);
	list_for_each_entry(e, &engine.devs, entry)
		failwrap_qps(&e->dev);
}
