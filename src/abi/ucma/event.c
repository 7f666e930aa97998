/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events: from rdmacm into a file's queue, and from there to the program.
 *
 * ucma_event_handler() turns an event of rdmacm into a struct ucma_event of a context and appends
 * it to the queue of its file; for a file with shared memory, share.c moves it on to the ring. A
 * CONNECT_REQUEST first waits on its listener's `parked` list until the backlog has room
 * (ucma_unpark()). Reading an event counts it in events_reported of its id and frees it. Up to
 * IDLE_MAX freed events are kept for reuse.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "abi/ucma/share.h"
#include "abi/ucma/ucma_internal.h"
#include "abi/ucma/ucma_new.h"
#include "rdmacm/cma_why.h"
#include "rdmacm/stuck.h"

_Static_assert(sizeof(struct rdma_ucm_event_resp) == 336, "as librdmacm has it");

#define IDLE_MAX 256u

static struct ucma_event *event_alloc(struct ucma *u)
{
	struct ucma_event *ev;

	if (list_empty(&u->idle_events))
		return calloc(1, sizeof(*ev));
	ev = list_first_entry(&u->idle_events, struct ucma_event, list);
	list_del(&ev->list);
	u->nidle--;
	memset(ev, 0, sizeof(*ev));
	return ev;
}

static void event_free(struct ucma *u, struct ucma_event *ev)
{
	if (u->nidle >= IDLE_MAX) {
		free(ev);
		return;
	}
	list_add(&ev->list, &u->idle_events);
	u->nidle++;
}

void ucma_free_idle(struct ucma *u)
{
	struct ucma_event *ev, *n;

	list_for_each_entry_safe(ev, n, &u->idle_events, list)
		free(ev);
}

void ucma_add_event(struct ucma_file *f, struct ucma_event *ev)
{
	list_add_tail(&ev->list, &f->event_list);
	list_add_tail(&ev->own, &ev->ctx->events);
	f->nevents++;
	ucma_file_dirty(f);
	f->u->ops->added_events(f->u->ctx, f->host, 1);
}

void ucma_drop_event(struct ucma_file *f, struct ucma_event *ev)
{
	if (!ucma_withdraw(f, ev)) {	/* the program has already read it */
		ev->ctx->events_reported++;
		ev->ctx->uncounted = true;
		if (ev->mc)
			ev->mc->events_reported++;
	}
	list_del(&ev->list);
	list_del(&ev->own);
	if (ev->conn_req_ctx)
		ev->conn_req_ctx->request = NULL;
	f->nevents--;
	f->drained++;
	event_free(f->u, ev);
}

static void copy_conn(struct rdma_ucm_conn_param *dst, const struct rdma_conn_param *src)
{
	if (src->private_data_len)
		memcpy(dst->private_data, src->private_data, src->private_data_len);
	dst->private_data_len = src->private_data_len;
	dst->responder_resources = src->responder_resources;
	dst->initiator_depth = src->initiator_depth;
	dst->flow_control = src->flow_control;
	dst->retry_count = src->retry_count;
	dst->rnr_retry_count = src->rnr_retry_count;
	dst->srq = src->srq;
	dst->qp_num = src->qp_num;
}

static void copy_ud(struct rdma_ucm_ud_param *dst, const struct rdma_ud_param *src)
{
	if (src->private_data_len)
		memcpy(dst->private_data, src->private_data, src->private_data_len);
	dst->private_data_len = src->private_data_len;
	dst->ah_attr = src->ah_attr;
	dst->qp_num = src->qp_num;
	dst->qkey = src->qkey;
}

static bool is_failure(enum rdma_cm_event_type event)
{
	return event == RDMA_CM_EVENT_ADDR_ERROR || event == RDMA_CM_EVENT_ROUTE_ERROR ||
	       event == RDMA_CM_EVENT_CONNECT_ERROR || event == RDMA_CM_EVENT_UNREACHABLE ||
	       event == RDMA_CM_EVENT_REJECTED || event == RDMA_CM_EVENT_MULTICAST_ERROR;
}

static struct ucma_event *make_event(struct ucma_context *ctx, const struct rdma_cm_event *event)
{
	struct ucma_event *ev = event_alloc(ctx->file->u);

	if (!ev)
		return NULL;
	ev->ctx = ctx;
	ev->mc = event->mc;
	ev->resp.uid = ev->mc ? ev->mc->uid : ctx->uid;
	ev->resp.id = ev->mc ? ev->mc->id : ctx->id;
	ev->resp.event = event->event;
	ev->resp.status = (uint32_t)event->status;
	ev->since = rdmacm_now(ctx->file->u->rm);
	if (ctx->cm_id->qp_type == CMA_QPT_UD)
		copy_ud(&ev->resp.param.ud, &event->param.ud);
	else
		copy_conn(&ev->resp.param.conn, &event->param.conn);
	if (is_failure(event->event)) {
		ev->why = *rdmacm_why(ctx->file->u->rm);
		rdmacm_why(ctx->file->u->rm)->id = WHY_NONE;
	}
	ev->resp.ece.vendor_id = event->ece.vendor_id;
	ev->resp.ece.attr_mod = event->ece.attr_mod;
	return ev;
}

/* WRITE_CM_EVENT: queues an event made by the program. */
int ucma_write_cm_event(struct ucma_call *c)
{
	struct ucma_write_cm_event cmd;
	struct ucma_context *ctx;
	struct ucma_event *ev;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (ret)
		return ret;
	if (cmd.event != UCMA_EVENT_USER && cmd.event != UCMA_EVENT_INTERNAL)
		return -EINVAL;
	ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	/* Limit the memory of rused: the program chooses the number of these events. */
	if (ctx->file->nevents >= UCMA_MAX_PARKED)
		return -ENOMEM;
	ev = event_alloc(ctx->file->u);
	if (!ev)
		return -ENOMEM;
	ev->ctx = ctx;
	ev->resp.uid = ctx->uid;
	ev->resp.id = ctx->id;
	ev->resp.event = cmd.event;
	ev->resp.status = cmd.status;
	ev->since = rdmacm_now(c->file->u->rm);
	memcpy(&ev->resp.param, &cmd.param.arg, sizeof(cmd.param.arg));
	ucma_add_event(ctx->file, ev);
	return 0;
}

void ucma_unpark(struct ucma_context *ctx)
{
	while (ctx->backlog && !list_empty(&ctx->parked)) {
		struct ucma_event *ev = list_first_entry(&ctx->parked, struct ucma_event, list);

		list_del(&ev->list);
		ctx->nparked--;
		ctx->file->u->nparked--;
		ctx->backlog--;
		ucma_add_event(ctx->file, ev);
	}
}

/*
 * Handles a connection request: makes the context of the new id, and the event CONNECT_REQUEST of the
 * listener. On entry id->context is the listener's context. The event waits on the listener's `parked`
 * list until the backlog has room. If the peer repeats its REQ meanwhile, the CM answers with an MRA.
 * The kernel instead drops a REQ beyond the backlog, and the peer repeats it seconds later. -ENOMEM:
 * no memory, or UCMA_MAX_PARKED requests wait; the REQ is dropped, and the peer may repeat it.
 */
static int connect_request(struct rdma_cm_id *id, const struct rdma_cm_event *event)
{
	struct ucma_context *listen_ctx = id->context, *ctx;
	struct ucma_event *ev;

	if (listen_ctx->nparked >= UCMA_MAX_PARKED)
		return -ENOMEM;
	ev = make_event(listen_ctx, event);
	if (!ev)
		return -ENOMEM;
	ctx = ucma_alloc_ctx(listen_ctx->file);
	if (!ctx) {
		event_free(listen_ctx->file->u, ev);
		return -ENOMEM;
	}
	ctx->cm_id = id;
	id->context = ctx;
	ucma_dirty(ctx);
	ev->conn_req_ctx = ctx;
	ctx->request = ev;
	ev->resp.id = ctx->id;
	list_add_tail(&ev->list, &listen_ctx->parked);
	listen_ctx->nparked++;
	listen_ctx->file->u->nparked++;
	ucma_file_dirty(listen_ctx->file);
	ucma_unpark(listen_ctx);
	return 0;
}

/* True for events that follow from messages of the CM and leave addresses and paths unchanged. */
static bool of_connection(enum rdma_cm_event_type event)
{
	return event == RDMA_CM_EVENT_CONNECT_RESPONSE || event == RDMA_CM_EVENT_ESTABLISHED ||
	       event == RDMA_CM_EVENT_DISCONNECTED || event == RDMA_CM_EVENT_TIMEWAIT_EXIT;
}

int ucma_event_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct ucma_context *ctx = id->context;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return connect_request(id, event);
	if (of_connection(event->event))
		ucma_dirty_conn(ctx);
	else
		ucma_dirty(ctx);
	/*
	 * The id of a connection request has no uid before ACCEPT. Its events are dropped until then,
	 * because the program could not tell to which id they belong.
	 */
	if (ctx->uid) {
		struct ucma_event *ev = make_event(ctx, event);

		if (ev)
			ucma_add_event(ctx->file, ev);
	}
	if (event->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	/* The number of the id stays valid until DESTROY_ID. rdmacm destroys the rdma_cm_id when this returns an error. */
	ctx->cm_id = NULL;
	return -ENODEV;
}

void ucma_event_read(struct ucma_file *f, struct ucma_event *ev)
{
	struct ucma_context *listen_ctx =
		ev->resp.event == RDMA_CM_EVENT_CONNECT_REQUEST ? ev->ctx : NULL;

	ev->ctx->events_reported++;
	if (ev->mc)
		ev->mc->events_reported++;
	ucma_drop_event(f, ev);
	if (listen_ctx) {
		listen_ctx->backlog++;
		ucma_unpark(listen_ctx);
	}
}

int ucma_get_event(struct ucma_call *c)
{
	struct ucma_file *f = c->file;
	struct rdma_ucm_event_resp resp;
	struct rdma_ucm_get_event cmd;
	struct ucma_event *ev = NULL;
	int ret;

	/* Older forms of the structure end before `reserved` or before ECE. */
	if (c->out < sizeof(resp) - sizeof(resp.reserved) - sizeof(resp.ece))
		return -ENOSPC;
	ret = ucma_in(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!f->shm || !cmshare_take_event(f->shm, &resp, NULL)) {
		if (list_empty(&f->event_list))
			return -EAGAIN;
		ev = list_first_entry(&f->event_list, struct ucma_event, list);
		resp = ev->resp;
	}
	ucma_out(c, cmd.response, &resp, min((size_t)c->out, sizeof(resp)));
	if (ev) {
		ucma_dirty(ev->ctx);
		ucma_event_read(f, ev);
	} else {
		ucma_reap(f);
	}
	return 0;
}
