/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of states, events and reject reasons, for log messages. */
#include <stddef.h>
#include "cm/cm_state.h"

static const char *const states[] = {
	"IDLE", "LISTEN", "REQ_SENT", "REQ_RCVD", "MRA_REQ_SENT", "MRA_REQ_RCVD", "REP_SENT",
	"REP_RCVD", "MRA_REP_SENT", "MRA_REP_RCVD", "ESTABLISHED", "DREQ_SENT", "DREQ_RCVD",
	"TIMEWAIT", "SIDR_REQ_SENT", "SIDR_REQ_RCVD",
};
_Static_assert(ARRAY_SIZE(states) == IB_CM_STATE_COUNT, "a name for each state");

static const char *const events[] = {
	"REQ_ERROR", "REQ_RECEIVED", "REP_ERROR", "REP_RECEIVED", "RTU_RECEIVED",
	"USER_ESTABLISHED", "DREQ_ERROR", "DREQ_RECEIVED", "DREP_RECEIVED", "TIMEWAIT_EXIT",
	"MRA_RECEIVED", "REJ_RECEIVED", "LAP_ERROR", "LAP_RECEIVED", "APR_RECEIVED",
	"SIDR_REQ_ERROR", "SIDR_REQ_RECEIVED", "SIDR_REP_RECEIVED",
};
_Static_assert(ARRAY_SIZE(events) == IB_CM_EVENT_COUNT, "a name for each event");

static const char *const reasons[] = {
	[IB_CM_REJ_NO_QP] = "no QP",
	[IB_CM_REJ_NO_EEC] = "no EEC",
	[IB_CM_REJ_NO_RESOURCES] = "no resources",
	[IB_CM_REJ_TIMEOUT] = "timeout",
	[IB_CM_REJ_UNSUPPORTED] = "unsupported",
	[IB_CM_REJ_INVALID_COMM_ID] = "invalid comm ID",
	[IB_CM_REJ_INVALID_COMM_INSTANCE] = "invalid comm instance",
	[IB_CM_REJ_INVALID_SERVICE_ID] = "invalid service ID",
	[IB_CM_REJ_INVALID_TRANSPORT_TYPE] = "invalid transport type",
	[IB_CM_REJ_STALE_CONN] = "stale conn",
	[IB_CM_REJ_RDC_NOT_EXIST] = "RDC not exist",
	[IB_CM_REJ_INVALID_GID] = "invalid GID",
	[IB_CM_REJ_INVALID_LID] = "invalid LID",
	[IB_CM_REJ_INVALID_SL] = "invalid SL",
	[IB_CM_REJ_INVALID_TRAFFIC_CLASS] = "invalid traffic class",
	[IB_CM_REJ_INVALID_HOP_LIMIT] = "invalid hop limit",
	[IB_CM_REJ_INVALID_PACKET_RATE] = "invalid packet rate",
	[IB_CM_REJ_INVALID_ALT_GID] = "invalid alt GID",
	[IB_CM_REJ_INVALID_ALT_LID] = "invalid alt LID",
	[IB_CM_REJ_INVALID_ALT_SL] = "invalid alt SL",
	[IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS] = "invalid alt traffic class",
	[IB_CM_REJ_INVALID_ALT_HOP_LIMIT] = "invalid alt hop limit",
	[IB_CM_REJ_INVALID_ALT_PACKET_RATE] = "invalid alt packet rate",
	[IB_CM_REJ_PORT_CM_REDIRECT] = "port CM redirect",
	[IB_CM_REJ_PORT_REDIRECT] = "port redirect",
	[IB_CM_REJ_INVALID_MTU] = "invalid MTU",
	[IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES] = "insufficient resp resources",
	[IB_CM_REJ_CONSUMER_DEFINED] = "consumer defined",
	[IB_CM_REJ_INVALID_RNR_RETRY] = "invalid RNR retry",
	[IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID] = "duplicate local comm ID",
	[IB_CM_REJ_INVALID_CLASS_VERSION] = "invalid class version",
	[IB_CM_REJ_INVALID_FLOW_LABEL] = "invalid flow label",
	[IB_CM_REJ_INVALID_ALT_FLOW_LABEL] = "invalid alt flow label",
	[IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED] = "vendor option is not supported",
};

const char *cm_state_name(enum ib_cm_state s)
{
	return (size_t)s < ARRAY_SIZE(states) ? states[s] : "?";
}

const char *cm_event_name(enum ib_cm_event_type e)
{
	return (size_t)e < ARRAY_SIZE(events) ? events[e] : "?";
}

const char *cm_reject_msg(int reason)
{
	return (size_t)reason < ARRAY_SIZE(reasons) && reasons[reason] ? reasons[reason] :
									 "unrecognized reason";
}
