/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCEv2 frames on Ethernet (IBA A17.3): Ethernet, IPv4 or IPv6, UDP, the packet, its
 * ICRC. Used for captures: to write traffic over shared memory as frames, and to read
 * captured frames.
 */
#ifndef RUSE_WIRE_FRAME_H
#define RUSE_WIRE_FRAME_H

#include "wire/icrc.h"
#include "wire/ipudp.h"
#include "wire/packet.h"

#define ETH_LEN 14
#define FRAME_MAX (ETH_LEN + IPUDP_MAX + PACKET_MAX + ICRC_LEN)

/* Bytes before the packet in a frame between these addresses. */
static inline size_t frame_head(const struct seg_net *net)
{
	return ETH_LEN + (net_is_v4(net) ? IPUDP_V4 : IPUDP_MAX);
}

/*
 * UDP source port of a flow, as kernel rxe computes it: from the flow label (20 bits)
 * if not 0, else from both QP numbers; for datagrams (rqpn 0) from lqpn alone.
 */
uint16_t frame_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn);

/*
 * Adds headers and ICRC to the packet of len bytes (BTH to pad) at
 * buf + frame_head(net); buf has FRAME_MAX bytes. IPv4: id 0 and DF, as sent by a
 * Linux socket. MAC addresses come from link-local addresses or multicast groups, or
 * are derived from the IP address. Returns the length of the frame.
 */
size_t frame_wrap(uint8_t *buf, const struct seg_net *net, uint16_t sport, size_t len);

enum frame_kind {
	FRAME_ROCE,	/* RoCEv2 packet with a correct ICRC */
	FRAME_ICRC,	/* RoCEv2 packet with a wrong ICRC */
	FRAME_CUT,	/* truncated RoCEv2 packet */
	FRAME_OTHER,	/* not RoCEv2 */
	FRAME_NKINDS
};

struct frame {
	struct seg_net net;
	uint16_t sport;
	const uint8_t *packet;	/* points into the frame */
	uint32_t len;		/* bytes of the packet from BTH to pad; FRAME_CUT: the bytes that were captured */
};

/* Parses a captured frame of caplen bytes, with or without VLAN tags. *f is valid unless the result is FRAME_OTHER. */
enum frame_kind frame_parse(const void *buf, size_t caplen, struct frame *f);

#endif
