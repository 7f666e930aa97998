/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of rdma_cm commands (handlers[]), open files and their ids.
 *
 * ucma_write() finds the handler of a command in this table, runs it and returns its response. Each handler
 * checks the size of its own structure. Where a response goes and how long it is: cmshare/ucma_response.h.
 *
 * An open file owns its ids (struct ucma_context) and their events. Ids of all files are numbered in
 * one table. Destroying an id drops its events. For a listener it also destroys the new ids of those
 * connection requests that the program has not read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "abi/ucma/share.h"
#include "abi/ucma/ucma_internal.h"
#include "abi/ucma/ucma_new.h"
#include "rdmacm/cma_why.h"

typedef int (*ucma_handler)(struct ucma_call *c);

/* NULL: the ABI has a number for the command, and the kernel no handler. */
static const ucma_handler handlers[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = ucma_create_id,
	[RDMA_USER_CM_CMD_DESTROY_ID] = ucma_destroy_id,
	[RDMA_USER_CM_CMD_BIND_IP] = ucma_bind_ip,
	[RDMA_USER_CM_CMD_RESOLVE_IP] = ucma_resolve_ip,
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = ucma_resolve_route,
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = ucma_query_route,
	[RDMA_USER_CM_CMD_CONNECT] = ucma_connect,
	[RDMA_USER_CM_CMD_LISTEN] = ucma_listen,
	[RDMA_USER_CM_CMD_ACCEPT] = ucma_accept,
	[RDMA_USER_CM_CMD_REJECT] = ucma_reject,
	[RDMA_USER_CM_CMD_DISCONNECT] = ucma_disconnect,
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = ucma_init_qp_attr,
	[RDMA_USER_CM_CMD_GET_EVENT] = ucma_get_event,
	[RDMA_USER_CM_CMD_GET_OPTION] = NULL,
	[RDMA_USER_CM_CMD_SET_OPTION] = ucma_set_option,
	[RDMA_USER_CM_CMD_NOTIFY] = ucma_notify,
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = ucma_join_ip_multicast,
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = ucma_leave_multicast,
	[RDMA_USER_CM_CMD_MIGRATE_ID] = ucma_migrate_id,
	[RDMA_USER_CM_CMD_QUERY] = ucma_query,
	[RDMA_USER_CM_CMD_BIND] = ucma_bind,
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = ucma_resolve_addr,
	[RDMA_USER_CM_CMD_JOIN_MCAST] = ucma_join_multicast,
	[UCMA_CMD_RESOLVE_IB_SERVICE] = ucma_resolve_ib_service,
	[UCMA_CMD_WRITE_CM_EVENT] = ucma_write_cm_event,
};

struct ucma *ucma_create(struct rdmacm *rm, const struct ucma_ops *ops, void *ctx)
{
	struct ucma *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->rm = rm;
	u->ops = ops;
	u->ctx = ctx;
	idtable_init(&u->ctx_table, UCMA_MAX_IDS);
	idtable_init(&u->multicast_table, UCMA_MAX_IDS);
	list_init(&u->dirty);
	list_init(&u->dirty_files);
	list_init(&u->idle_events);
	return u;
}

void ucma_destroy(struct ucma *u)
{
	if (!u)
		return;
	BUG_ON(u->files);
	ucma_free_idle(u);
	idtable_fini(&u->ctx_table);
	idtable_fini(&u->multicast_table);
	free(u);
}

struct ucma_file *ucma_file_open(struct ucma *u, void *host, bool may_bind)
{
	struct ucma_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->u = u;
	f->host = host;
	f->may_bind = may_bind;
	list_init(&f->ctx_list);
	list_init(&f->event_list);
	list_init(&f->dirty);
	u->files++;
	return f;
}

void ucma_file_close(struct ucma_file *f)
{
	ucma_reap(f);
	while (!list_empty(&f->ctx_list))
		ucma_destroy_ctx(list_first_entry(&f->ctx_list, struct ucma_context, list));
	BUG_ON(!list_empty(&f->event_list));
	list_del(&f->dirty);
	f->u->files--;
	free(f);
}

void *ucma_context_cookie(const void *context)
{
	const struct ucma_context *ctx = context;

	return ctx->file->host;
}

static int find_ctx(struct ucma_file *f, uint32_t id, struct ucma_context **ctx)
{
	*ctx = idtable_find(&f->u->ctx_table, id);
	if (!*ctx || (*ctx)->file != f) {
		why_set(rdmacm_why(f->u->rm), CM_ID, id, *ctx ? 1 : 0);
		return *ctx ? -EINVAL : -ENOENT;
	}
	return (*ctx)->cm_id ? 0 : -ENXIO;
}

int ucma_get_ctx(struct ucma_file *f, uint32_t id, struct ucma_context **ctx)
{
	int ret = find_ctx(f, id, ctx);

	if (!ret || ret == -ENXIO)
		ucma_dirty(*ctx);
	return ret;
}

int ucma_get_ctx_conn(struct ucma_file *f, uint32_t id, struct ucma_context **ctx)
{
	int ret = find_ctx(f, id, ctx);

	if (ret)
		return ret;
	ucma_dirty_conn(*ctx);
	return (*ctx)->cm_id->device ? 0 : cma_why_no_device((*ctx)->cm_id);
}

int ucma_get_ctx_dev(struct ucma_file *f, uint32_t id, struct ucma_context **ctx)
{
	int ret = ucma_get_ctx(f, id, ctx);

	return ret || (*ctx)->cm_id->device ? ret : cma_why_no_device((*ctx)->cm_id);
}

struct ucma_context *ucma_alloc_ctx(struct ucma_file *f)
{
	struct ucma_context *ctx = calloc(1, sizeof(*ctx));
	int64_t id = ctx ? idtable_alloc(&f->u->ctx_table, ctx) : -ENOMEM;

	if (id < 0) {
		free(ctx);
		return NULL;
	}
	ctx->id = (uint32_t)id;
	ctx->file = f;
	list_init(&ctx->mc_list);
	list_init(&ctx->events);
	list_init(&ctx->parked);
	list_init(&ctx->dirty);
	list_add_tail(&ctx->list, &f->ctx_list);
	ucma_rec_open(ctx);
	return ctx;
}

/* Drops the events of an id, and destroys the new ids of unread connection requests. */
static void cleanup_events(struct ucma_context *ctx)
{
	struct ucma_event *ev, *n;
	struct list_head requests;

	list_init(&requests);
	ctx->backlog = UINT32_MAX;	/* moves all connection requests on ctx->parked to the file's queue */
	ucma_unpark(ctx);
	list_for_each_entry_safe(ev, n, &ctx->events, own) {
		if (!ucma_withdraw(ctx->file, ev)) {
			ucma_event_read(ctx->file, ev);
			continue;
		}
		if (ev->conn_req_ctx) {
			list_del(&ev->conn_req_ctx->list);
			list_add_tail(&ev->conn_req_ctx->list, &requests);
		}
		ucma_drop_event(ctx->file, ev);
	}
	while (!list_empty(&requests))
		ucma_destroy_ctx(list_first_entry(&requests, struct ucma_context, list));
}

uint32_t ucma_destroy_ctx(struct ucma_context *ctx)
{
	struct ucma *u = ctx->file->u;
	uint32_t reported;

	idtable_remove(&u->ctx_table, ctx->id);
	if (ctx->request)	/* the unread CONNECT_REQUEST must not refer to the destroyed id */
		ctx->request->conn_req_ctx = NULL;
	if (ctx->cm_id)
		rdma_destroy_id(ctx->cm_id);
	ctx->cm_id = NULL;
	list_del(&ctx->list);
	cleanup_events(ctx);
	while (!list_empty(&ctx->mc_list)) {
		struct ucma_multicast *mc =
			list_first_entry(&ctx->mc_list, struct ucma_multicast, list);

		list_del(&mc->list);
		idtable_remove(&u->multicast_table, mc->id);
		free(mc);
	}
	reported = ctx->events_reported;
	ucma_rec_close(ctx);
	free(ctx);
	return reported;
}

int ucma_in(const struct ucma_call *c, void *to, size_t size)
{
	if (c->avail < size) {
		why_set(rdmacm_why(c->file->u->rm), CM_SHORT, c->avail, size);
		return -EINVAL;
	}
	memcpy(to, c->payload, size);
	return 0;
}

void ucma_out(struct ucma_call *c, uint64_t response, const void *data, size_t len)
{
	struct ucma_reply *r = c->reply;

	if (!r) {
		c->len = (uint32_t)min(len, (size_t)c->out);
		memcpy(c->rec, data, c->len);
		return;
	}
	len = min(len, sizeof(r->data));
	r->response = response;
	r->len = (uint32_t)len;
	memcpy(r->data, data, len);
}

/* Decodes the header and finds the command's handler. 0, -EINVAL or -ENOSYS. */
static int find_handler(const void *buf, size_t len, struct rdma_ucm_cmd_hdr *hdr,
			ucma_handler *handler)
{
	if (len < sizeof(*hdr))
		return -EINVAL;
	memcpy(hdr, buf, sizeof(*hdr));
	if (hdr->cmd >= ARRAY_SIZE(handlers) || hdr->in + sizeof(*hdr) > len)
		return -EINVAL;
	*handler = handlers[hdr->cmd];
	return *handler ? 0 : -ENOSYS;
}

ssize_t ucma_write(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *reply)
{
	uint32_t drained = f->drained, from_drained = cmd->from ? cmd->from->drained : 0;
	struct rdma_ucm_cmd_hdr hdr;
	ucma_handler handler;
	int ret;

	memset(reply, 0, offsetof(struct ucma_reply, data));
	rdmacm_why(f->u->rm)->id = WHY_NONE;
	ucma_reap(f);
	if (cmd->from)
		ucma_reap(cmd->from);
	ret = find_handler(cmd->buf, cmd->len, &hdr, &handler);
	if (ret && cmd->len >= sizeof(hdr)) {
		why_set(rdmacm_why(f->u->rm), CM_COMMAND, hdr.cmd,
			ret == -ENOSYS ? 1 : hdr.cmd < ARRAY_SIZE(handlers) ? 2 : 0, hdr.in,
			cmd->len - sizeof(hdr));
	} else if (!ret) {
		struct ucma_call c = {
			.file = f,
			.cmd = cmd,
			.payload = (const uint8_t *)cmd->buf + sizeof(hdr),
			.avail = cmd->len - sizeof(hdr),
			.in = hdr.in,
			.out = hdr.out,
			.reply = reply,
		};

		ret = handler(&c);
	}
	ucma_file_dirty(f);
	reply->drained = f->drained - drained;
	if (cmd->from && cmd->from != f)
		reply->from_drained = cmd->from->drained - from_drained;
	if (ret)
		reply->why = *rdmacm_why(f->u->rm);
	/* A later event must not take it for its own. */
	rdmacm_why(f->u->rm)->id = WHY_NONE;
	return ret ? ret : (ssize_t)cmd->len;
}
