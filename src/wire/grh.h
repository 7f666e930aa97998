/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The 40 bytes in front of a datagram's payload in its receive buffer. */
#ifndef RUSE_WIRE_GRH_H
#define RUSE_WIRE_GRH_H

#include "wire/seg.h"

#define GRH_LEN 40

/*
 * Writes the network header of the packet that a wire would carry for this
 * UD SEND (IBA A17.4.5.1): IPv6 as it is; IPv4 in the last 20 bytes, with a
 * right checksum, behind 20 bytes of zeros. seg->net must be set.
 */
void grh_build(const struct seg *seg, uint8_t grh[GRH_LEN]);

#endif
