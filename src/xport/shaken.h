/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `ruse run --shake` changes in the transport (core/shake.h). Only for a QP with QP_SHAKEN. */
#ifndef RUSE_XPORT_SHAKEN_H
#define RUSE_XPORT_SHAKEN_H

#include "core/shake.h"
#include "xport/xport.h"

/* xport.c: hands over segments that were kept and that are due. */
void xp_shaken_due(struct qp *qp, ns_t now);

/*
 * shaken.c: xp_place() of a segment that ends a message; `before` bytes of it are placed. -EINPROGRESS: a part is not placed yet,
 * and the segment comes again: the caller treats it as lost.
 */
int xp_place_shaken(struct qp *qp, const struct seg *seg, uint64_t off, uint64_t before,
		    const struct iovec *dst, int ndst, uint64_t len);

#endif
