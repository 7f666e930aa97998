/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Partition keys (IBA 10.9): 15 bits of partition number; bit 15 means full member. */
#ifndef RUSE_WIRE_PKEY_H
#define RUSE_WIRE_PKEY_H

#include <stdbool.h>
#include <stdint.h>

#define PKEY_DEFAULT 0xffff	/* default partition, full member */
/*
 * In segments of RoCEv1, which exist within a host only, in place of the P_Key: so the check of the P_Key keeps QPs of both
 * RoCE versions apart. Its partition number is invalid, so no packet of a wire and no P_Key table has it.
 */
#define PKEY_ROCE_V1 0x8000
#define PKEY_NONE 0	/* in an answer that a shm link makes itself: admitted by every QP */

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
