/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Repeats the checks of librxe, to tell which of them has refused a work request. */
#include "core/credits.h"
#include "verbs/verbs.h"

static bool verbs_is_atomic(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

int verbs_lacks(const struct like *like, const struct ibv_send_wr *wr)
{
	enum like_missing what;

	if (verbs_is_atomic(wr))
		what = LIKE_NO_ATOMIC;
	else if (wr->opcode == IBV_WR_BIND_MW)
		what = LIKE_NO_BIND_MW;
	else if (wr->opcode == IBV_WR_LOCAL_INV)
		what = LIKE_NO_LOCAL_INV;
	else
		return -1;
	return like_lacks(like, what) ? (int)what : -1;
}

void verbs_why_send(const struct qp *qp, const struct ibv_send_wr *wr, struct why *why)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge && (uint32_t)wr->num_sge <= qp->max_send_sge; i++)
		length += wr->sg_list[i].length;
	if (verbs_lacks(qp->dev->like, wr) >= 0)
		why_set(why, DEV_LACKS, (uint32_t)verbs_lacks(qp->dev->like, wr));
	else if ((uint32_t)wr->num_sge > qp->max_send_sge)
		why_set(why, POST_SGES, (uint32_t)wr->num_sge, qp->max_send_sge, 0);
	else if (verbs_is_atomic(wr) && (length < 8 || wr->wr.atomic.remote_addr & 7))
		why_set(why, POST_ATOMIC, length, wr->wr.atomic.remote_addr);
	else if (wr->send_flags & IBV_SEND_INLINE && length > qp->max_inline)
		why_set(why, POST_INLINE, length, qp->max_inline);
	else if (credits_full(qp) && ring_count(&qp->sq) < qp->max_send_wr)
		why_set(why, POST_CREDITS, qp->max_send_wr, qp->max_send_wr - ring_count(&qp->sq));
	else if (credits_full(qp) || ring_count(&qp->sq) >= ring_capacity(&qp->sq))
		why_set(why, POST_FULL, ring_count(&qp->sq),
			qp->special & QP_CREDITS ? qp->max_send_wr : ring_capacity(&qp->sq), 0);
}

void verbs_why_recv(const struct ring *r, uint32_t room, uint32_t max_sge, uint32_t which,
		    const struct ibv_recv_wr *wr, struct why *why)
{
	if ((uint32_t)wr->num_sge > max_sge)
		why_set(why, POST_SGES, (uint32_t)wr->num_sge, max_sge, which);
	else if (ring_count(r) >= room)
		why_set(why, POST_FULL, ring_count(r), room, which);
}
