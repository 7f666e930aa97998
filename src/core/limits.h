/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device has room for, and how its numbers are made. */
#ifndef RUSE_CORE_LIMITS_H
#define RUSE_CORE_LIMITS_H

/* What the kernel's rxe 6.1 reports, and where hardware says more, what we can do (doc/deviations.md). */
#define DEV_MAX_QP_WR (1 << 20)
#define DEV_MAX_SGE 32
#define DEV_MAX_INLINE 512
#define DEV_MAX_CQE ((1 << 22) - 1)	/* a ring of 256 MiB; a CQ has the memory that it was asked for */
#define DEV_MAX_RD_ATOMIC 128
#define DEV_MAX_MSG 0x80000000u
#define DEV_GID_TBL 1024
#define DEV_IB_GID_TBL 8	/* of an InfiniBand port: GUIDInfo's first block */
#define DEV_MAX_PKEYS 128
#define DEV_MAX_KEY_INDEX 0x7ffff	/* MR keys: index 1..0x7ffff, key = index << 8 | byte */
#define DEV_PORT 1

/* A QP number: block (10 bits) that a process leases, index (14 bits) in it. */
#define QPN_INDEX_BITS 14
#define QPN_PER_BLOCK (1u << QPN_INDEX_BITS)
#define QPN_BLOCKS 1024

#endif
