/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses of scatter/gather lists, and copies of payload to them.
 *
 * A list entry is checked only when its bytes are accessed: an entry that the message does not
 * reach may be invalid (kernel: copy_data()). The program may write to a list in a ring at any
 * time. So each call reads each field once and adds up the lengths again: a list that has become
 * too short since the WQE was read gives -EINVAL.
 */
#include "core/check.h"
#include "link/lost.h"
#include "shared/barrier.h"
#include "xport/xport_internal.h"

/*
 * Gets the addresses of bytes [off, off + len) of a scatter/gather list. pd: the PD that its
 * keys must have; for a WQE of an SRQ the SRQ's PD. access: 0 (read) or LOCAL_WRITE. iov has
 * SEG_MAX_IOV entries. Returns the number of entries used; -EFAULT: a key does not permit the
 * access (local protection error); -EINVAL: the list is too short.
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

/*
 * Copies len bytes from offset off of the segment's payload to dst. 0; -EFAULT: dst cannot be
 * written; -EIO: the payload cannot be read, and the segment counts as lost.
 */
HOT __flatten noinline int xp_place(const struct seg *seg, uint64_t off, const struct iovec *dst,
				    int ndst, uint64_t len)
{
	int rc;

	if (!len)
		return 0;
	if (unlikely(check_ops))
		check_ops->placed(dst, ndst);
	if (seg->pull)
		return seg->pull->copy(seg, off, dst, ndst, len);
	rc = umem_copy_iov(dst, ndst, 0, seg->iov, seg->niov, off, len);
	if (unlikely(rc))
		return seg_readable(seg, off, len, umem_copy_iov) ? -EFAULT : -EIO;
	return 0;
}
