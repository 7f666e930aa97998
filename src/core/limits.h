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
#define LIKE_MAX_INLINE 1024	/* of any adapter that a device may be like (core/like.h) */
#define DEV_MAX_SRQ_WR (1 << 20)
#define DEV_MAX_SRQ_SGE 27
#define DEV_MAX_CQE ((1 << 22) - 1)	/* the ring of a CQ with this size has 256 MiB */
#define DEV_MAX_RD_ATOMIC 128
#define DEV_MAX_MSG 0x80000000u
#define DEV_GID_TBL 1024
#define DEV_IB_GID_TBL 8	/* size of the GID table of an InfiniBand port: one block of GUIDInfo */
#define DEV_MAX_PKEYS 128
#define DEV_PKEY_V1 DEV_MAX_PKEYS	/* in rdev.pkey: index of PKEY_ROCE_V1 */
#define DEV_MAX_KEY_INDEX 0x7ffff	/* key of an MR or window: index << 8 | low byte; index is in 1..0x7ffff */
#define DEV_PORT 1

/* QP number: number of a block (10 bits), which rused leases to a process, and index in the block (14 bits). */
#define QPN_INDEX_BITS 14
#define QPN_PER_BLOCK (1u << QPN_INDEX_BITS)
#define QPN_BLOCKS 1024

#endif
