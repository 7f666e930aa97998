/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A row per command that may be posted. needs() makes those checks of the command's handler (cmd_*.c) that depend on the
 * command alone; the id's card answers for the state of the id. Linked into libruse.so without the rest of the room.
 */
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include "abi/ucma/post.h"
#include "ipc/ucma_shm.h"
#include "wire/cm_msg.h"

/* Of a REQ's private data rdma_cm's own header takes the first part. Ids of AF_IB may send more, but not posted. */
#define REQ_PRIVATE (CM_LEN_REQ_PRIVATE_DATA - 36)

union payload {
	struct rdma_ucm_destroy_id destroy;
	struct rdma_ucm_resolve_addr addr;
	struct rdma_ucm_resolve_route route;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_disconnect disconnect;
};

static uint32_t post_destroy(const union payload *p)
{
	return UCMA_CAN_DESTROY;
}

/* Without a source, so that rused chooses address and port. */
static uint32_t post_addr(const union payload *p)
{
	const struct rdma_ucm_resolve_addr *a = &p->addr;

	return !a->reserved && !a->src_size && a->dst_size && a->dst_size <= sizeof(a->dst_addr) ?
		       UCMA_CAN_RESOLVE : 0;
}

static uint32_t post_route(const union payload *p)
{
	return p->route.timeout_ms ? UCMA_CAN_ROUTE : 0;
}

static uint32_t post_connect(const union payload *p)
{
	const struct rdma_ucm_conn_param *c = &p->connect.conn_param;

	return c->valid && c->private_data_len <= REQ_PRIVATE ? UCMA_CAN_CONNECT : 0;
}

/* Without parameters ACCEPT sends the RTU of a connection whose REP has arrived. */
static uint32_t post_accept(const union payload *p)
{
	const struct rdma_ucm_conn_param *c = &p->accept.conn_param;

	if (!c->valid)
		return UCMA_CAN_RTU;
	return c->private_data_len <= CM_LEN_REP_PRIVATE_DATA ? UCMA_CAN_ACCEPT : 0;
}

static uint32_t post_disconnect(const union payload *p)
{
	return UCMA_CAN_DISCONNECT;
}

#define ROW(fn, member) \
	{ fn, sizeof(((union payload *)0)->member), offsetof(union payload, member.id) }

static const struct row {
	uint32_t (*needs)(const union payload *p);	/* NULL: may not be posted */
	uint16_t size;					/* of the payload */
	uint16_t id_at;					/* offset of the id in it */
} rows[] = {
	[RDMA_USER_CM_CMD_DESTROY_ID] = ROW(post_destroy, destroy),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = ROW(post_addr, addr),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = ROW(post_route, route),
	[RDMA_USER_CM_CMD_CONNECT] = ROW(post_connect, connect),
	[RDMA_USER_CM_CMD_ACCEPT] = ROW(post_accept, accept),
	[RDMA_USER_CM_CMD_DISCONNECT] = ROW(post_disconnect, disconnect),
};

uint32_t ucma_post_needs(const void *cmd, size_t len, uint32_t *id)
{
	struct rdma_ucm_cmd_hdr hdr;
	const struct row *row;
	union payload p;

	if (len < sizeof(hdr))
		return 0;
	memcpy(&hdr, cmd, sizeof(hdr));
	if (hdr.cmd >= ARRAY_SIZE(rows) || !rows[hdr.cmd].needs)
		return 0;
	row = &rows[hdr.cmd];
	if (hdr.in < row->size || len < sizeof(hdr) + hdr.in)
		return 0;
	memcpy(&p, (const uint8_t *)cmd + sizeof(hdr), row->size);
	memcpy(id, (const uint8_t *)&p + row->id_at, sizeof(*id));
	return row->needs(&p);
}
