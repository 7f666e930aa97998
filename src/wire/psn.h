/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packet sequence numbers: 24 bits, compared in a window of 2^23 (IBA 9.7.1). */
#ifndef RUSE_WIRE_PSN_H
#define RUSE_WIRE_PSN_H

#include "base/util.h"

#define PSN_MASK 0xffffffu

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/* Signed distance a - b, from -2^23 to 2^23 - 1. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
