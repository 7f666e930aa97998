/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How much may be unacknowledged; window.c says by which rule. */
#ifndef RUSE_XPORT_WINDOW_H
#define RUSE_XPORT_WINDOW_H

#include "core/qp.h"
#include "link/link.h"

/* A wire, or a link where packets are lost on purpose. */
static inline bool win_loses(const struct qp *qp)
{
	return qp->link && (qp->link->lossy || qp->link->under);
}

/* The QP has another link. */
void win_reset(struct qp *qp);
void win_acked_slow(struct qp *qp, uint32_t npkts);
/* Something was lost: found by a NAK, or by a timeout. */
void win_lost(struct qp *qp, bool timeout);
/* Packets of a READ to ask for again at a time; never more than the window will be. */
uint32_t win_piece(const struct qp *qp);

static inline void win_acked(struct qp *qp, uint32_t npkts)
{
	if (unlikely(qp->req.slow_start))
		win_acked_slow(qp, npkts);
}

#endif
