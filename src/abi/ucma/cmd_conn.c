/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handlers of the commands of a connection: LISTEN, CONNECT, ACCEPT, REJECT, DISCONNECT, INIT_QP_ATTR
 * and NOTIFY.
 */
#include <errno.h>
#include <string.h>
#include "abi/ucma/ucma_internal.h"
#include "core/qp_attr.h"
#include "rdmacm/cma_why.h"

static struct rdma_conn_param conn_param(const struct rdma_cm_id *id,
					 const struct rdma_ucm_conn_param *src)
{
	return (struct rdma_conn_param){
		.private_data = src->private_data,
		.private_data_len = src->private_data_len,
		.responder_resources = src->responder_resources,
		.initiator_depth = src->initiator_depth,
		.flow_control = src->flow_control,
		.retry_count = src->retry_count,
		.rnr_retry_count = src->rnr_retry_count,
		.srq = src->srq,
		.qp_num = src->qp_num & 0xffffff,
		.qkey = id->src.ss_family == AF_IB ? src->qkey : 0,
	};
}

/*
 * Copies the structure of CONNECT or ACCEPT, whose older form ends before ECE. The header's `in`
 * gives the length that the program has written: at least `fixed` bytes. The rest is set to zero.
 */
static int grown_in(const struct ucma_call *c, void *to, size_t size, size_t fixed)
{
	if (c->in < fixed) {
		why_set(rdmacm_why(c->file->u->rm), CM_SHORT, c->in, fixed);
		return -EINVAL;
	}
	memset(to, 0, size);
	return ucma_in(c, to, min((size_t)c->in, size));
}

#define END_OF(type, member) (offsetof(struct type, member) + sizeof(((struct type *)0)->member))

static struct cm_ece ece_of(const struct ucma_call *c, const struct rdma_ucm_ece *ece, size_t end)
{
	if (c->in < end)	/* `in` ends before or within ECE: no ECE */
		return (struct cm_ece){ 0 };
	return (struct cm_ece){ .vendor_id = ece->vendor_id, .attr_mod = ece->attr_mod };
}

int ucma_connect(struct ucma_call *c)
{
	struct rdma_conn_param param;
	struct rdma_ucm_connect cmd;
	struct ucma_context *ctx;
	int ret = grown_in(c, &cmd, sizeof(cmd), END_OF(rdma_ucm_connect, reserved));

	if (!ret && !cmd.conn_param.valid)
		ret = -EINVAL;
	if (!ret)
		ret = ucma_get_ctx_conn(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	param = conn_param(ctx->cm_id, &cmd.conn_param);
	return rdma_connect_ece(ctx->cm_id, &param,
				ece_of(c, &cmd.ece, END_OF(rdma_ucm_connect, ece)));
}

int ucma_listen(struct ucma_call *c)
{
	struct rdma_ucm_listen cmd;
	struct ucma_context *ctx;
	int backlog, ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	backlog = (int)cmd.backlog;
	if (backlog <= 0 || backlog > UCMA_MAX_BACKLOG)
		backlog = UCMA_MAX_BACKLOG;
	ctx->backlog = (uint32_t)backlog;
	return rdma_listen(ctx->cm_id, backlog);
}

int ucma_accept(struct ucma_call *c)
{
	struct rdma_conn_param param;
	struct rdma_ucm_accept cmd;
	struct ucma_context *ctx;
	struct cm_ece ece;
	int ret = grown_in(c, &cmd, sizeof(cmd), END_OF(rdma_ucm_accept, reserved));

	if (!ret)
		ret = ucma_get_ctx_conn(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	ece = ece_of(c, &cmd.ece, END_OF(rdma_ucm_accept, ece));
	if (!cmd.conn_param.valid)
		return rdma_accept_ece(ctx->cm_id, NULL, ece);
	param = conn_param(ctx->cm_id, &cmd.conn_param);
	ret = rdma_accept_ece(ctx->cm_id, &param, ece);
	if (!ret)
		ctx->uid = cmd.uid;	/* events of an id are queued only if it has a uid */
	return ret;
}

int ucma_reject(struct ucma_call *c)
{
	struct rdma_ucm_reject cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (ret)
		return ret;
	if (!cmd.reason)
		cmd.reason = IB_CM_REJ_CONSUMER_DEFINED;
	if (cmd.reason != IB_CM_REJ_CONSUMER_DEFINED &&
	    cmd.reason != IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		return -EINVAL;
	ret = ucma_get_ctx_dev(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	return rdma_reject(ctx->cm_id, cmd.private_data, cmd.private_data_len, cmd.reason);
}

int ucma_disconnect(struct ucma_call *c)
{
	struct rdma_ucm_disconnect cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret)
		ret = ucma_get_ctx_conn(c->file, cmd.id, &ctx);
	return ret ? ret : rdma_disconnect(ctx->cm_id);
}

int ucma_qp_attr(const struct ucma_context *ctx, uint32_t qp_state, struct ib_uverbs_qp_attr *attr)
{
	if (!ctx->cm_id->device)
		return -EINVAL;
	*attr = (struct ib_uverbs_qp_attr){ .qp_state = qp_state };
	return rdma_init_qp_attr(ctx->cm_id, attr);
}

int ucma_init_qp_attr(struct ucma_call *c)
{
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_init_qp_attr cmd;
	struct ucma_context *ctx;
	int ret;

	if (c->out < sizeof(attr))
		return -ENOSPC;
	ret = ucma_in(c, &cmd, sizeof(cmd));
	if (!ret && cmd.qp_state > QPS_ERR)
		ret = -EINVAL;
	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	ret = ucma_qp_attr(ctx, cmd.qp_state, &attr);
	if (!ret)
		ucma_out(c, cmd.response, &attr, sizeof(attr));
	return ret;
}

int ucma_notify(struct ucma_call *c)
{
	struct rdma_ucm_notify cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (!ret && !ctx->cm_id->device)
		ret = -EINVAL;
	return ret ? ret : rdma_notify(ctx->cm_id, cmd.event);
}

/*
 * In the kernel this command asks the SA for a service record. It is not supported here: RoCE has no
 * SA, and ruse does not send such a query to the SA of a simulated InfiniBand fabric.
 */
int ucma_resolve_ib_service(struct ucma_call *c)
{
	struct ucma_context *ctx;
	uint32_t id;
	int ret = ucma_in(c, &id, sizeof(id));

	if (!ret)
		ret = ucma_get_ctx(c->file, id, &ctx);
	if (!ret)
		ret = ctx->cm_id->device ? -EOPNOTSUPP : -EINVAL;
	return ret;
}
