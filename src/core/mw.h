/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows (IBA 10.6.7): keys that work requests bind to a part of an MR. */
#ifndef RUSE_CORE_MW_H
#define RUSE_CORE_MW_H

#include "core/qp.h"

/* enum ib_uverbs_mw_type */
enum mw_type { MW_TYPE_1 = 1, MW_TYPE_2 = 2 };

struct mw {
	struct pd *pd;
	uint32_t index;
	uint32_t rkey;		/* index << 8 | byte; BIND_MW replaces the byte */
	uint8_t type;		/* enum mw_type */
	struct mr *mr;		/* the MR it is bound to; NULL: not bound */
	uint32_t qpn;		/* type 2, bound: the QP that bound it; else 0 */
};

/* -EINVAL: unknown type; -ENOMEM. The rkey of a window that is not bound gives no access. */
int mw_alloc(struct pd *pd, enum mw_type type, struct mw **mw);
/* Unbinds and frees. On return no peer accesses memory through the window. */
int mw_dealloc(struct mw *mw);

/* Why a window is not bound or not invalidated (completion status MW_BIND_ERR), in the order of BIND_FAILED in why.def. */
enum mw_fault {
	MW_OK,
	MW_NO_WINDOW,		/* no window has the key */
	MW_NO_REGION,		/* no region has the lkey */
	MW_TYPE,		/* zero-based addresses or length 0 for the wrong type, or LOCAL_INV of type 1 */
	MW_BOUND,		/* type 2 and bound already */
	MW_QP_PD,		/* QP and window have different PDs */
	MW_MR_PD,		/* region and window have different PDs */
	MW_MR_ZERO,		/* the region is zero-based */
	MW_MR_BIND,		/* the region lacks MW_BIND */
	MW_MR_WRITE,		/* remote writes, and the region lacks LOCAL_WRITE */
	MW_OTHER_QP,		/* LOCAL_INV: bound on another QP */
	MW_RANGE,		/* not within the region */
};

/* Executes a BIND_MW of this QP with the checks of IBA 10.6.7.2 and the kernel's rxe_check_bind_mw(). */
enum mw_fault mw_bind(struct qp *qp, const struct mw_bind *bind);
/*
 * Executes LOCAL_INV, or the invalidation of a received SEND with invalidate: unbinds a type 2 window. The kernel's
 * rxe_invalidate_mw() and rxe_invalidate_mr() refuse the same.
 */
enum mw_fault mw_invalidate(struct qp *qp, uint32_t rkey);
/* Unbinds the type 2 windows that the QP has bound, before it is destroyed. */
void mw_qp_gone(struct qp *qp);

#endif
