/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every adapter takes that data/like describes: the smallest of its limits, but those of adapters that lack what is limited.
 * libruse.so cannot read these files. like/test-strictest.c compares.
 */
#ifndef RUSE_CORE_COMMON_H
#define RUSE_CORE_COMMON_H

#define COMMON_QP_WR 4063u
#define COMMON_SGE 6u
#define COMMON_INLINE 96u
#define COMMON_CQE 32767u
#define COMMON_SRQ_WR 32767u
#define COMMON_SRQ_SGE 27u
#define COMMON_RD_ATOMIC 16u

#endif
