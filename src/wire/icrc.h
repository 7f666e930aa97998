/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Invariant CRC of RoCEv2 (IBA A17.3.3): CRC-32 over eight bytes of ones, the
 * IP and UDP headers and the BTH with the fields that a router may change
 * replaced by ones, and all that follows up to the pad. It stands last in the
 * UDP payload, little-endian.
 */
#ifndef RUSE_WIRE_ICRC_H
#define RUSE_WIRE_ICRC_H

#include "base/util.h"

#define ICRC_LEN 4
#define UDP_HDR_LEN 8

/*
 * The CRC up to and including the BTH. ip: IPv4 header, options too, or IPv6
 * header without extensions, by its version nibble; iplen bytes; it ends the
 * headers: no more than 60 bytes. udp: 8 bytes. bth: BTH_LEN bytes.
 */
uint32_t icrc_start(const void *ip, size_t iplen, const void *udp, const void *bth);
/* Goes on over what follows the BTH, in as many pieces as there are. */
uint32_t icrc_add(uint32_t crc, const void *buf, size_t len);
/* ICRC_LEN bytes at the end of the packet. */
void icrc_put(void *p, uint32_t crc);
uint32_t icrc_get(const void *p);

/*
 * A UDP socket does not show the IPv4 identification. crc was computed with
 * id 0 over a packet with tail bytes from the end of the id field to the ICRC;
 * the wire had got. True if some id explains the difference (1 in 65,536 for
 * a damaged packet); then *id is it.
 */
bool icrc_explain_id(uint32_t crc, uint32_t got, size_t tail, uint16_t *id);

#endif
