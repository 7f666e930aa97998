/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whole frames as an Ethernet carries RoCEv2 (IBA A17.3): Ethernet, IPv4 or
 * IPv6, UDP, the packet, its ICRC. For captures: what goes through memory is
 * shown as a wire would have carried it, and what others have captured is read.
 */
#ifndef RUSE_WIRE_FRAME_H
#define RUSE_WIRE_FRAME_H

#include "wire/icrc.h"
#include "wire/ipudp.h"
#include "wire/packet.h"

#define ETH_LEN 14
#define FRAME_MAX (ETH_LEN + IPUDP_MAX + PACKET_MAX + ICRC_LEN)

/* Bytes in front of the packet in a frame between these addresses. */
static inline size_t frame_head(const struct seg_net *net)
{
	return ETH_LEN + (net_is_v4(net) ? IPUDP_V4 : IPUDP_MAX);
}

/*
 * The UDP source port that the kernel's rxe gives a flow: from the flow label
 * (20 bits) if there is one, else from both QP numbers; of datagrams, whose rqpn
 * is 0, from the sender's alone.
 */
uint16_t frame_sport(uint32_t flow_label, uint32_t lqpn, uint32_t rqpn);

/*
 * Puts headers and ICRC around the packet of len bytes (BTH to pad) that stands
 * at buf + frame_head(net); buf has FRAME_MAX bytes. IPv4 id 0 and DF, as a
 * Linux socket sends it. MAC addresses are those inside link-local addresses,
 * the group's, or made up from the IP address. Bytes of the frame.
 */
size_t frame_wrap(uint8_t *buf, const struct seg_net *net, uint16_t sport, size_t len);

enum frame_kind {
	FRAME_ROCE,	/* a RoCEv2 packet whose ICRC is right */
	FRAME_ICRC,	/* one whose ICRC is wrong */
	FRAME_CUT,	/* one that is not all there */
	FRAME_OTHER,	/* something else */
	FRAME_NKINDS
};

struct frame {
	struct seg_net net;
	uint16_t sport;
	const uint8_t *packet;	/* in the frame */
	uint32_t len;		/* bytes of it, BTH to pad; of a cut one those that are there */
};

/* Takes a captured frame of caplen bytes apart; *f is set unless it is FRAME_OTHER. */
enum frame_kind frame_parse(const void *buf, size_t caplen, struct frame *f);

#endif
