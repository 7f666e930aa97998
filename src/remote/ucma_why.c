/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failures of rdma_cm in the log of this process. rused makes their reasons, because the ids are there. */
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include "engine/explain.h"
#include "remote/ucma_local.h"

static const char *const calls[] = {
	[RDMA_USER_CM_CMD_BIND_IP] = "rdma_bind_addr",
	[RDMA_USER_CM_CMD_RESOLVE_IP] = "rdma_resolve_addr",
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = "rdma_resolve_route",
	[RDMA_USER_CM_CMD_CONNECT] = "rdma_connect",
	[RDMA_USER_CM_CMD_LISTEN] = "rdma_listen",
	[RDMA_USER_CM_CMD_ACCEPT] = "rdma_accept",
	[RDMA_USER_CM_CMD_REJECT] = "rdma_reject",
	[RDMA_USER_CM_CMD_DISCONNECT] = "rdma_disconnect",
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = "rdma_join_multicast",
	[RDMA_USER_CM_CMD_SET_OPTION] = "rdma_set_option",
	[RDMA_USER_CM_CMD_BIND] = "rdma_bind_addr",
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = "rdma_resolve_addr",
	[RDMA_USER_CM_CMD_JOIN_MCAST] = "rdma_join_multicast",
};

/* By enum rdma_cm_event_type. NULL: no failure. */
static const char *const events[] = {
	[1] = "event ADDR_ERROR", [3] = "event ROUTE_ERROR", [6] = "event CONNECT_ERROR",
	[7] = "event UNREACHABLE", [8] = "event REJECTED", [13] = "event MULTICAST_ERROR",
};

/*
 * Log the failure of a command (call: its name), or of an event, with the reason from rused. Ignores what is no reason of
 * the table. error: positive errno, 0: none.
 */
static void remote_ucma_failed(const char *call, int error, const struct why *why)
{
	struct why_rec r = { .why = *why, .error = (uint16_t)error };

	if (!why_row(why->id))
		return;
	strncpy(r.call, call, sizeof(r.call) - 1);
	explain_failed(NULL, &r);
}

void remote_ucma_refused(uint32_t cmd, int error, const struct why *why)
{
	remote_ucma_failed(cmd < ARRAY_SIZE(calls) && calls[cmd] ? calls[cmd] : "rdma_cm", error,
			   why);
}

void remote_ucma_event(const struct rdma_ucm_event_resp *ev, const struct why *why)
{
	int32_t status = (int32_t)ev->status;

	if (why->id && ev->event < ARRAY_SIZE(events) && events[ev->event])
		remote_ucma_failed(events[ev->event], status < 0 && status > -4096 ? -status : 0,
				   why);
}
