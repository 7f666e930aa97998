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
	uint32_t res;		/* the host's */
};

int pd_create(struct ucontext *uctx, struct pd **pd);
int pd_destroy(struct pd *pd);

struct ah {
	struct pd *pd;
	uint32_t num;		/* ah_num of the provider, never 0 */
	struct ib_uverbs_ah_attr attr;
};

/* -EINVAL: no GRH (RoCE), port; -ENODATA: no GID at the SGID index; -ENOMEM. */
int ah_create(struct pd *pd, const struct ib_uverbs_ah_attr *attr, struct ah **ah);
int ah_destroy(struct ah *ah);
/* The checks that ah_create() and MODIFY_QP make of an address vector. 0, -EINVAL, -ENODATA. */
int ah_check_attr(const struct rdev *dev, const struct ib_uverbs_ah_attr *attr);

struct mr {
	struct pd *pd;
	uint32_t index;
	uint32_t lkey, rkey;	/* rkey 0 without remote access */
	uint32_t usecnt;	/* memory windows bound to it */
	uint32_t res;		/* the host's */
};

/*
 * start, length, iova, access as REG_MR has them. -EINVAL: (start ^ iova) & 4095,
 * access bits unknown or REMOTE_WRITE/ATOMIC without LOCAL_WRITE, range that
 * overflows, or that touches no page (length 0 at a page's start, as the
 * kernel); -EFAULT: part of the range is not mapped (or not writable where
 * write access of any kind is asked) at this moment; -ENOMEM. Touches no page
 * of the range where the kernel can be asked about mappings (6.11).
 */
int mr_create(struct pd *pd, uint64_t start, uint64_t length, uint64_t iova,
	      uint32_t access, struct mr **mr);
/* What REREG_MR changes: all that mr_create() takes, as it is (mr_change_init()) or new. */
struct mr_change {
	struct pd *pd;
	uint64_t start, length, iova;
	uint32_t access;
};
void mr_change_init(struct mr_change *c, const struct mr *mr);
/* As mr_create(); -EINVAL too while windows are bound. The keys are new ones. After an error the MR is as it was. */
int mr_rereg(struct mr *mr, const struct mr_change *c);

/* enum ib_uverbs_advise_mr_advice */
enum mr_advice { MR_PREFETCH, MR_PREFETCH_WRITE, MR_PREFETCH_NO_FAULT };
/*
 * ADVISE_MR of one range, with check: only whether it may be. -ENOENT: no such
 * lkey; -EPERM: another PD, or not writable; -EFAULT: beyond the MR, or not mapped.
 */
int mr_prefetch(const struct pd *pd, uint32_t lkey, uint64_t addr, uint64_t length,
		enum mr_advice advice, bool check);

/* -EINVAL while memory windows are bound (IBA 10.6.7.2.6). On return no peer touches the range any more. */
int mr_destroy(struct mr *mr);

/*
 * May QP qpn of this PD touch [va, va + len) through key (of an MR or a bound
 * memory window) with this access (one remote IB_ACCESS_ bit, or KEY_LOCAL with
 * or without LOCAL_WRITE)? len 0 is the caller's business (never checked). *addr
 * gets the address in this process.
 */
static inline enum mr_status mr_check(const struct rdev *dev, uint32_t pd, uint32_t qpn,
				      uint32_t key, uint64_t va, uint64_t len,
				      uint32_t access, void **addr)
{
	uint32_t index = key >> 8;
	enum mr_status st;
	uint64_t a;

	if (unlikely(index > DEV_MAX_KEY_INDEX))
		return MR_BAD_KEY;
	st = key_card_check(&dev->keys[index], pd, qpn, key, va, len, access, &a);
	if (likely(st == MR_OK))
		*addr = (void *)(uintptr_t)a;
	return st;
}

#endif
