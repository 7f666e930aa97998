/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_XPORT_RAISE_H
#define RUSE_XPORT_RAISE_H

#include "core/qp.h"
#include "xport/wc.h"

enum xp_raised {
	XP_RAISED,
	XP_OTHER_STATE,		/* a QP in this state does not raise the event */
	XP_OTHER_TYPE,		/* nor does one of this type */
	XP_NO_SRQ,		/* nor one with a receive queue of its own */
};

/*
 * Raises QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, QP_LAST_WQE_REACHED or COMM_EST, with what belongs to it. If the result is
 * not XP_RAISED, the QP is unchanged.
 */
enum xp_raised xp_raise(struct qp *qp, enum xp_event event, ns_t now);

#endif
