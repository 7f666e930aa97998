/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast on InfiniBand ports. rused computes the recipients of a multicast group from the
 * multicast forwarding tables and the attached QPs (fabrics/mcast.c). The sender puts a copy
 * on the link of each recipient. The caller holds the engine lock.
 */
#ifndef RUSE_ENGINE_IB_MCAST_H
#define RUSE_ENGINE_IB_MCAST_H

#include "core/qp.h"
#include "ipc/fabric_msg.h"
#include "link/link.h"

#define IB_GROUPS 8u
#define IB_MEMBERS 256u

/* The recipients of one multicast group along one path. */
struct ib_group {
	bool used;
	struct ipc_path q;
	uint8_t mgid[16];
	uint32_t changes;	/* host_page.mcast_changes when rused was asked */
	uint32_t proc;		/* engine.proc, as in struct ib_paths */
	struct proc_path *there;
	struct link fan;	/* its send() sends a copy to each member */
	uint32_t n;
	struct ib_member {
		struct link *link;	/* a reference */
		uint8_t dev;
	} to[IB_MEMBERS];
	/*
	 * held: the link of to[next] had no room for the datagram with this source QP number and
	 * PSN. The transport sends it again, and the retry continues with that member.
	 */
	bool held;
	uint32_t held_qpn, held_psn, next;
};

/* In struct engine. */
struct ib_groups {
	uint32_t turn;		/* counts the groups that have replaced another */
	struct ib_group group[IB_GROUPS];
};

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
