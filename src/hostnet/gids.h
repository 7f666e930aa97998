/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's rules for GUID, GIDs, MTU and speed of a RoCE device (roce_gid_mgmt, cache, rxe). */
#ifndef RUSE_HOSTNET_GIDS_H
#define RUSE_HOSTNET_GIDS_H

#include "ipc/pages.h"

struct gid_raw {
	uint8_t b[16];
};

/* Node GUID: modified EUI-64 of a 48-bit MAC (all zero on lo), network order. */
void hostnet_guid_from_mac(uint8_t *guid, const uint8_t *mac);
/* IPv4-mapped GID ::ffff:a.b.c.d. */
struct gid_raw hostnet_gid_from_ipv4(const uint8_t *addr);
/*
 * Updates the GID table of d, which has d->gid_len entries, of which HOST_MAX_GIDS are used. Each address has an entry of
 * RoCEv2 and, if `v1`, before it one of RoCEv1. The first entries are those of the link-local GID of eui64, which follows
 * the present MAC (the node GUID keeps the first MAC). An address keeps its index while it exists and leaves a hole
 * afterwards; a new one gets the lowest free index, in the order of want. Duplicates are entered
 * once. Returns the number of entries for which the table had no room.
 */
unsigned int gids_sync(struct host_dev *d, const uint8_t *eui64, const struct gid_raw *want,
		       unsigned int n, bool v1);
/* enum ib_mtu for an interface's MTU: the largest that leaves 80 bytes for headers, but at least IB_MTU_256. */
uint8_t hostnet_mtu_from_netdev(uint32_t mtu);
/* Width and speed codes for a speed in Mb/s; 0 = unknown, treated as 1000. */
void hostnet_speed_from_netdev(struct host_dev *d, uint32_t mbps);

#endif
