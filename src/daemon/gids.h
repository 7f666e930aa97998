/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's rules for a RoCE device's GUID, GID table and MTU (roce_gid_mgmt, cache, rxe), as pure functions. */
#ifndef RUSE_DAEMON_GIDS_H
#define RUSE_DAEMON_GIDS_H

#include "ipc/pages.h"

struct gid_raw {
	uint8_t b[16];
};

/* Modified EUI-64 of a 48-bit MAC (all zero on lo): the node GUID, network order. */
void guid_from_mac(uint8_t *guid, const uint8_t *mac);
/* ::ffff:a.b.c.d */
struct gid_raw gid_from_ipv4(const uint8_t *addr);
/*
 * Brings the table of d in line with the addresses: index 0 is the link-local
 * GID of this EUI-64, the MAC's of today (the node GUID is that of the MAC at
 * the start); the others keep their index while their address stays,
 * leave a hole when it goes, and come in at the lowest free index, in the order
 * given. Equal ones are entered once. Returns how many found no room.
 */
unsigned int gids_sync(struct host_dev *d, const uint8_t *eui64, const struct gid_raw *want,
		       unsigned int n);
/* enum ib_mtu from a netdev's MTU: the largest that leaves 80 bytes for headers; at least 256. */
uint8_t mtu_from_netdev(uint32_t mtu);
/* Width and speed codes from Mb/s; 0 = unknown, as 1000. */
void speed_from_netdev(struct host_dev *d, uint32_t mbps);

#endif
