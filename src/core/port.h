/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a port changes while its device lives. */
#ifndef RUSE_CORE_PORT_H
#define RUSE_CORE_PORT_H

#include <net/if.h>
#include "base/util.h"

struct gid_entry {
	uint8_t raw[16];	/* all zero = empty */
	uint32_t ifindex;
};

/* Port attributes that change while the device lives. */
struct port_attr {
	uint8_t state;		/* enum ib_port_state: 1 DOWN, 4 ACTIVE */
	uint8_t phys_state;	/* 2 Polling, 3 Disabled, 5 LinkUp */
	uint8_t active_mtu;	/* enum ib_mtu 1..5 */
	uint8_t active_width, active_speed;
	uint32_t cap_mask;	/* PortInfo:CapabilityMask */
	uint32_t ifindex;
	char ndev[IFNAMSIZ];
	bool ib;		/* link layer InfiniBand; what follows is 0 on RoCE */
	uint8_t lmc, sm_sl, max_mtu, max_vl, init_reply, subnet_timeout;
	uint16_t lid, sm_lid, cap_flags2;
	uint32_t reregister;	/* how often the SM has asked for it */
};

static inline bool gid_is_zero(const struct gid_entry *g)
{
	static const uint8_t zero[16];

	return !__builtin_memcmp(g->raw, zero, 16);
}

#endif
