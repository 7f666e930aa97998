/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From scatter/gather lists to lists of addresses, and payload into them.
 *
 * A list entry is checked when bytes of it are touched and not before: an
 * entry that the message does not reach may be bad (kernel: copy_data()). The
 * list may lie in a ring that the program can write at any time, so each field
 * is read once and the sum is taken here, whatever it was before.
 */
#include "queue/barrier.h"
#include "xport/xport_internal.h"

/*
 * Addresses of bytes [off, off + len) of the list, whose keys are of pd (a
 * receive WQE's: the SRQ's), for access 0 (read) or LOCAL_WRITE. iov has SEG_MAX_IOV entries. Returns the number used, -EFAULT
 * where a key does not permit it (local protection error), -EINVAL where the
 * list is too short.
 */
int xp_sge_iov(const struct qp *qp, const struct pd *pd, const struct rxe_sge *sge, uint32_t num,
	       uint64_t off, uint64_t len, uint32_t access, struct iovec *iov)
{
	int n = 0;

	for (uint32_t i = 0; len; i++) {
		uint64_t addr, take;
		uint32_t length;
		void *p;

		if (unlikely(i == num))
			return -EINVAL;
		length = READ_ONCE(sge[i].length);
		if (off >= length) {
			off -= length;
			continue;
		}
		addr = READ_ONCE(sge[i].addr) + off;
		take = min(len, length - off);
		if (unlikely(mr_check(qp->dev, pd->id, qp->qpn, READ_ONCE(sge[i].lkey),
				      addr, take, access | KEY_LOCAL, &p) != MR_OK))
			return -EFAULT;
		iov[n++] = (struct iovec){ p, take };
		off = 0;
		len -= take;
	}
	return n;
}

/* Can the first len bytes from off of the segment's payload be read? Asked after a copy has failed. */
static RARE bool payload_readable(const struct seg *seg, uint64_t off, uint64_t len)
{
	char bounce[4096];

	while (len) {
		uint64_t n = min(len, (uint64_t)sizeof(bounce));
		struct iovec iov = { bounce, n };

		if (umem_copy_iov(&iov, 1, 0, seg->iov, seg->niov, off, n))
			return false;
		off += n;
		len -= n;
	}
	return true;
}

/*
 * Copies len bytes from byte off of the segment's payload to dst. 0; -EFAULT:
 * dst is bad; -EIO: the sender's side is, and the segment counts as lost.
 */
FLAT APART int xp_place(const struct seg *seg, uint64_t off, const struct iovec *dst, int ndst,
			uint64_t len)
{
	int rc;

	if (!len)
		return 0;
	if (seg->pull)
		return seg->pull->copy(seg, off, dst, ndst, len);
	rc = umem_copy_iov(dst, ndst, 0, seg->iov, seg->niov, off, len);
	if (unlikely(rc))
		return payload_readable(seg, off, len) ? -EFAULT : -EIO;
	return 0;
}
