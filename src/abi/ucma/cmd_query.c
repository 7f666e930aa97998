/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handlers of QUERY and of its older form QUERY_ROUTE, which return addresses, paths and GIDs of an id. */
#include <errno.h>
#include <string.h>
#include "wire/be.h"
#include "abi/ucma/ucma_internal.h"

#define IB_PATH_FLAGS (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL)

static const struct sockaddr *ucma_query_sa(const struct sockaddr_storage *s)
{
	return (const struct sockaddr *)s;
}

/* ib_copy_path_rec_to_user() */
static void copy_path(struct ib_user_path_rec *dst, const struct sa_path_rec *src)
{
	memcpy(dst->dgid, src->dgid, 16);
	memcpy(dst->sgid, src->sgid, 16);
	put_be16(&dst->dlid, src->dlid);
	put_be16(&dst->slid, src->slid);
	dst->raw_traffic = src->raw_traffic;
	put_be32(&dst->flow_label, src->flow_label);
	dst->hop_limit = src->hop_limit;
	dst->traffic_class = src->traffic_class;
	dst->reversible = src->reversible;
	dst->numb_path = src->numb_path;
	put_be16(&dst->pkey, src->pkey);
	dst->sl = src->sl;
	dst->mtu_selector = src->mtu_selector;
	dst->mtu = src->mtu;
	dst->rate_selector = src->rate_selector;
	dst->rate = src->rate;
	dst->packet_life_time_selector = src->packet_life_time_selector;
	dst->packet_life_time = src->packet_life_time;
	dst->preference = src->preference;
}

/*
 * Fills the paths of the response, as the kernel's ucma_copy_iboe_route(). If the id has no path yet,
 * ib_route[0] gets the GIDs and the P_Key that are known so far.
 */
static void copy_route(struct rdma_ucm_query_route_resp *resp, const struct rdma_cm_id *id)
{
	resp->num_paths = id->num_paths;
	for (unsigned int i = 0; i < min(id->num_paths, 2u); i++)
		copy_path(&resp->ib_route[i], &id->path[i]);
	if (!id->num_paths) {
		rdma_read_gids(id, resp->ib_route[0].sgid, resp->ib_route[0].dgid);
		put_be16(&resp->ib_route[0].pkey, id->device->ib.host ? id->pkey : 0xffff);
	}
}

static void copy_addr6(struct sockaddr_in6 *dst, const struct sockaddr_storage *src)
{
	memcpy(dst, src, src->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(*dst));
}

int ucma_query_route(struct ucma_call *c)
{
	struct rdma_ucm_query_route_resp resp = { 0 };
	struct rdma_ucm_query cmd;
	struct ucma_context *ctx;
	struct rdma_cm_id *id;
	int ret;

	if (c->out < offsetof(struct rdma_ucm_query_route_resp, ibdev_index))
		return -ENOSPC;
	ret = ucma_in(c, &cmd, sizeof(cmd));
	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	id = ctx->cm_id;
	copy_addr6(&resp.src_addr, &id->src);
	copy_addr6(&resp.dst_addr, &id->dst);
	if (id->device) {
		memcpy(&resp.node_guid, id->device->node_guid, 8);
		resp.ibdev_index = id->device->index;
		resp.port_num = id->port_num;
		copy_route(&resp, id);
	}
	ucma_out(c, cmd.response, &resp, min((size_t)c->out, sizeof(resp)));
	return 0;
}

static void query_device(struct rdma_ucm_query_addr_resp *resp, const struct rdma_cm_id *id)
{
	if (!id->device)
		return;
	memcpy(&resp->node_guid, id->device->node_guid, 8);
	resp->ibdev_index = id->device->index;
	resp->port_num = id->port_num;
	put_be16(&resp->pkey, id->pkey);
}

static int query_addr(struct ucma_call *c, const struct rdma_cm_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp resp = { 0 };

	if (c->out < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	resp.src_size = (uint16_t)rdma_addr_size(ucma_query_sa(&id->src));
	memcpy(&resp.src_addr, &id->src, resp.src_size);
	resp.dst_size = (uint16_t)rdma_addr_size(ucma_query_sa(&id->dst));
	memcpy(&resp.dst_addr, &id->dst, resp.dst_size);
	query_device(&resp, id);
	ucma_out(c, response, &resp, min((size_t)c->out, sizeof(resp)));
	return 0;
}

/* Returns the path records that fit into `out`; num_paths counts the others too. */
static int query_path(struct ucma_call *c, const struct rdma_cm_id *id, uint64_t response)
{
	struct {
		struct rdma_ucm_query_path_resp head;
		struct ib_path_rec_data rec[2];
	} resp = { .head.num_paths = id->num_paths };
	size_t len = sizeof(resp.head);

	if (c->out < sizeof(resp.head))
		return -ENOSPC;
	for (unsigned int i = 0; i < min(id->num_paths, 2u); i++) {
		if (len + sizeof(resp.rec[0]) > c->out)
			break;
		resp.rec[i].flags = IB_PATH_FLAGS;
		ib_sa_pack_path(&id->path[i], (uint8_t *)resp.rec[i].path_rec);
		len += sizeof(resp.rec[0]);
	}
	ucma_out(c, response, &resp, len);
	return 0;
}

static void gid_addr(struct __kernel_sockaddr_storage *to, const struct rdma_cm_id *id,
		     const struct sockaddr_storage *from, const uint8_t gid[16])
{
	struct sockaddr_ib sib = { .sib_family = AF_IB };

	if (from->ss_family == AF_IB) {
		memcpy(to, from, sizeof(sib));
		return;
	}
	put_be16(&sib.sib_pkey, id->device ? id->pkey : 0);
	memcpy(sib.sib_addr, gid, 16);
	put_be64(&sib.sib_sid, rdma_get_service_id(id, ucma_query_sa(from)));
	memcpy(to, &sib, sizeof(sib));
}

static int query_gid(struct ucma_call *c, const struct rdma_cm_id *id, uint64_t response)
{
	struct rdma_ucm_query_addr_resp resp = { 0 };
	uint8_t sgid[16], dgid[16];

	if (c->out < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	query_device(&resp, id);
	rdma_read_gids(id, sgid, dgid);
	resp.src_size = resp.dst_size = sizeof(struct sockaddr_ib);
	gid_addr(&resp.src_addr, id, &id->src, sgid);
	gid_addr(&resp.dst_addr, id, &id->dst, dgid);
	ucma_out(c, response, &resp, min((size_t)c->out, sizeof(resp)));
	return 0;
}

int ucma_query(struct ucma_call *c)
{
	struct rdma_ucm_query cmd;
	struct ucma_context *ctx;
	int ret = ucma_in(c, &cmd, sizeof(cmd));

	if (!ret)
		ret = ucma_get_ctx(c->file, cmd.id, &ctx);
	if (ret)
		return ret;
	switch (cmd.option) {
	case RDMA_USER_CM_QUERY_ADDR:
		return query_addr(c, ctx->cm_id, cmd.response);
	case RDMA_USER_CM_QUERY_PATH:
		return query_path(c, ctx->cm_id, cmd.response);
	case RDMA_USER_CM_QUERY_GID:
		return query_gid(c, ctx->cm_id, cmd.response);
	default:
		return -ENOSYS;
	}
}
