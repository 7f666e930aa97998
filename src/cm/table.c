/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state table of connections: IBA 12.9 as implemented by the kernel's cm.c. A row gives the
 * effect of an input in the states of its mask; the first row that matches applies. The rows of an
 * input are adjacent. Decisions that need more than the state are made by the handlers first: whose
 * message it is, whether the QP number is right, whether the connection is stale.
 *
 * A consumer's call changes the state after its message has been sent. Exceptions: a REJ or DREP
 * changes it even if it cannot be sent, and a DREQ that cannot be sent leads to TIMEWAIT. An id
 * that enters TIMEWAIT leaves the hash of remote QPs at once, and the hash of remote ids when
 * timewait is over. An id that enters IDLE without timewait leaves both at once.
 */
#include <stddef.h>
#include "base/util.h"
#include "cm/table_internal.h"

#define S(s) (1u << IB_CM_##s)
#define L(s) (1u << IB_CM_##s)

#define TO_IDLE IB_CM_IDLE, CM_KEEP
#define TO(s) IB_CM_##s, CM_KEEP
#define LAP_TO(s) CM_KEEP, IB_CM_##s
#define STAY CM_KEEP, CM_KEEP
#define IN(i) CM_IN_##i
#define EV(e) IB_CM_##e
#define GOT(e) IB_CM_##e##_RECEIVED
#define FAILED(e) IB_CM_##e##_ERROR
#define QUIET CM_NO_EVENT

/* X_WAITS: an X was sent and awaits an answer. X_HAS: an X was received, and the consumer has not answered it. */
#define REQ_WAITS (S(REQ_SENT) | S(MRA_REQ_RCVD))
#define REP_WAITS (S(REP_SENT) | S(MRA_REP_RCVD))
#define REQ_HAS (S(REQ_RCVD) | S(MRA_REQ_SENT))
#define REP_HAS (S(REP_RCVD) | S(MRA_REP_SENT))
#define LAP_WAITS (L(LAP_SENT) | L(MRA_LAP_RCVD))
#define LAP_HAS (L(LAP_RCVD) | L(MRA_LAP_SENT))
/* LAP states in which a REJ means that the peer has dropped the connection. */
#define LAP_REJECTS (L(LAP_UNINIT) | L(LAP_SENT))
#define CONNECTED (REP_WAITS | S(DREQ_SENT) | S(ESTABLISHED))
#define LAP_NONE (L(LAP_UNINIT) | L(LAP_IDLE))

static const struct cm_row cm_rows[] = {
	/* columns: input, mask of LAP states, mask of states, new state and LAP state, event, actions */
	{ IN(REQ), 0, S(MRA_REQ_SENT), STAY, QUIET, CM_DUP | CM_ANSWER_MRA },
	{ IN(REQ), 0, S(TIMEWAIT), STAY, QUIET, CM_DUP | CM_ANSWER_REJ },
	{ IN(REQ), 0, 0xffff, STAY, QUIET, CM_DUP },

	{ IN(MRA_TO_REQ), 0, S(REQ_SENT), TO(MRA_REQ_RCVD), GOT(MRA), 0 },
	{ IN(MRA_TO_REQ), 0, S(MRA_REQ_RCVD) | S(MRA_REP_RCVD), STAY, QUIET, CM_DUP },
	{ IN(MRA_TO_REP), 0, S(REP_SENT), TO(MRA_REP_RCVD), GOT(MRA), 0 },
	{ IN(MRA_TO_REP), 0, S(MRA_REQ_RCVD) | S(MRA_REP_RCVD), STAY, QUIET, CM_DUP },
	{ IN(MRA_TO_OTHER), L(LAP_SENT), S(ESTABLISHED), LAP_TO(MRA_LAP_RCVD), GOT(MRA), 0 },
	{ IN(MRA_TO_OTHER), L(MRA_LAP_RCVD), S(ESTABLISHED), STAY, QUIET, CM_DUP },
	{ IN(MRA_TO_OTHER), 0, S(MRA_REQ_RCVD) | S(MRA_REP_RCVD), STAY, QUIET, CM_DUP },

	{ IN(REJ), 0, REQ_WAITS | REP_WAITS | REQ_HAS, TO_IDLE, GOT(REJ), CM_CANCEL },
	{ IN(REJ), 0, S(DREQ_SENT) | REP_HAS, TO(TIMEWAIT), GOT(REJ), CM_CANCEL },
	{ IN(REJ), LAP_REJECTS, S(ESTABLISHED), TO(TIMEWAIT), GOT(REJ), CM_CANCEL },
	{ IN(REJ_STALE), 0, REQ_WAITS | REP_WAITS | REQ_HAS, TO(TIMEWAIT), GOT(REJ), CM_CANCEL },
	{ IN(REJ_STALE), 0, S(DREQ_SENT) | REP_HAS, TO(TIMEWAIT), GOT(REJ), CM_CANCEL },
	{ IN(REJ_STALE), LAP_REJECTS, S(ESTABLISHED), TO(TIMEWAIT), GOT(REJ), CM_CANCEL },

	{ IN(REP), 0, REQ_WAITS, TO(REP_RCVD), GOT(REP), CM_CANCEL },
	{ IN(REP_AGAIN), 0, S(ESTABLISHED), STAY, QUIET, CM_DUP | CM_ANSWER_RTU },
	{ IN(REP_AGAIN), 0, S(MRA_REP_SENT), STAY, QUIET, CM_DUP | CM_ANSWER_MRA },
	{ IN(REP_AGAIN), 0, 0xffff, STAY, QUIET, CM_DUP },

	{ IN(RTU), 0, REP_WAITS, TO(ESTABLISHED), GOT(RTU), CM_CANCEL },
	{ IN(RTU), 0, 0xffff, STAY, QUIET, CM_DUP },

	{ IN(DREQ), 0, CONNECTED, TO(DREQ_RCVD), GOT(DREQ), CM_CANCEL },
	{ IN(DREQ), 0, S(TIMEWAIT), STAY, QUIET, CM_DUP | CM_ANSWER_DREP },
	{ IN(DREQ), 0, S(DREQ_RCVD), STAY, QUIET, CM_DUP },
	{ IN(DREP), 0, S(DREQ_SENT) | S(DREQ_RCVD), TO(TIMEWAIT), GOT(DREP), CM_CANCEL },

	{ IN(LAP), LAP_NONE, S(ESTABLISHED), LAP_TO(LAP_RCVD), GOT(LAP), 0 },
	{ IN(LAP), L(MRA_LAP_SENT), S(ESTABLISHED), STAY, QUIET, CM_DUP | CM_ANSWER_MRA },
	{ IN(LAP), L(LAP_RCVD), S(ESTABLISHED), STAY, QUIET, CM_DUP },
	{ IN(APR), LAP_WAITS, S(ESTABLISHED), LAP_TO(LAP_IDLE), GOT(APR), CM_CANCEL },
	{ IN(SIDR_REP), 0, S(SIDR_REQ_SENT), TO_IDLE, GOT(SIDR_REP), CM_CANCEL },

	{ IN(NO_ANSWER), 0, REQ_WAITS, TO_IDLE, FAILED(REQ), 0 },
	{ IN(NO_ANSWER), 0, REP_WAITS, TO_IDLE, FAILED(REP), 0 },
	{ IN(NO_ANSWER), 0, S(DREQ_SENT), TO(TIMEWAIT), FAILED(DREQ), 0 },
	{ IN(NO_ANSWER), 0, S(SIDR_REQ_SENT), TO_IDLE, FAILED(SIDR_REQ), 0 },
	{ IN(NO_ANSWER), LAP_WAITS, S(ESTABLISHED), LAP_TO(LAP_IDLE), FAILED(LAP), 0 },
	{ IN(TIMEWAIT_OVER), 0, S(TIMEWAIT), TO_IDLE, EV(TIMEWAIT_EXIT), 0 },

	{ IN(COMM_EST), 0, REP_WAITS, TO(ESTABLISHED), QUIET, 0 },
	{ IN(COMM_EST_LATER), 0, S(ESTABLISHED), STAY, EV(USER_ESTABLISHED), CM_CANCEL },
	{ IN(PATH_MIG), LAP_NONE, S(ESTABLISHED), LAP_TO(LAP_IDLE), QUIET, 0 },

	{ IN(SEND_REQ), 0, S(IDLE), TO(REQ_SENT), QUIET, 0 },
	{ IN(SEND_MRA), 0, S(REQ_RCVD), TO(MRA_REQ_SENT), QUIET, 0 },
	{ IN(SEND_MRA), 0, S(REP_RCVD), TO(MRA_REP_SENT), QUIET, 0 },
	{ IN(SEND_MRA), L(LAP_RCVD), S(ESTABLISHED), LAP_TO(MRA_LAP_SENT), QUIET, 0 },
	{ IN(SEND_REJ), 0, REQ_WAITS | REQ_HAS | REP_HAS, TO_IDLE, QUIET, CM_CANCEL },
	{ IN(SEND_REJ), 0, REP_WAITS, TO(TIMEWAIT), QUIET, CM_CANCEL },
	{ IN(SEND_REP), 0, REQ_HAS, TO(REP_SENT), QUIET, 0 },
	{ IN(SEND_RTU), 0, REP_HAS, TO(ESTABLISHED), QUIET, 0 },
	{ IN(SEND_DREQ), 0, S(ESTABLISHED), TO(DREQ_SENT), QUIET, CM_CANCEL },
	{ IN(SEND_DREP), 0, S(DREQ_RCVD), TO(TIMEWAIT), QUIET, 0 },
	{ IN(SEND_LAP), LAP_NONE, S(ESTABLISHED), LAP_TO(LAP_SENT), QUIET, 0 },
	{ IN(SEND_APR), LAP_HAS, S(ESTABLISHED), LAP_TO(LAP_IDLE), QUIET, 0 },
	{ IN(SEND_SIDR_REQ), 0, S(IDLE), TO(SIDR_REQ_SENT), QUIET, 0 },
	{ IN(SEND_SIDR_REP), 0, S(SIDR_REQ_RCVD), TO_IDLE, QUIET, 0 },

	/* cm_destroy() applies the row whose mask has the id's state, again and again, until the state is IDLE. */
	{ IN(DESTROY), 0, S(LISTEN), TO_IDLE, QUIET, CM_UNLISTEN },
	{ IN(DESTROY), 0, REQ_WAITS, TO_IDLE, QUIET, CM_SAY_REJ_TIMEOUT },
	{ IN(DESTROY), 0, REQ_HAS | REP_HAS | REP_WAITS, STAY, QUIET, CM_SAY_REJ_CONSUMER },
	{ IN(DESTROY), 0, S(ESTABLISHED), STAY, QUIET, CM_SAY_DREQ },
	{ IN(DESTROY), 0, S(DREQ_SENT), TO(TIMEWAIT), QUIET, CM_CANCEL },
	{ IN(DESTROY), 0, S(DREQ_RCVD), STAY, QUIET, CM_SAY_DREP },
	{ IN(DESTROY), 0, S(TIMEWAIT), TO_IDLE, QUIET, 0 },
	{ IN(DESTROY), 0, S(SIDR_REQ_SENT), TO_IDLE, QUIET, CM_CANCEL },
	{ IN(DESTROY), 0, S(SIDR_REQ_RCVD), TO_IDLE, QUIET, CM_SAY_SIDR_REJECT },
};

_Static_assert(IB_CM_STATE_COUNT == 16, "a mask of states has 16 bits");

static size_t first_row(enum cm_in in)
{
	static uint8_t known[CM_IN_COUNT];	/* per input: index of its first row in cm_rows[]; 0: row 0, or not searched yet */
	size_t i = known[in];

	if (!i) {
		while (i < ARRAY_SIZE(cm_rows) && cm_rows[i].in != in)
			i++;
		known[in] = (uint8_t)i;
	}
	return i;
}

const struct cm_row *cm_row(enum cm_in in, enum ib_cm_state state, enum ib_cm_lap_state lap)
{
	for (size_t i = first_row(in); i < ARRAY_SIZE(cm_rows) && cm_rows[i].in == in; i++)
		if (cm_rows[i].from >> state & 1 && (!cm_rows[i].lap || cm_rows[i].lap >> lap & 1))
			return &cm_rows[i];
	return NULL;
}
