/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PD, AH and MR. Their functions have the same form: x_create(..., struct x **) returns 0 or
 * -errno; x_destroy() frees the object, or returns -EBUSY (MR: -EINVAL) while other objects
 * refer to it. usecnt is the number of objects that refer to it.
 */
#ifndef RUSE_CORE_OBJECTS_H
#define RUSE_CORE_OBJECTS_H

#include "arena/arena.h"
#include "core/ah.h"
#include "core/device.h"
#include "queue/card.h"

struct pd {
	struct ucontext *uctx;
	uint32_t id;	 /* unique in the process, never 0; compared in key checks (queue/card.h) */
	uint32_t usecnt; /* MRs, AHs, QPs, SRQs, MWs */
	uint32_t res;	 /* engine/: number of its record in the table for `rdma res show` (ipc/res.h); 0: none */
};

/* -EINVAL: too many PDs (as kernel rxe); -ENOMEM. */
int pd_create(struct ucontext *uctx, struct pd **pd);
int pd_destroy(struct pd *pd);

/* May peers map the memory of an MR (arena/arena.h)? If not, why. */
enum mr_memory {
	MR_MEM_SHARED,	/* they may */
	MR_MEM_UNASKED, /* the process has no arena: RUSE_MEMORY */
	MR_MEM_REFUSED, /* it has none because of a limit */
	MR_MEM_GUARDED, /* it has none as processes may not access each other's memory */
	MR_MEM_LOST,	/* it was the memory of a parent, of which a child has a private copy */
	MR_MEM_DEMAND,	/* on-demand paging, or of length 0 */
	MR_MEM_PARTLY,	/* partly outside the arena */
	MR_MEM_COVERED, /* at the arena's addresses something else is mapped */
	MR_MEM_STACK,
	MR_MEM_FILE,  /* a file, or shared memory */
	MR_MEM_FULL,  /* other memory, and the arena has been full */
	MR_MEM_OTHER, /* other memory, as of malloc() */
	MR_MEMORIES
};

/* The pin of memory of the arena. It outlives its MR while a peer is stopped within an access to the memory. */
struct mr_pin {
	struct list_head entry; /* in rdev.ended, after the end of the MR */
	uint64_t off, len;	/* in the arena */
	uint64_t since;		/* number of the withdrawal of its key (rdev_ops.withdrawn) */
};

struct mr {
	struct pd *pd;
	uint32_t index;
	uint32_t lkey, rkey; /* rkey 0 without remote access */
	uint32_t usecnt;     /* memory windows bound to it */
	enum mr_memory memory;
	struct mr_pin *pin; /* NULL: memory is not MR_MEM_SHARED */
	uint32_t res; /* engine/: number of its record in the table for `rdma res show` (ipc/res.h); 0: none */
};

/* Access flags in headers of Linux 6.3 and later. FLUSH_PERSISTENT is refused: it needs persistent memory. */
#define ACCESS_FLUSH_GLOBAL (1u << 8)
#define ACCESS_FLUSH_PERSISTENT (1u << 9)
#define MR_ACCESS_KNOWN (0xffu | ACCESS_FLUSH_GLOBAL | IB_UVERBS_ACCESS_OPTIONAL_RANGE)

/*
 * REG_MR; lengths in bytes. -EINVAL: start and iova differ in the page offset; unknown
 * access bits, or REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE; the range overflows or
 * covers no page (length 0 at the start of a page, as in the kernel). -EFAULT: a part of
 * the range is not mapped, or not writable if access includes writing (before Linux 6.11
 * only the first and the last page are checked for that: mr.c); not checked with ON_DEMAND.
 * -ENOMEM. With PROCMAP_QUERY (Linux 6.11) no page of the range is touched.
 */
int mr_create(struct pd *pd, uint64_t start, uint64_t length, uint64_t iova,
	      uint32_t access, struct mr **mr);
/* Parameters of REREG_MR. mr_change_init() fills them with the values that the MR has; the caller changes some. */
struct mr_change {
	struct pd *pd;
	uint64_t start, length, iova;
	uint32_t access;
};
void mr_change_init(struct mr_change *c, const struct mr *mr);
/*
 * Errors as mr_create(), and -EINVAL while windows are bound. Gives the MR new keys. After
 * an error the MR is unchanged.
 */
int mr_rereg(struct mr *mr, const struct mr_change *c);

/* enum ib_uverbs_advise_mr_advice */
enum mr_advice { MR_PREFETCH,
		 MR_PREFETCH_WRITE,
		 MR_PREFETCH_NO_FAULT };
/*
 * ADVISE_MR of one range: faults its pages in. check: only checks whether that is allowed.
 * -ENOENT: unknown lkey; -EPERM: another PD, or no local write access for
 * MR_PREFETCH_WRITE; -EFAULT: outside the MR, or not mapped. 0 if the kernel cannot
 * prefetch (before 5.14).
 */
int mr_prefetch(const struct pd *pd, uint32_t lkey, uint64_t addr, uint64_t length,
		enum mr_advice advice, bool check);

/*
 * -EINVAL while memory windows are bound (IBA 10.6.7.2.6). When the command returns to the
 * program (rdev_ops.withdrawn), no peer that runs accesses the range through the MR.
 */
int mr_destroy(struct mr *mr);
/*
 * Ends the pins of MRs that ended while a peer was within an access, as far as none is any more. Cheap if
 * there are none. Does not call malloc() or free().
 */
void mr_ended_unpin(struct rdev *dev);
void mr_ended_forget(struct rdev *dev); /* in a forked child, whose arena has no pins */

/* The card that this key would have; one that is not in use if there is none. */
static inline const struct key_card *key_card_of(const struct rdev *dev, uint32_t key)
{
	static const struct key_card none;

	return key >> 8 < dev->nkeys ? &dev->keys[key >> 8] : &none;
}

/*
 * Checks whether QP qpn of this PD may access [va, va + len) through key, an lkey or rkey of
 * an MR or the rkey of a bound memory window. access: one remote bit, or KEY_LOCAL with or
 * without LOCAL_WRITE. For a transfer of length 0 the caller skips the check. On MR_OK
 * *addr is an address in this process; for pinned memory it may be another one than the program's.
 */
static inline enum mr_status mr_check(const struct rdev *dev, uint32_t pd, uint32_t qpn,
				      uint32_t key, uint64_t va, uint64_t len,
				      uint32_t access, void **addr)
{
	uint32_t index = key >> 8;
	enum mr_status st;
	uint64_t a;

	if (unlikely(index >= dev->nkeys))
		return MR_BAD_KEY;
	st = key_card_check(&dev->keys[index], pd, qpn, key, va, len, access, &a);
	if (likely(st == MR_OK))
		*addr = dev->keys[index].shared ? arena_pinned_at(a) : (void *)(uintptr_t)a;
	return st;
}

#endif
