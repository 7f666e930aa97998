/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include "base/util.h"
#include "cmshare/ucma_response.h"

/* The length of the response by command; 0: none. The longest one of QUERY is that for an address. */
static const uint16_t cmshare_responses[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = sizeof(struct rdma_ucm_create_id_resp),
	[RDMA_USER_CM_CMD_DESTROY_ID] = sizeof(struct rdma_ucm_destroy_id_resp),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = sizeof(struct rdma_ucm_query_route_resp),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = sizeof(struct ib_uverbs_qp_attr),
	[RDMA_USER_CM_CMD_GET_EVENT] = sizeof(struct rdma_ucm_event_resp),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = sizeof(struct rdma_ucm_create_id_resp),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = sizeof(struct rdma_ucm_destroy_id_resp),
	[RDMA_USER_CM_CMD_MIGRATE_ID] = sizeof(struct rdma_ucm_migrate_resp),
	[RDMA_USER_CM_CMD_QUERY] = sizeof(struct rdma_ucm_query_addr_resp),
	[RDMA_USER_CM_CMD_JOIN_MCAST] = sizeof(struct rdma_ucm_create_id_resp),
};

uint64_t cmshare_response(const void *cmd, size_t len, size_t *room)
{
	struct rdma_ucm_cmd_hdr hdr;
	size_t off = sizeof(hdr);
	uint64_t p;

	*room = 0;
	if (len < sizeof(hdr))
		return 0;
	memcpy(&hdr, cmd, sizeof(hdr));
	/* The address is the first member of each command that has one, except CREATE_ID. */
	if (hdr.cmd == RDMA_USER_CM_CMD_CREATE_ID)
		off += offsetof(struct rdma_ucm_create_id, response);
	if (hdr.cmd >= ARRAY_SIZE(cmshare_responses) || !cmshare_responses[hdr.cmd] ||
	    len < off + sizeof(p))
		return 0;
	*room = min(hdr.out, cmshare_responses[hdr.cmd]);
	memcpy(&p, (const uint8_t *)cmd + off, sizeof(p));
	return p;
}
