/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows (IBA 10.6.7): keys that QPs bind to a part of an MR by work requests. */
#ifndef RUSE_CORE_MW_H
#define RUSE_CORE_MW_H

#include "core/qp.h"

/* enum ib_uverbs_mw_type */
enum mw_type { MW_TYPE_1 = 1, MW_TYPE_2 = 2 };

struct mw {
	struct pd *pd;
	uint32_t index;
	uint32_t rkey;		/* as bound last; a type 2 window's low byte comes from the program */
	uint8_t type;		/* enum mw_type */
	struct mr *mr;		/* bound to it (counted in mr->usecnt), NULL = not bound */
	uint32_t qpn;		/* type 2, bound: the QP that did it */
};

/* -EINVAL: type; -ENOMEM. The rkey is good for binding only. */
int mw_alloc(struct pd *pd, enum mw_type type, struct mw **mw);
/* Unbinds. On return no peer touches the range any more. */
int mw_dealloc(struct mw *mw);

/* A BIND_MW work request, read once. */
struct mw_bind {
	uint64_t addr, length;	/* length 0 unbinds (type 1) */
	uint32_t mr_lkey, mw_rkey, rkey, access;
};

/*
 * Executes a BIND_MW of this QP with the checks of kernel rxe_check_bind_mw()
 * and IBA 10.6.7.2. 0 or -EINVAL (completion status MW_BIND_ERR).
 */
int mw_bind(struct qp *qp, const struct mw_bind *bind);
/*
 * LOCAL_INV, or the invalidate of an incoming SEND: 0, or -EINVAL (no such
 * key, wrong PD or QP, type 1, an MR of the program: kernel
 * rxe_invalidate_mw() and rxe_invalidate_mr() of user MRs).
 */
int mw_invalidate(struct qp *qp, uint32_t rkey);
/* The QP is destroyed: type 2 windows that it has bound are invalid. */
void mw_qp_gone(struct qp *qp);

#endif
