/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `ruse run --shake` changes in the transport (core/shake.h): segments that are kept and handed over later, and payload of
 * which a part is placed later.
 */
#include <errno.h>
#include "xport/shaken.h"
#include "xport/xport_internal.h"

/* Places bytes [from, end) of the len that belong to dst; the payload of the segment from off on is for the first of them. */
static int shaken_place_part(const struct seg *seg, uint64_t off, const struct iovec *dst, int ndst,
			     uint64_t from, uint64_t end)
{
	struct iovec part[SEG_MAX_IOV];
	uint64_t at = 0;
	int n = 0;

	for (int i = 0; i < ndst && at < end; at += dst[i++].iov_len) {
		uint64_t first = max(from, at), last = min(end, at + dst[i].iov_len);

		if (first < last)
			part[n++] = (struct iovec){ (char *)dst[i].iov_base + (first - at),
						    last - first };
	}
	return xp_place(seg, off, part, n, end - from);
}

noinline int xp_place_shaken(struct qp *qp, const struct seg *seg, uint64_t off, uint64_t before,
			     const struct iovec *dst, int ndst, uint64_t len)
{
	uint64_t end;
	struct shake_part part;
	int rc;

	switch (ndst ? shake_ops->place(qp, seg, before, dst, len, &part) : SHAKE_PLACE_ALL) {
	case SHAKE_PLACE_ALL:
		break;
	case SHAKE_PLACE_REST:
		return shaken_place_part(seg, 0, dst, ndst, part.from, part.from + part.len);
	case SHAKE_PLACE_FIRST:
		end = part.from + part.len;
		rc = shaken_place_part(seg, off, dst, ndst, 0, part.from);
		if (!rc)
			rc = shaken_place_part(seg, off + end, dst, ndst, end, len);
		if (rc)
			return rc;
		if (shake_ops->place_rest(qp, seg, off, &part))
			return -EINPROGRESS;
		return shaken_place_part(seg, off + part.from, dst, ndst, part.from, end);
	}
	return xp_place(seg, off, dst, ndst, len);
}
