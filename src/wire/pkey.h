/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Partition keys (IBA 10.9): 15 bits name the partition, the 16th says full member. */
#ifndef RUSE_WIRE_PKEY_H
#define RUSE_WIRE_PKEY_H

#include <stdbool.h>
#include <stdint.h>

/* P_Keys of one partition, whoever is a full member of it. */
static inline bool pkey_same(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff);
}

/* IBA 9.6.1.4.1, 10.2.4: an entry of the table lets a packet in of the same partition, one of both as a full member. */
static inline bool pkey_admits(uint16_t entry, uint16_t pkey)
{
	return entry & 0x7fff && pkey_same(entry, pkey) && (entry | pkey) & 0x8000;
}

#endif
