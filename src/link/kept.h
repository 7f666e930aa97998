/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A segment that outlives the call by which it came or is sent: by a fault rule, or a decision of `ruse run --shake`.
 */
#ifndef RUSE_LINK_KEPT_H
#define RUSE_LINK_KEPT_H

#include "link/link.h"
#include "why/why.h"

struct seg_kept {
	struct seg seg;		/* refers to what follows, and to the payload's copy */
	struct seg_net net;
	struct why why;
	struct iovec iov;
};

typedef int seg_copy(const struct iovec *dst, int ndst, uint64_t doff, const struct iovec *src,
		     int nsrc, uint64_t off, uint64_t len);

/*
 * Makes k a copy of a segment with `len` bytes of its payload from `off` on, which are put into data; copy: link_user_ops.copy_iov.
 * data must live as long as k. 0; -EFAULT: memory of this process is bad; another -errno: the peer's memory is unreadable.
 */
int seg_keep(struct seg_kept *k, void *data, const struct seg *seg, uint64_t off, uint64_t len,
	     seg_copy *copy);

#endif
