/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast on InfiniBand ports. Where a group's datagrams go rused says, by the
 * multicast forwarding tables and by who has attached QPs (daemon/fabric_mcast.c);
 * the sender puts a copy into the link of each. Under the engine's lock.
 */
#ifndef RUSE_ENGINE_IB_MCAST_H
#define RUSE_ENGINE_IB_MCAST_H

#include "core/qp.h"
#include "link/link.h"

/* rdev_ops.mcast of an InfiniBand port. 0 or -errno. */
int ib_mcast(struct rdev *dev, const uint8_t mgid[16], bool join);
/* ib_ud_link() of a multicast destination; NULL: it is lost. */
struct link *ib_mcast_link(struct qp *qp, const struct ib_uverbs_ah_attr *ah, struct seg_net *net,
			   const struct seg *seg);
/* Is the datagram, which ib_mcast_link() has sent, for this device? RoCE's are for all. */
bool ib_mcast_is_for(const struct rdev *dev, const struct seg_net *net);

#endif
