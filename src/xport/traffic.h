/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a QP counts its completed requests (CNT_TRAFFIC()). */
#ifndef RUSE_XPORT_TRAFFIC_H
#define RUSE_XPORT_TRAFFIC_H

#include "core/qp.h"
#include "link/link.h"

/* From now on as the traffic of this link; NULL, as of a datagram that leads nowhere: of this host. */
static inline void xp_traffic(struct qp *qp, const struct link *l)
{
	if (qp->dev->port.ib)
		qp->traffic = CNT_TRAFFIC(TRAFFIC_FABRIC, 0);
	else if (l && l->kind == LINK_UDP)
		qp->traffic = CNT_TRAFFIC(TRAFFIC_WIRE, 0);
	else
		qp->traffic = CNT_TRAFFIC(TRAFFIC_MEMORY, 0);
}

#endif
