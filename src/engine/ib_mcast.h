/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast on InfiniBand ports. rused computes the recipients of a multicast group from the
 * multicast forwarding tables and the attached QPs (fabrics/mcast.c). The sender puts a copy
 * on the link of each recipient. The caller holds the engine lock.
 */
#ifndef RUSE_ENGINE_IB_MCAST_H
#define RUSE_ENGINE_IB_MCAST_H

#include "core/qp.h"
#include "link/link.h"

/*
 * rdev_ops.mcast of an InfiniBand port: tell rused that a QP was attached to or detached from
 * mgid. 0 or -errno.
 */
int ib_mcast(struct rdev *dev, const uint8_t mgid[16], bool join);
/* The part of ib_ud_link() for a multicast destination. NULL: the datagram is lost. */
struct link *ib_mcast_link(struct qp *qp, const struct ib_uverbs_ah_attr *ah, struct seg_net *net,
			   const struct seg *seg);
/* Is a datagram from ib_mcast_link() for this device? RoCE devices accept all. */
bool ib_mcast_is_for(const struct rdev *dev, const struct seg_net *net);

#endif
