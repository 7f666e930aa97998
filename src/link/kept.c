/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "link/kept.h"

static int seg_keep_payload(const struct iovec *to, const struct seg *seg, uint64_t off,
			    uint64_t len, seg_copy *copy)
{
	if (!len)
		return 0;
	if (seg->pull)
		return seg->pull->copy(seg, off, to, 1, len);
	return copy(to, 1, 0, seg->iov, seg->niov, off, len);
}

int seg_keep(struct seg_kept *k, void *data, const struct seg *seg, uint64_t off, uint64_t len,
	     seg_copy *copy)
{
	int ret;

	*k = (struct seg_kept){ .seg = *seg, .iov = { data, len } };
	ret = seg_keep_payload(&k->iov, seg, off, len, copy);
	if (ret)
		return ret;
	k->seg.iov = len ? &k->iov : NULL;
	k->seg.niov = len ? 1 : 0;
	k->seg.pull = NULL;
	if (seg->net) {
		k->net = *seg->net;
		k->seg.net = &k->net;
	}
	if (seg->why) {
		k->why = *seg->why;
		k->seg.why = &k->why;
	}
	return 0;
}
