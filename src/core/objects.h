/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PD, AH and MR. One shape for all: x_create(..., struct x **) returns 0 or
 * -errno; x_destroy() refuses with -EBUSY while others refer to the object,
 * and otherwise frees it. usecnt counts those who refer.
 */
#ifndef RUSE_CORE_OBJECTS_H
#define RUSE_CORE_OBJECTS_H

#include "core/device.h"
#include "queue/card.h"

struct pd {
	struct ucontext *uctx;
	uint32_t id;		/* unique in the process, never 0; what key cards and QP cards carry */
	uint32_t usecnt;	/* MR, AH, QP, SRQ, MW */
};

int pd_create(struct ucontext *uctx, struct pd **pd);
int pd_destroy(struct pd *pd);

struct ah {
	struct pd *pd;
	uint32_t num;		/* ah_num of the provider, never 0 */
	struct ib_uverbs_ah_attr attr;
};

/* -EINVAL: no GRH (RoCE), port, SGID index that names no GID. */
int ah_create(struct pd *pd, const struct ib_uverbs_ah_attr *attr, struct ah **ah);
int ah_destroy(struct ah *ah);

struct mr {
	struct pd *pd;
	uint32_t index;
	uint32_t lkey, rkey;	/* rkey 0 without remote access */
	uint32_t usecnt;	/* memory windows bound to it */
};

/*
 * start, length, iova, access as REG_MR has them. -EINVAL: (start ^ iova) & 4095,
 * access bits unknown or REMOTE_WRITE/ATOMIC without LOCAL_WRITE, range that
 * overflows; -EFAULT: part of the range is not mapped (or not writable where
 * LOCAL_WRITE is asked) at this moment; -ENOMEM.
 */
int mr_create(struct pd *pd, uint64_t start, uint64_t length, uint64_t iova,
	      uint32_t access, struct mr **mr);
int mr_destroy(struct mr *mr);

/*
 * May a QP of this PD touch [va, va + len) through key with this access (one
 * IB_ACCESS_ bit, 0 = local read)? len 0 is the caller's business (never checked).
 * *addr gets the address in this process.
 */
enum mr_status mr_check(const struct rdev *dev, uint32_t pd, uint32_t key, uint64_t va,
			uint64_t len, uint32_t access, void **addr);
#endif
