/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Congestion window: the limit of unacknowledged packets. The rules are in window.c. */
#ifndef RUSE_XPORT_WINDOW_H
#define RUSE_XPORT_WINDOW_H

#include "core/qp.h"
#include "link/link.h"

/* True if the QP's link may lose packets: a wire, or a link with fault injection. */
static inline bool win_loses(const struct qp *qp)
{
	return qp->link && qp->link->lossy;
}

/* Sets the initial window, for a QP that gets a new link. */
void win_reset(struct qp *qp);
void win_acked_slow(struct qp *qp, uint32_t npkts);
/* Reduces the window after a loss, found by a NAK or by a timeout. */
void win_lost(struct qp *qp, bool timeout);
/* Largest number of packets that a repeated READ requests at a time. */
uint32_t win_piece(const struct qp *qp);

static inline void win_acked(struct qp *qp, uint32_t npkts)
{
	if (unlikely(qp->req.slow_start))
		win_acked_slow(qp, npkts);
}

#endif
