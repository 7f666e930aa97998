/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Partition keys (IBA 10.9): 15 bits of partition number; bit 15 means full member. */
#ifndef RUSE_WIRE_PKEY_H
#define RUSE_WIRE_PKEY_H

#include <stdbool.h>
#include <stdint.h>

#define PKEY_DEFAULT 0xffff	/* default partition, full member */

/* True for P_Keys of the same partition, of either membership. */
static inline bool pkey_same(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff);
}

/*
 * P_Key check of a packet (IBA 9.6.1.4.1, 10.2.4): entry, of the receiving port's P_Key table, has the same partition
 * as pkey, and one of the two has full membership. An entry with partition number 0 is invalid and admits no packet.
 */
static inline bool pkey_admits(uint16_t entry, uint16_t pkey)
{
	return entry & 0x7fff && pkey_same(entry, pkey) && (entry | pkey) & 0x8000;
}

#endif
