/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* IP and UDP headers of RoCEv2 packets (IBA A17.3), and congestion notification packets (CNP). */
#ifndef RUSE_WIRE_IPUDP_H
#define RUSE_WIRE_IPUDP_H

#include "wire/dest.h"
#include "wire/seg.h"

#define ROCE_PORT 4791
#define HOP_LIMIT_DEFAULT 64	/* of the kernel: net.ipv4.ip_default_ttl, IPv6 hop_limit */
#define IPUDP_MAX 48		/* IPv6 and UDP */
#define IPUDP_V4 28
#define IPUDP_DF 0x4000		/* IPv4: don't fragment */

/* Explicit congestion notification: low two bits of traffic class or TOS (RFC 3168). */
#define ECN_MASK 0x3
#define ECN_CE 0x3

/* Congestion notification packet (IBA A17.9.3): BTH with BECN, 16 reserved bytes. */
#define CNP_OPCODE 0x81
#define CNP_LEN 28

/* True if both addresses are IPv4-mapped. */
static inline bool net_is_v4(const struct seg_net *net)
{
	return gid_is_v4(net->sgid) && gid_is_v4(net->dgid);
}

/*
 * Hop limit of a RoCEv2 packet to dgid: the route's for a unicast address, whatever the address vector has (kernel 6.1:
 * ib_resolve_unicast_gid_dmac()); for a multicast address that of the address vector, or the default for 0.
 */
static inline uint8_t net_hop_limit(const uint8_t dgid[16], uint8_t hop_limit)
{
	return gid_is_mcast(dgid) && hop_limit ? hop_limit : HOP_LIMIT_DEFAULT;
}

/*
 * Writes the headers of a datagram with len bytes (at most 65,507) of UDP payload.
 * IPv4: no options; id, frag (flags and fragment offset) and header checksum. IPv6: no
 * extensions, flow label 0 (as kernel rxe: the label only chooses the source port). UDP:
 * checksum 0. Ports are in host byte order. Returns the length of the IP header; UDP_HDR_LEN bytes
 * of UDP header follow.
 */
size_t ipudp_put(uint8_t p[IPUDP_MAX], const struct seg_net *net, uint16_t sport, uint16_t dport,
		 size_t len, uint16_t id, uint16_t frag);

/*
 * ICRC of a packet (BTH to pad, len bytes, at least BTH_LEN) in a datagram with these
 * headers.
 */
uint32_t ipudp_icrc(const uint8_t *hdr, size_t iplen, const void *packet, size_t len);

/* Writes a CNP of CNP_LEN bytes for the QP dqpn of the peer. */
void cnp_put(uint8_t p[CNP_LEN], uint16_t pkey, uint32_t dqpn);
/* True if the len bytes are a CNP; *dqpn is then its destination QP. */
bool cnp_get(const void *p, size_t len, uint32_t *dqpn);

#endif
