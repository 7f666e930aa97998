/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Invariant CRC of RoCEv2 (IBA A17.3.3): CRC-32 over, in this order, eight bytes 0xff; IP
 * header, UDP header and BTH, with all bits set in the fields that a router may change;
 * all bytes after the BTH, the pad included. The ICRC follows the pad as the last four
 * bytes of the UDP payload, little-endian.
 */
#ifndef RUSE_WIRE_ICRC_H
#define RUSE_WIRE_ICRC_H

#include "base/util.h"

#define ICRC_LEN 4
#define UDP_HDR_LEN 8

/*
 * CRC up to the end of the BTH. ip: IPv4 header with options, or IPv6 header without
 * extensions (told by the version field); iplen: its length, 20 to 60 bytes. udp: 8
 * bytes. bth: BTH_LEN bytes.
 */
uint32_t icrc_start(const void *ip, size_t iplen, const void *udp, const void *bth);
/* Continues the CRC over the bytes after the BTH, in one or more pieces. */
uint32_t icrc_add(uint32_t crc, const void *buf, size_t len);
/* Writes and reads the ICRC_LEN bytes at the end of the packet. */
void icrc_put(void *p, uint32_t crc);
uint32_t icrc_get(const void *p);

/*
 * A UDP socket does not show the IPv4 identification, which the ICRC covers. crc: the
 * CRC computed with id 0; got: the packet's ICRC; tail: number of bytes between the id
 * field and the ICRC. True if an id explains the difference, which for a damaged packet
 * happens 1 in 65,536 times; *id is then that id.
 */
bool icrc_explain_id(uint32_t crc, uint32_t got, size_t tail, uint16_t *id);

#endif
