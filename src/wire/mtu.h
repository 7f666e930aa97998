/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Path MTUs, which ABI and MADs give as enum ib_mtu (IBA 14.2.5.6): 1 is 256 bytes, 5 is 4096. */
#ifndef RUSE_WIRE_MTU_H
#define RUSE_WIRE_MTU_H

#include "base/util.h"

#define IB_MTU_4096 5	/* the largest */

static inline uint32_t mtu_bytes(uint32_t mtu)
{
	return 128u << mtu;
}

#endif
