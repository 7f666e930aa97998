/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of rdma_cm commands (rows[]), open files and their ids.
 *
 * ucma_write() finds the row of a command in this table, runs its handler and returns its response; ucma_peek()
 * tells the process which of its memory a command needs. Both refuse an unknown command or a bad
 * header in find_row(); each handler checks the size of its own structure.
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

#define NO_RESPONSE 0xff
#define EVENT_MIN (sizeof(struct rdma_ucm_event_resp) - 12)	/* without reserved and ece */

struct row {
	int (*handler)(struct ucma_call *c);
	uint16_t size;		/* of the payload; ucma_peek() ignores shorter commands */
	uint8_t response;	/* offset of the response pointer in the payload */
	uint16_t out_max;	/* longest response in bytes */
};

#define ROW(fn, type, out) { fn, sizeof(struct type), offsetof(struct type, response), out }
#define ROW_SILENT(fn, type) { fn, sizeof(struct type), NO_RESPONSE, 0 }

static const struct row rows[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = ROW(ucma_create_id, rdma_ucm_create_id, 4),
	[RDMA_USER_CM_CMD_DESTROY_ID] = ROW(ucma_destroy_id, rdma_ucm_destroy_id, 4),
	[RDMA_USER_CM_CMD_BIND_IP] = ROW_SILENT(ucma_bind_ip, rdma_ucm_bind_ip),
	[RDMA_USER_CM_CMD_RESOLVE_IP] = ROW_SILENT(ucma_resolve_ip, rdma_ucm_resolve_ip),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = ROW_SILENT(ucma_resolve_route, rdma_ucm_resolve_route),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = ROW(ucma_query_route, rdma_ucm_query,
					     sizeof(struct rdma_ucm_query_route_resp)),
	[RDMA_USER_CM_CMD_CONNECT] = ROW_SILENT(ucma_connect, rdma_ucm_connect),
	[RDMA_USER_CM_CMD_LISTEN] = ROW_SILENT(ucma_listen, rdma_ucm_listen),
	[RDMA_USER_CM_CMD_ACCEPT] = ROW_SILENT(ucma_accept, rdma_ucm_accept),
	[RDMA_USER_CM_CMD_REJECT] = ROW_SILENT(ucma_reject, rdma_ucm_reject),
	[RDMA_USER_CM_CMD_DISCONNECT] = ROW_SILENT(ucma_disconnect, rdma_ucm_disconnect),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = ROW(ucma_init_qp_attr, rdma_ucm_init_qp_attr,
					      sizeof(struct ib_uverbs_qp_attr)),
	[RDMA_USER_CM_CMD_GET_EVENT] = ROW(ucma_get_event, rdma_ucm_get_event,
					   sizeof(struct rdma_ucm_event_resp)),
	[RDMA_USER_CM_CMD_GET_OPTION] = { NULL, 0, NO_RESPONSE, 0 },	/* not in the kernel */
	[RDMA_USER_CM_CMD_SET_OPTION] = ROW_SILENT(ucma_set_option, rdma_ucm_set_option),
	[RDMA_USER_CM_CMD_NOTIFY] = ROW_SILENT(ucma_notify, rdma_ucm_notify),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = ROW(ucma_join_ip_multicast, rdma_ucm_join_ip_mcast, 4),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = ROW(ucma_leave_multicast, rdma_ucm_destroy_id, 4),
	[RDMA_USER_CM_CMD_MIGRATE_ID] = ROW(ucma_migrate_id, rdma_ucm_migrate_id, 4),
	[RDMA_USER_CM_CMD_QUERY] = ROW(ucma_query, rdma_ucm_query, UCMA_RESPONSE_MAX),
	[RDMA_USER_CM_CMD_BIND] = ROW_SILENT(ucma_bind, rdma_ucm_bind),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = ROW_SILENT(ucma_resolve_addr, rdma_ucm_resolve_addr),
	[RDMA_USER_CM_CMD_JOIN_MCAST] = ROW(ucma_join_multicast, rdma_ucm_join_mcast, 4),
	[UCMA_CMD_RESOLVE_IB_SERVICE] = { ucma_resolve_ib_service, 4, NO_RESPONSE, 0 },
	[UCMA_CMD_WRITE_CM_EVENT] = ROW_SILENT(ucma_write_cm_event, ucma_write_cm_event),
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

void *ucma_context_host(const void *context)
{
	const struct ucma_context *ctx = context;

	return ctx->file->host;
}

unsigned int ucma_file_events(const struct ucma_file *f)
{
	return f->nevents;
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
	ucma_card_open(ctx);
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
	ucma_card_close(ctx);
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
		memcpy(c->card, data, c->len);
		return;
	}
	len = min(len, sizeof(r->data));
	r->response = response;
	r->len = (uint32_t)len;
	memcpy(r->data, data, len);
}

/* Decodes the header and finds the command's row in rows[]. 0, -EINVAL or -ENOSYS. */
static int find_row(const void *buf, size_t len, struct rdma_ucm_cmd_hdr *hdr,
		    const struct row **row)
{
	if (len < sizeof(*hdr))
		return -EINVAL;
	memcpy(hdr, buf, sizeof(*hdr));
	if (hdr->cmd >= ARRAY_SIZE(rows) || hdr->in + sizeof(*hdr) > len)
		return -EINVAL;
	*row = &rows[hdr->cmd];
	return (*row)->handler ? 0 : -ENOSYS;
}

ssize_t ucma_write(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *reply)
{
	uint32_t drained = f->drained, from_drained = cmd->from ? cmd->from->drained : 0;
	struct rdma_ucm_cmd_hdr hdr;
	const struct row *row;
	int ret;

	memset(reply, 0, offsetof(struct ucma_reply, data));
	rdmacm_why(f->u->rm)->id = WHY_NONE;
	ucma_reap(f);
	if (cmd->from)
		ucma_reap(cmd->from);
	ret = find_row(cmd->buf, cmd->len, &hdr, &row);
	if (ret && cmd->len >= sizeof(hdr)) {
		why_set(rdmacm_why(f->u->rm), CM_COMMAND, hdr.cmd,
			ret == -ENOSYS ? 1 : hdr.cmd < ARRAY_SIZE(rows) ? 2 : 0, hdr.in,
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

		ret = row->handler(&c);
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

void ucma_peek(const void *buf, size_t len, struct ucma_need *need)
{
	const uint8_t *payload = (const uint8_t *)buf + sizeof(struct rdma_ucm_cmd_hdr);
	struct rdma_ucm_cmd_hdr hdr;
	const struct row *row;

	memset(need, 0, sizeof(*need));
	if (find_row(buf, len, &hdr, &row) || len < sizeof(hdr) + row->size)
		return;
	if (row->response != NO_RESPONSE) {
		memcpy(&need->response, payload + row->response, 8);
		need->response_len = min(hdr.out, row->out_max);
	}
	if (hdr.cmd == RDMA_USER_CM_CMD_SET_OPTION) {
		struct rdma_ucm_set_option opt;

		memcpy(&opt, payload, sizeof(opt));
		need->optval = opt.optval;
		need->optlen = opt.optlen <= UCMA_OPTION_MAX ? opt.optlen : 0;
	} else if (hdr.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
		need->has_fd = true;
		memcpy(&need->fd, payload + offsetof(struct rdma_ucm_migrate_id, fd), 4);
	}
	need->get_event = hdr.cmd == RDMA_USER_CM_CMD_GET_EVENT && hdr.out >= EVENT_MIN;
}
