/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of a device's port, and the entries of its GID table. */
#ifndef RUSE_CORE_PORT_H
#define RUSE_CORE_PORT_H

#include <net/if.h>
#include "base/util.h"

struct gid_entry {
	uint8_t raw[16];	/* all zero: empty entry */
	uint32_t ifindex;	/* network interface of the address */
	uint32_t v1;		/* 1: RoCEv1; 0: RoCEv2, or an InfiniBand port */
};

/* Attributes that may change during the life of the device. */
struct port_attr {
	uint8_t state;		/* enum ib_port_state: 1 DOWN, 4 ACTIVE */
	uint8_t phys_state;	/* 2 Polling, 3 Disabled, 5 LinkUp */
	uint8_t active_mtu;	/* enum ib_mtu 1..5 */
	uint8_t active_width, active_speed;
	uint32_t cap_mask;	/* PortInfo:CapabilityMask */
	uint32_t ifindex;
	char ndev[IFNAMSIZ];
	bool ib;		/* link layer InfiniBand; RoCE: false, and all fields below are 0 */
	uint8_t lmc, sm_sl, max_mtu, max_vl, init_reply, subnet_timeout;
	uint16_t lid, sm_lid, cap_flags2;
	uint32_t reregister;	/* number of client reregistrations requested by the SM */
};

static inline bool gid_is_zero(const struct gid_entry *g)
{
	static const uint8_t zero[16];

	return !__builtin_memcmp(g->raw, zero, 16);
}

#endif
