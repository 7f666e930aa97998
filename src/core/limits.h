/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits of a device, and the layout of its QP numbers and keys. */
#ifndef RUSE_CORE_LIMITS_H
#define RUSE_CORE_LIMITS_H

/*
 * As reported by kernel rxe 6.1; larger where hardware reports more and ruse supports it
 * (doc/deviations.md).
 */
#define DEV_MAX_QP_WR (1 << 20)
#define DEV_MAX_SGE 32
#define DEV_MAX_INLINE 512
#define DEV_MAX_CQE ((1 << 22) - 1)	/* a ring of 256 MiB; smaller CQs use less */
#define DEV_MAX_RD_ATOMIC 128
#define DEV_MAX_MSG 0x80000000u
#define DEV_GID_TBL 1024
#define DEV_IB_GID_TBL 8	/* InfiniBand port: first block of GUIDInfo */
#define DEV_MAX_PKEYS 128
#define DEV_MAX_KEY_INDEX 0x7ffff	/* MR keys: index 1..0x7ffff, key = index << 8 | byte */
#define DEV_PORT 1

/* QP number: block (10 bits), leased by a process from rused, and index in the block (14 bits). */
#define QPN_INDEX_BITS 14
#define QPN_PER_BLOCK (1u << QPN_INDEX_BITS)
#define QPN_BLOCKS 1024

#endif
