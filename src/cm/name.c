/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of events, for log messages. */
#include <stddef.h>
#include "cm/cm_state.h"

static const char *const events[] = {
	"REQ_ERROR", "REQ_RECEIVED", "REP_ERROR", "REP_RECEIVED", "RTU_RECEIVED",
	"USER_ESTABLISHED", "DREQ_ERROR", "DREQ_RECEIVED", "DREP_RECEIVED", "TIMEWAIT_EXIT",
	"MRA_RECEIVED", "REJ_RECEIVED", "LAP_ERROR", "LAP_RECEIVED", "APR_RECEIVED",
	"SIDR_REQ_ERROR", "SIDR_REQ_RECEIVED", "SIDR_REP_RECEIVED",
};
_Static_assert(ARRAY_SIZE(events) == IB_CM_EVENT_COUNT, "a name for each event");

const char *cm_event_name(enum ib_cm_event_type e)
{
	return (size_t)e < ARRAY_SIZE(events) ? events[e] : "?";
}
