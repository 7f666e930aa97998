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

/*
 * Executes a BIND_MW of this QP with the checks of IBA 10.6.7.2 and the kernel's
 * rxe_check_bind_mw(). 0 or -EINVAL (completion status MW_BIND_ERR).
 */
int mw_bind(struct qp *qp, const struct mw_bind *bind);
/*
 * Executes LOCAL_INV, or the invalidation of a received SEND with invalidate: unbinds a
 * type 2 window. -EINVAL: unknown key, wrong PD or QP, type 1, or an MR's key; the kernel's
 * rxe_invalidate_mw() and rxe_invalidate_mr() refuse these too.
 */
int mw_invalidate(struct qp *qp, uint32_t rkey);
/* Unbinds the type 2 windows that the QP has bound, before it is destroyed. */
void mw_qp_gone(struct qp *qp);

#endif
