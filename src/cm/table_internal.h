/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state table: the effect of an input in each state. */
#ifndef RUSE_CM_TABLE_INTERNAL_H
#define RUSE_CM_TABLE_INTERNAL_H

#include "cm/cm_state.h"

/* Inputs of an id: received messages, timeouts, calls of its consumer. */
enum cm_in {
	CM_IN_REQ,		/* duplicate of a REQ; the first one creates the id */
	CM_IN_MRA_TO_REQ,
	CM_IN_MRA_TO_REP,
	CM_IN_MRA_TO_OTHER,
	CM_IN_REJ,
	CM_IN_REJ_STALE,	/* REJ with reason STALE_CONN */
	CM_IN_REP,
	CM_IN_REP_AGAIN,	/* duplicate of a REP: remote_id is known from the first one */
	CM_IN_RTU,
	CM_IN_DREQ,
	CM_IN_DREP,
	CM_IN_LAP,
	CM_IN_APR,
	CM_IN_SIDR_REP,
	CM_IN_NO_ANSWER,	/* the last repetition of a message has timed out without an answer */
	CM_IN_TIMEWAIT_OVER,
	CM_IN_COMM_EST_LATER,	/* deliver USER_ESTABLISHED, after the consumer's call of cm_notify(COMM_EST) has returned */
	CM_IN_COMM_EST,
	CM_IN_PATH_MIG,
	CM_IN_SEND_REQ,
	CM_IN_SEND_MRA,
	CM_IN_SEND_REJ,
	CM_IN_SEND_REP,
	CM_IN_SEND_RTU,
	CM_IN_SEND_DREQ,
	CM_IN_SEND_DREP,
	CM_IN_SEND_LAP,
	CM_IN_SEND_APR,
	CM_IN_SEND_SIDR_REQ,
	CM_IN_SEND_SIDR_REP,
	CM_IN_DESTROY,
	CM_IN_COUNT
};

/* Actions of a row of the state table, done when the row is applied. */
enum cm_what {
	CM_CANCEL = 1 << 0,	/* stop repeating the message that awaits an answer */
	CM_DUP = 1 << 1,	/* count a duplicate */
	CM_ANSWER_MRA = 1 << 2,	/* repeat the MRA */
	CM_ANSWER_REJ = 1 << 3,	/* send a REJ with reason STALE_CONN */
	CM_ANSWER_RTU = 1 << 4,	/* repeat the RTU */
	CM_ANSWER_DREP = 1 << 5, /* repeat the DREP */
	/* Actions of CM_IN_DESTROY: send a message, or end a listener. */
	CM_SAY_REJ_TIMEOUT = 1 << 6,
	CM_SAY_REJ_CONSUMER = 1 << 7,
	CM_SAY_DREQ = 1 << 8,
	CM_SAY_DREP = 1 << 9,
	CM_SAY_SIDR_REJECT = 1 << 10,
	CM_UNLISTEN = 1 << 11,
};

#define CM_KEEP 0xff		/* to, lap_to: unchanged */
#define CM_NO_EVENT 0xff

struct cm_row {
	uint8_t in;		/* enum cm_in */
	uint8_t lap;		/* mask of enum ib_cm_lap_state; 0: any */
	uint16_t from;		/* mask of enum ib_cm_state */
	uint8_t to, lap_to;
	uint8_t event;		/* enum ib_cm_event_type */
	uint16_t what;		/* mask of enum cm_what */
};

/*
 * The state table's row for this input, or NULL if the input is invalid in these states: then a message is dropped and a
 * call returns -EINVAL.
 */
const struct cm_row *cm_row(enum cm_in in, enum ib_cm_state state, enum ib_cm_lap_state lap);

#endif
