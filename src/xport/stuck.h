/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a QP waits for, found from its state when it is asked for. It costs nothing otherwise. */
#ifndef RUSE_XPORT_STUCK_H
#define RUSE_XPORT_STUCK_H

#include "core/qp.h"

/* What the oldest send work request that has not completed waits for. False: there is none. */
bool xp_stuck_send(const struct qp *qp, struct why *why, uint64_t *wr_id);
/* What the receives wait for. False: there are none, or they belong to an SRQ. */
bool xp_stuck_recv(const struct qp *qp, struct why *why);
/* The last send work request was executed, and has no completion because it is not signaled. */
bool xp_stuck_unsignaled(const struct qp *qp, struct why *why, uint64_t *wr_id);
/* Changes when the requester or responder makes progress. */
uint32_t xp_stuck_mark(const struct qp *qp);

#endif
