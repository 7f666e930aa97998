/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that create, destroy, bind and resolve ids, that set options, and MIGRATE_ID.
 *
 * A handler copies its structure with ucma_in(), checks it in the kernel's order, finds the id with
 * ucma_get_ctx*() and calls the function of rdmacm. SET_OPTION that sets an IB path also queues the
 * event ROUTE_RESOLVED. MIGRATE_ID moves an id, its unread events and the new ids of its connection
 * requests to another file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "abi/ucma/share.h"
#include "abi/ucma/ucma_internal.h"
#include "rdmacm/cma_why.h"

#define IB_PATH_WANTED (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

static struct sockaddr *ucma_id_sa(void *addr)
{
	return addr;
}

/*
 * Length of an IPv4 or IPv6 address, as the kernel's rdma_addr_size_in6(). 0 for any other family,
 * also for AF_IB, whose address is longer than a sockaddr_in6.
 */
static size_t size_in6(struct sockaddr_in6 *addr)
{
	size_t size = rdma_addr_size(ucma_id_sa(addr));

	return size <= sizeof(*addr) ? size : 0;
}

static int qp_type_of(const struct rdma_ucm_create_id *cmd, uint8_t *qp_type)
{
	switch (cmd->ps) {
	case RDMA_PS_TCP:
		*qp_type = CMA_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*qp_type = CMA_QPT_UD;
		return 0;
	case RDMA_PS_IB:
		*qp_type = cmd->qp_type;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Creates the rdma_cm_id of a context. 0, -EINVAL, -ENOMEM. */
static int make_id(struct ucma_context *ctx, const struct rdma_ucm_create_id *cmd)
{
	struct ucma_file *f = ctx->file;
	uint8_t qp_type;
	int ret = qp_type_of(cmd, &qp_type);

	if (ret)
		return ret;
	ctx->uid = cmd->uid;
	ctx->cm_id = rdma_create_user_id(f->u->rm, ucma_event_handler, ctx, cmd->ps, qp_type);
	if (!ctx->cm_id)
		return -ENOMEM;
	ctx->cm_id->may_bind = f->may_bind;
	if (f->u->ops->pid)
		ctx->cm_id->pid = (uint32_t)f->u->ops->pid(f->host);
	return 0;
}

int ucma_create_id(struct ucma_call *c)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd;
	struct ucma_context *ctx;
	int ret;

	if (c->out < sizeof(resp))
		return -ENOSPC;
	ret = ucma_in(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ctx = ucma_alloc_ctx(c->file);
	if (!ctx)
		return -ENOMEM;
	ret = make_id(ctx, &cmd);
	if (ret) {
		ucma_destroy_ctx(ctx);
		return ret;
	}
	resp.id = ctx->id;
	ucma_out(c, cmd.response, &resp, sizeof(resp));
	return 0;
}

int ucma_destroy_id(struct ucma_call *c)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd;
	struct ucma_context *ctx;
	int ret;

	if (c->out < sizeof(resp))
		return -ENOSPC;
	ret = ucma_in(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (ret && ret != -ENXIO)	/* -ENXIO, device gone: the id can still be destroyed */
		return ret;
	resp.events_reported = ucma_destroy_ctx(ctx);
	ucma_out(c, cmd.response, &resp, sizeof(resp));
	return 0;
}

int ucma_bind_ip(struct ucma_call *c)
{
	struct rdma_ucm_bind_ip cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && !size_in6(&cmd.addr))
		ret = -EINVAL;
	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	return ret ? ret : rdma_bind_addr(ctx->cm_id, ucma_id_sa(&cmd.addr));
}

int ucma_bind(struct ucma_call *c)
{
	struct rdma_ucm_bind cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && (cmd.reserved || !cmd.addr_size ||
		     cmd.addr_size != rdma_addr_size(ucma_id_sa(&cmd.addr))))
		ret = -EINVAL;
	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	return ret ? ret : rdma_bind_addr(ctx->cm_id, ucma_id_sa(&cmd.addr));
}

static int ucma_id_resolve(struct ucma_call *c, uint32_t id, struct sockaddr *src,
			   struct sockaddr *dst, uint32_t timeout_ms)
{
	struct ucma_context *ctx;
	int ret = ucma_get_ctx(c->file, id, &ctx);

	return ret ? ret : rdma_resolve_addr(ctx->cm_id, src, dst, timeout_ms);
}

int ucma_resolve_ip(struct ucma_call *c)
{
	struct rdma_ucm_resolve_ip cmd;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && ((cmd.src_addr.sin6_family && !size_in6(&cmd.src_addr)) ||
		     !size_in6(&cmd.dst_addr)))
		ret = -EINVAL;
	return ret ? ret :
		     ucma_id_resolve(c, cmd.id, ucma_id_sa(&cmd.src_addr),
				     ucma_id_sa(&cmd.dst_addr), cmd.timeout_ms);
}

int ucma_resolve_addr(struct ucma_call *c)
{
	struct rdma_ucm_resolve_addr cmd;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && (cmd.reserved ||
		     (cmd.src_size && cmd.src_size != rdma_addr_size(ucma_id_sa(&cmd.src_addr))) ||
		     !cmd.dst_size || cmd.dst_size != rdma_addr_size(ucma_id_sa(&cmd.dst_addr))))
		ret = -EINVAL;
	return ret ? ret :
		     ucma_id_resolve(c, cmd.id, ucma_id_sa(&cmd.src_addr),
				     ucma_id_sa(&cmd.dst_addr), cmd.timeout_ms);
}

int ucma_resolve_route(struct ucma_call *c)
{
	struct rdma_ucm_resolve_route cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret)
		ret = ucma_get_ctx_dev(c->file, cmd.id, &ctx);
	return ret ? ret : rdma_resolve_route(ctx->cm_id, cmd.timeout_ms);
}

/* Sets an option of level RDMA_OPTION_ID. Each option has one valid length; any other is -EINVAL. */
static int set_option_id_value(struct ucma_context *ctx, uint32_t name, const void *val, size_t len)
{
	int on = 0;

	switch (name) {
	case RDMA_OPTION_ID_TOS:
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (len != 1)
			return -EINVAL;
		if (name == RDMA_OPTION_ID_ACK_TIMEOUT)
			return rdma_set_ack_timeout(ctx->cm_id, *(const uint8_t *)val);
		rdma_set_service_type(ctx->cm_id, *(const uint8_t *)val);
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
	case RDMA_OPTION_ID_AFONLY:
		if (len != sizeof(on))
			return -EINVAL;
		memcpy(&on, val, sizeof(on));
		return name == RDMA_OPTION_ID_AFONLY ? rdma_set_afonly(ctx->cm_id, on) :
						       rdma_set_reuseaddr(ctx->cm_id, on);
	default:
		return -ENOSYS;
	}
}

static int set_option_id(struct ucma_context *ctx, uint32_t name, const void *val, size_t len)
{
	struct why *why = rdmacm_why(ctx->file->u->rm);
	int ret = set_option_id_value(ctx, name, val, len);

	if (ret == -ENOSYS)
		why_set(why, CM_OPTION, RDMA_OPTION_ID, name);
	else if (ret == -EINVAL)
		why_set(why, CM_OPTION_LENGTH, name, len);
	return ret;
}

/*
 * Sets the id's path to that of the first record whose flags equal IB_PATH_WANTED; -EINVAL if there is
 * none. As in the kernel, setting the path also queues the event ROUTE_RESOLVED.
 */
static int set_ib_path(struct ucma_context *ctx, const uint8_t *val, size_t len)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ROUTE_RESOLVED };
	struct ib_path_rec_data rec = { 0 };
	struct sa_path_rec path;
	int ret;

	if (len % sizeof(rec))
		return -EINVAL;
	for (; len; len -= sizeof(rec), val += sizeof(rec)) {
		memcpy(&rec, val, sizeof(rec));
		if (rec.flags == IB_PATH_WANTED)
			break;
	}
	if (!len || !ctx->cm_id->device)
		return -EINVAL;
	ib_sa_unpack_path((const uint8_t *)rec.path_rec, &path);
	ret = rdma_set_ib_path(ctx->cm_id, &path);
	return ret ? ret : ucma_event_handler(ctx->cm_id, &event);
}

int ucma_set_option(struct ucma_call *c)
{
	struct rdma_ucm_set_option cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && cmd.optlen > UCMA_OPTION_MAX)
		ret = -EINVAL;
	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (!ret && cmd.optlen && (!c->cmd->opt || c->cmd->opt_len < cmd.optlen))
		ret = -EFAULT;
	if (ret)
		return ret;
	switch (cmd.level) {
	case RDMA_OPTION_ID:
		return set_option_id(ctx, cmd.optname, c->cmd->opt, cmd.optlen);
	case RDMA_OPTION_IB:
		return cmd.optname == RDMA_OPTION_IB_PATH ?
			       set_ib_path(ctx, c->cmd->opt, cmd.optlen) : -ENOSYS;
	default:
		return -ENOSYS;
	}
}

static void move_request(struct ucma_event *ev, struct ucma_file *to)
{
	ev->conn_req_ctx->file = to;
	ucma_moved(ev->conn_req_ctx);
	list_del(&ev->conn_req_ctx->list);
	list_add_tail(&ev->conn_req_ctx->list, &to->ctx_list);
}

/* Connection requests that the old file has not read move too. The kernel loses them. */
static void move_events(struct ucma_context *ctx, struct ucma_file *from, struct ucma_file *to)
{
	struct list_head *last = ctx->events.prev;
	struct ucma_event *ev, *n;

	list_for_each_entry_safe(ev, n, &ctx->events, own) {
		bool end = &ev->own == last;

		if (!ucma_withdraw(from, ev)) {
			ctx->uncounted = true;
			ucma_event_read(from, ev);
			if (end)
				break;
			continue;
		}
		list_del(&ev->list);
		if (from == to) {
			list_add_tail(&ev->list, &to->event_list);
			ucma_file_dirty(to);
			continue;
		}
		list_del(&ev->own);
		from->nevents--;
		from->drained++;
		if (ev->conn_req_ctx)
			move_request(ev, to);
		ucma_add_event(to, ev);	/* appends to ctx->events: the loop ends at `last` */
		if (end)
			break;
	}
	list_for_each_entry(ev, &ctx->parked, list)
		if (ev->conn_req_ctx)
			move_request(ev, to);
}

int ucma_migrate_id(struct ucma_call *c)
{
	struct ucma_file *from = c->cmd->from, *to = c->file;
	struct rdma_ucm_migrate_resp resp;
	struct rdma_ucm_migrate_id cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && !from)
		ret = c->cmd->from_err ? c->cmd->from_err : -ENOENT;
	if (!ret)
		ret = ucma_get_ctx(from, cmd.id, &ctx);
	if (ret)
		return ret;
	ctx->file = to;
	ucma_moved(ctx);
	list_del(&ctx->list);
	list_add_tail(&ctx->list, &to->ctx_list);
	move_events(ctx, from, to);
	ucma_file_dirty(from);
	resp.events_reported = ctx->events_reported;
	ucma_out(c, cmd.response, &resp, sizeof(resp));
	return 0;
}
