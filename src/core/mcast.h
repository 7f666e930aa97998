/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast groups and the UD QPs attached to them (IBA 10.5). */
#ifndef RUSE_CORE_MCAST_H
#define RUSE_CORE_MCAST_H

#include "core/qp.h"

/* As kernel rxe 6.1 reports them. */
#define DEV_MAX_MCG 8192
#define DEV_MAX_QP_PER_MCG 56

/* A QP in a group: it gets each datagram once, however many LIDs it named (RoCE ignores them). */
struct mcast_member {
	struct list_head entry;	/* in mcast_grp.members */
	struct qp *qp;
	struct list_head lids;	/* struct mcast_lid: what it has attached, one at least */
};

struct mcast_lid {
	struct list_head entry;	/* in mcast_member.lids */
	uint16_t lid;
};

struct mcast_grp {
	struct list_head entry;	/* in rdev.mcgs */
	uint8_t mgid[16];
	uint32_t count;
	struct list_head members;
};

/* A multicast GID: ff in the first byte, or an IPv4-mapped 224.0.0.0/4. */
static inline bool gid_is_mcast(const uint8_t gid[16])
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	return gid[0] == 0xff || (!__builtin_memcmp(gid, v4, 12) && (gid[12] & 0xf0) == 0xe0);
}

/*
 * -EINVAL: not a UD QP, not a multicast GID; -ENOMEM: limits. The same GID and LID twice is a
 * success and once (kernel 6.1); the same GID with another LID is a second attachment, of any LID.
 */
int mcast_attach(struct qp *qp, const uint8_t mgid[16], uint16_t mlid);
/* -EINVAL when it is not attached with this GID and LID. The last one of a GID leaves the group. */
int mcast_detach(struct qp *qp, const uint8_t mgid[16], uint16_t mlid);
/* The group, or NULL: nobody of this process listens. */
struct mcast_grp *mcast_find(const struct rdev *dev, const uint8_t mgid[16]);
/* Before the QP is destroyed (kernel: DESTROY_QP with attached groups is EBUSY for the program; close detaches). */
void mcast_qp_gone(struct qp *qp);

#endif
