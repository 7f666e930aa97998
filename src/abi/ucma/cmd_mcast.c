/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* JOIN_IP_MCAST (old form), JOIN_MCAST, LEAVE_MCAST. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "abi/ucma/ucma_internal.h"

#define FULLMEMBER_JOIN 0
#define SENDONLY_FULLMEMBER_JOIN 3

static struct ucma_multicast *mc_create(struct ucma_context *ctx,
					const struct rdma_ucm_join_mcast *cmd)
{
	struct ucma_multicast *mc = calloc(1, sizeof(*mc));
	int64_t id = mc ? idtable_alloc(&ctx->file->u->multicast_table, mc) : -ENOMEM;

	if (id < 0) {
		free(mc);
		return NULL;
	}
	mc->id = (uint32_t)id;
	mc->ctx = ctx;
	mc->uid = cmd->uid;
	memcpy(&mc->addr, &cmd->addr, cmd->addr_size);
	list_add_tail(&mc->list, &ctx->mc_list);
	return mc;
}

static void mc_free(struct ucma_multicast *mc)
{
	list_del(&mc->list);
	idtable_remove(&mc->ctx->file->u->multicast_table, mc->id);
	free(mc);
}

static void mc_drop_events(struct ucma_multicast *mc)
{
	struct ucma_file *f = mc->ctx->file;
	struct ucma_event *ev, *n;

	list_for_each_entry_safe(ev, n, &mc->ctx->events, own)
		if (ev->mc == mc)
			ucma_drop_event(f, ev);
}

static int process_join(struct ucma_call *c, const struct rdma_ucm_join_mcast *cmd)
{
	struct rdma_ucm_create_id_resp resp;
	struct ucma_multicast *mc;
	struct ucma_context *ctx;
	uint8_t join_state;
	int ret;

	if (c->out < sizeof(resp))
		return -ENOSPC;
	if (cmd->addr_size != rdma_addr_size((const struct sockaddr *)&cmd->addr))
		return -EINVAL;
	if (cmd->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER)
		join_state = 1 << FULLMEMBER_JOIN;
	else if (cmd->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		join_state = 1 << SENDONLY_FULLMEMBER_JOIN;
	else
		return -EINVAL;
	ret = ucma_get_ctx_dev(c->file, cmd->id, &ctx);
	if (ret)
		return ret;
	mc = mc_create(ctx, cmd);
	if (!mc)
		return -ENOMEM;
	ret = rdma_join_multicast(ctx->cm_id, (struct sockaddr *)&mc->addr, join_state, mc);
	if (ret) {
		mc_free(mc);
		return ret;
	}
	resp.id = mc->id;
	ucma_out(c, cmd->response, &resp, sizeof(resp));
	return 0;
}

int ucma_join_ip_multicast(struct ucma_call *c)
{
	struct rdma_ucm_join_mcast join = { 0 };
	struct rdma_ucm_join_ip_mcast cmd;
	int ret = ucma_in(c, &cmd, sizeof(cmd));
	size_t size;

	if (ret)
		return ret;
	size = rdma_addr_size((struct sockaddr *)&cmd.addr);
	if (!size || size > sizeof(cmd.addr))
		return -EINVAL;
	join.response = cmd.response;
	join.uid = cmd.uid;
	join.id = cmd.id;
	join.addr_size = (uint16_t)size;
	join.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	memcpy(&join.addr, &cmd.addr, size);
	return process_join(c, &join);
}

int ucma_join_multicast(struct ucma_call *c)
{
	struct rdma_ucm_join_mcast cmd;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret && !rdma_addr_size((struct sockaddr *)&cmd.addr))
		ret = -EINVAL;
	return ret ? ret : process_join(c, &cmd);
}

int ucma_leave_multicast(struct ucma_call *c)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd;
	struct ucma_multicast *mc;
	int ret;

	if (c->out < sizeof(resp))
		return -ENOSPC;
	ret = ucma_in(c, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	mc = idtable_find(&c->file->u->multicast_table, cmd.id);
	if (!mc)
		return -ENOENT;
	if (mc->ctx->file != c->file)
		return -EINVAL;
	if (!mc->ctx->cm_id)
		return -ENXIO;
	rdma_leave_multicast(mc->ctx->cm_id, (struct sockaddr *)&mc->addr);
	mc_drop_events(mc);
	resp.events_reported = mc->events_reported;
	mc_free(mc);
	ucma_out(c, cmd.response, &resp, sizeof(resp));
	return 0;
}
