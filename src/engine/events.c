/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `ruse fault event`: rused puts an event into the host page, and each process raises it in those of its objects that the event
 * selects and that may raise it in their state. What became of it is in the process page. Events from before this process
 * has attached to rused are not raised.
 */
#include <rdma/ib_user_ioctl_cmds.h>
#include "core/cq.h"
#include "core/srq.h"
#include "engine/engine_internal.h"
#include "engine/events.h"
#include "engine/explain.h"
#include "shared/barrier.h"
#include "xport/raise.h"

/* An event, and what became of it. */
struct events_run {
	struct host_event ev;
	uint32_t raised, refused;	/* as in struct proc_event */
	struct efile *file;		/* whose objects are walked through */
	const struct cq *broken;	/* the CQ of which all QPs fail */
};

static void events_took(struct events_run *r, enum proc_refusal refused)
{
	if (refused == PROC_RAISED)
		r->raised++;
	else
		r->refused = max(r->refused, (uint32_t)refused);
}

static void events_log(struct rdev *dev, uint32_t type)
{
	struct why_rec w = { .event = type + 1 };

	why_set(&w.why, EVENT_FAULT);
	rdev_failed(dev, &w);
}

static void events_qp(struct events_run *r, struct qp *qp)
{
	static const uint8_t refusals[] = {
		[XP_RAISED] = PROC_RAISED, [XP_OTHER_STATE] = PROC_QP_STATE,
		[XP_OTHER_TYPE] = PROC_QP_TYPE, [XP_NO_SRQ] = PROC_QP_SRQ,
	};
	ns_t now = engine_now();

	if (r->ev.object && r->ev.object != qp->qpn)
		return;
	events_took(r, refusals[xp_raise(qp, (enum xp_event)r->ev.type, now)]);
	qp_rearm(qp, now);
}

/* The QPs of a CQ that can take no completions fail, too. */
static void events_qp_of_cq(struct uverbs_file *f, uint16_t kind, void *obj, void *arg)
{
	struct events_run *r = arg;
	struct qp *qp = obj;
	ns_t now = engine_now();

	if (kind != UVERBS_OBJECT_QP || (qp->send_cq != r->broken && qp->recv_cq != r->broken))
		return;
	xp_raise(qp, EV_QP_FATAL, now);
	qp_rearm(qp, now);
}

static void events_cq(struct events_run *r, struct cq *cq)
{
	if (r->ev.object && r->ev.object != cq->res)
		return;
	if (!cq_fail(cq)) {
		events_took(r, PROC_IS_BROKEN);
		return;
	}
	r->broken = cq;
	uverbs_for_each_obj(r->file->uf, events_qp_of_cq, r);
	events_took(r, PROC_RAISED);
}

static void events_srq(struct events_run *r, struct srq *srq)
{
	if (r->ev.object && r->ev.object != srq->num)
		return;
	if (srq->error || (r->ev.type == IB_EVENT_SRQ_LIMIT_REACHED && !srq->limit)) {
		events_took(r, srq->error ? PROC_IS_BROKEN : PROC_NOT_ARMED);
		return;
	}
	events_log(srq->uctx->dev, r->ev.type);
	if (r->ev.type == IB_EVENT_SRQ_ERR)
		srq_fail(srq);
	else
		srq_limit_reached(srq);
	events_took(r, PROC_RAISED);
}

static void events_object(struct uverbs_file *f, uint16_t kind, void *obj, void *arg)
{
	struct events_run *r = arg;

	switch ((enum ib_event_type)r->ev.type) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_COMM_EST:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		if (kind == UVERBS_OBJECT_QP)
			events_qp(r, obj);
		break;
	case IB_EVENT_CQ_ERR:
		if (kind == UVERBS_OBJECT_CQ)
			events_cq(r, obj);
		break;
	case IB_EVENT_SRQ_ERR:
	case IB_EVENT_SRQ_LIMIT_REACHED:
		if (kind == UVERBS_OBJECT_SRQ)
			events_srq(r, obj);
		break;
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_PATH_MIG_ERR:
	case IB_EVENT_DEVICE_FATAL:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_WQ_FATAL:
		break;
	}
}

/* The port, the device or the objects of one context. */
static void events_file(struct events_run *r, struct efile *ef)
{
	struct rdev *dev = &ef->edev->dev;

	switch ((enum ib_event_type)r->ev.type) {
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
		if (!dev->port.ib) {
			events_took(r, PROC_OTHER_LINK);
			return;
		}
		/* fall through */
	case IB_EVENT_GID_CHANGE:
		events_log(dev, r->ev.type);
		uverbs_async_all(ef->uf, r->ev.type, DEV_PORT);
		events_took(r, PROC_RAISED);
		return;
	case IB_EVENT_DEVICE_FATAL:
		events_log(dev, r->ev.type);
		uverbs_disassociate(ef->uf);
		events_took(r, PROC_RAISED);
		return;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_WQ_FATAL:
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_PATH_MIG_ERR:
		return;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
	case IB_EVENT_COMM_EST:
	case IB_EVENT_QP_LAST_WQE_REACHED:
	case IB_EVENT_CQ_ERR:
	case IB_EVENT_SRQ_ERR:
	case IB_EVENT_SRQ_LIMIT_REACHED:
		break;
	}
	r->file = ef;
	uverbs_for_each_obj(ef->uf, events_object, r);
}

static bool events_selects(const struct host_event *ev, const struct efile *ef)
{
	if ((ev->proc && ev->proc != engine.proc) || ef->edev->dev.gone || uverbs_is_gone(ef->uf))
		return false;
	return !ev->dev || ev->dev == ef->edev->dev.index;
}

static void events_raise(const struct host_event *ev)
{
	struct proc_event *told = &engine.proc_page->event[ev->number % PROC_EVENTS];
	struct events_run r = { .ev = *ev, .refused = PROC_NO_OBJECT };
	struct efile *ef;

	list_for_each_entry(ef, &engine.files, entry)
		if (events_selects(ev, ef))
			events_file(&r, ef);
	told->raised = r.raised;
	told->refused = r.refused;
	smp_store_release(&told->number, ev->number);
}

void events_begin(void)
{
	engine.events_seen = READ_ONCE(engine.host_page->events);
}

void events_look(void)
{
	uint32_t last = READ_ONCE(engine.host_page->events);
	const struct host_page *copy;

	if (likely(last == engine.events_seen))
		return;
	copy = host_page_copy();
	if (!copy)
		return;
	/* The oldest have been overwritten if this process did not run for long. */
	if (copy->events - engine.events_seen > PROC_EVENTS)
		engine.events_seen = copy->events - PROC_EVENTS;
	while (engine.events_seen != copy->events) {
		const struct host_event *ev = &copy->event[++engine.events_seen % PROC_EVENTS];

		if (ev->number == engine.events_seen)
			events_raise(ev);
	}
}
