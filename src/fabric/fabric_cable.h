/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cables of a fabric with their counters, and the way of a packet. */
#ifndef RUSE_FABRIC_FABRIC_CABLE_H
#define RUSE_FABRIC_FABRIC_CABLE_H

#include "fabric/fabric.h"

/* The cable of a port, and what the port has counted. */
struct fabric_cable {
	uint32_t peer;			/* node at the other end */
	uint8_t peer_port, width;	/* width and speed: of the cable, as in struct topo_port */
	enum topo_speed speed;
	enum port_state state;
	uint8_t active_width;		/* of the link; without meaning if the state is Down */
	enum topo_speed active_speed;
	uint64_t bytes, packets;	/* sent */
	uint32_t discards;		/* PortXmitDiscards */
	uint32_t errors;		/* the other error counters together, without LinkDowned */
	uint32_t downed;		/* LinkDowned */
};

/* -EINVAL: no such port; -ENOENT: it has no cable. */
int fabric_port_cable(const struct fabric *f, uint32_t node, uint8_t port, struct fabric_cable *c);

/*
 * The linear forwarding table of a switch: a port for each LID from 0, SMP_LFT_NONE if there is none. *n: its length, 0: it
 * has no table. Valid until the table changes.
 */
const uint8_t *fabric_lft(const struct fabric *f, uint32_t node, uint32_t *n);
/*
 * Follows the forwarding tables from a host's port to a unicast LID, by the default P_Key and SL 0. hop() is called for each
 * port on the way that sends, in order, also if the way ends at the wrong place. Nothing is counted.
 */
enum fabric_fate fabric_trace(struct fabric *f, uint32_t node, uint8_t port, uint16_t dlid,
			      fabric_deliver hop, void *ctx);

#endif
