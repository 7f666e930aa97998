/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A row per command that may be posted. needs() makes those checks of the command's handler (cmd_*.c) that depend on the
 * command alone; the id's record answers for the state of the id.
 */
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include "cmshare/postable.h"
#include "cmshare/ucma_shm.h"
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

static uint32_t postable_destroy(const union payload *p)
{
	return CMSHARE_CAN_DESTROY;
}

/* Without a source, so that rused chooses address and port. */
static uint32_t postable_addr(const union payload *p)
{
	const struct rdma_ucm_resolve_addr *a = &p->addr;

	return !a->reserved && !a->src_size && a->dst_size && a->dst_size <= sizeof(a->dst_addr) ?
		       CMSHARE_CAN_RESOLVE : 0;
}

static uint32_t postable_route(const union payload *p)
{
	return p->route.timeout_ms ? CMSHARE_CAN_ROUTE : 0;
}

static uint32_t postable_connect(const union payload *p)
{
	const struct rdma_ucm_conn_param *c = &p->connect.conn_param;

	return c->valid && c->private_data_len <= REQ_PRIVATE ? CMSHARE_CAN_CONNECT : 0;
}

/* Without parameters ACCEPT sends the RTU of a connection whose REP has arrived. */
static uint32_t postable_accept(const union payload *p)
{
	const struct rdma_ucm_conn_param *c = &p->accept.conn_param;

	if (!c->valid)
		return CMSHARE_CAN_RTU;
	return c->private_data_len <= CM_LEN_REP_PRIVATE_DATA ? CMSHARE_CAN_ACCEPT : 0;
}

static uint32_t postable_disconnect(const union payload *p)
{
	return CMSHARE_CAN_DISCONNECT;
}

#define ROW(fn, member) \
	{ fn, sizeof(((union payload *)0)->member), offsetof(union payload, member.id) }

static const struct postable_row {
	uint32_t (*needs)(const union payload *p);	/* NULL: may not be posted */
	uint16_t size;					/* of the payload */
	uint16_t id_at;					/* offset of the id in it */
} postable_rows[] = {
	[RDMA_USER_CM_CMD_DESTROY_ID] = ROW(postable_destroy, destroy),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = ROW(postable_addr, addr),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = ROW(postable_route, route),
	[RDMA_USER_CM_CMD_CONNECT] = ROW(postable_connect, connect),
	[RDMA_USER_CM_CMD_ACCEPT] = ROW(postable_accept, accept),
	[RDMA_USER_CM_CMD_DISCONNECT] = ROW(postable_disconnect, disconnect),
};

uint32_t cmshare_postable(const void *cmd, size_t len, uint32_t *id)
{
	struct rdma_ucm_cmd_hdr hdr;
	const struct postable_row *row;
	union payload p;

	if (len < sizeof(hdr))
		return 0;
	memcpy(&hdr, cmd, sizeof(hdr));
	if (hdr.cmd >= ARRAY_SIZE(postable_rows) || !postable_rows[hdr.cmd].needs)
		return 0;
	row = &postable_rows[hdr.cmd];
	if (hdr.in < row->size || len < sizeof(hdr) + hdr.in)
		return 0;
	memcpy(&p, (const uint8_t *)cmd + sizeof(hdr), row->size);
	memcpy(id, (const uint8_t *)&p + row->id_at, sizeof(*id));
	return row->needs(&p);
}
