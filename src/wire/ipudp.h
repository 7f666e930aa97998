/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The IP and UDP headers in front of a RoCEv2 packet (IBA A17.3), and its congestion notification. */
#ifndef RUSE_WIRE_IPUDP_H
#define RUSE_WIRE_IPUDP_H

#include "wire/seg.h"

#define ROCE_PORT 4791
#define IPUDP_MAX 48		/* IPv6 and UDP */
#define IPUDP_V4 28
#define IPUDP_DF 0x4000		/* IPv4: don't fragment */

/* Explicit congestion notification: the low two bits of traffic class or type of service (RFC 3168). */
#define ECN_MASK 0x3
#define ECN_CE 0x3

/* A congestion notification packet (IBA A17.9.3): BTH with BECN, 16 reserved bytes. No type of segment. */
#define CNP_OPCODE 0x81
#define CNP_LEN 28

/* Both addresses of net are IPv4-mapped. */
static inline bool net_is_v4(const struct seg_net *net)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	return !__builtin_memcmp(net->sgid, v4, 12) && !__builtin_memcmp(net->dgid, v4, 12);
}

/*
 * Writes the headers of a datagram with len bytes of UDP payload (at most
 * 65,507): IPv4 without options with its id, flags and fragment offset (frag)
 * and a right header checksum, or IPv6 without extensions; and UDP with
 * checksum 0. Ports in host order. Returns the bytes of IP header; UDP_HDR_LEN
 * bytes of UDP follow them.
 */
size_t ipudp_put(uint8_t p[IPUDP_MAX], const struct seg_net *net, uint16_t sport, uint16_t dport,
		 size_t len, uint16_t id, uint16_t frag);

/*
 * ICRC of the packet (BTH to pad, len bytes, at least BTH_LEN) that stands in
 * a datagram with these headers.
 */
uint32_t ipudp_icrc(const uint8_t *hdr, size_t iplen, const void *packet, size_t len);

/* Writes a CNP of CNP_LEN bytes for the QP dqpn of the peer. */
void cnp_put(uint8_t p[CNP_LEN], uint16_t pkey, uint32_t dqpn);
/* Is it one, of len bytes? Then *dqpn is whom it is for. */
bool cnp_get(const void *p, size_t len, uint32_t *dqpn);

#endif
