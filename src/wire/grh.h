/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The 40 bytes before a datagram's payload in its receive buffer. */
#ifndef RUSE_WIRE_GRH_H
#define RUSE_WIRE_GRH_H

#include "wire/hdr.h"
#include "wire/seg.h"

/*
 * Writes the network header that this UD SEND has on a wire (IBA A17.4.5.1): an IPv6
 * header, or 20 zero bytes and an IPv4 header with checksum; with RoCEv1 and on InfiniBand a GRH. seg->net must be set.
 */
void grh_build(const struct seg *seg, uint8_t grh[GRH_LEN]);

#endif
