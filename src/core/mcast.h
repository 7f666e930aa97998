/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups and the UD QPs attached to them (IBA 10.5). */
#ifndef RUSE_CORE_MCAST_H
#define RUSE_CORE_MCAST_H

#include "core/qp.h"
#include "wire/dest.h"

/*
 * A QP in a multicast group. It receives each datagram once, however many MLIDs it is attached
 * with: delivery ignores the MLID.
 */
struct mcast_member {
	struct list_head entry;	/* in mcast_grp.members */
	struct qp *qp;
	struct list_head lids;	/* struct mcast_lid: its attachments, at least one */
};

struct mcast_lid {
	struct list_head entry;	/* in mcast_member.lids */
	uint16_t lid;
};

struct mcast_grp {
	struct list_head entry;	/* in rdev.mcgs */
	uint8_t mgid[16];
	uint32_t count;		/* members */
	struct list_head members;	/* struct mcast_member */
};

/*
 * ATTACH_MCAST. -EINVAL: not a UD QP, or not a multicast GID; -ENOMEM, or the errno of the device's
 * like: a limit is reached.
 * As in kernel 6.1, an attachment is a pair of GID and MLID: repeating it has no effect and
 * succeeds, another MLID makes a second attachment. The value of the MLID is not checked.
 */
int mcast_attach(struct qp *qp, const uint8_t mgid[16], uint16_t mlid);
/*
 * DETACH_MCAST. -EINVAL: not attached with this GID and MLID. Without an attachment left the
 * QP leaves the group.
 */
int mcast_detach(struct qp *qp, const uint8_t mgid[16], uint16_t mlid);
/* The multicast group, or NULL if no QP of the device is attached to it. */
struct mcast_grp *mcast_find(const struct rdev *dev, const uint8_t mgid[16]);
/*
 * Detaches the QP from all multicast groups, before it is destroyed by the close of its context.
 * DESTROY_QP of an attached QP fails with EBUSY before it comes here, as in the kernel.
 */
void mcast_qp_gone(struct qp *qp);

#endif
