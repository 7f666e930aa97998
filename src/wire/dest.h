/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which destination GIDs a source GID of a RoCE port can have at all: what ib_core knows without a route (IBA A17.4). */
#ifndef RUSE_WIRE_DEST_H
#define RUSE_WIRE_DEST_H

#include "base/util.h"

/* True for an IPv4 address, ::ffff:a.b.c.d. */
static inline bool gid_is_v4(const uint8_t gid[16])
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	return !__builtin_memcmp(gid, v4, 12);
}

/* True for a multicast GID: first byte 0xff, or an IPv4-mapped address in 224.0.0.0/4; as rdma_is_multicast_addr(). */
static inline bool gid_is_mcast(const uint8_t gid[16])
{
	return gid[0] == 0xff || (gid_is_v4(gid) && (gid[12] & 0xf0) == 0xe0);
}

/* True for :: and for ::ffff:0.0.0.0. */
bool dest_is_unset(const uint8_t gid[16]);

/*
 * What ib_resolve_eth_dmac() of Linux 6.1 answers before it looks for a route: 0; -EINVAL: the GIDs are of different address
 * families; -ENODEV: 0.0.0.0, of IPv4; -ENETUNREACH: ::, of IPv6, as without a default route of IPv6. v1: the source GID is
 * of RoCEv1; then any source may have a link-local destination. Any source may have a multicast group.
 */
int dest_check(const uint8_t sgid[16], bool v1, const uint8_t dgid[16]);

/* The source GID that fits a destination best, of those that were offered. Begin with { .dgid = DESTINATION }. */
struct dest_choice {
	const uint8_t *dgid;
	unsigned int fit;	/* 0: none fits */
	uint32_t index;
};
/*
 * Offers the GID at this index of the table, which may be all zero. One of the destination's family fits. Better is a link-local
 * address for a link-local destination and another one for others, then a longer common prefix, then RoCEv2. Of equal ones the
 * first stays.
 */
void dest_offer(struct dest_choice *c, uint32_t index, const uint8_t sgid[16], bool v1);

#endif
