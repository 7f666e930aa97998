/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The responder of UD (IBA 9.8.3.2, 10.2.5). A datagram is dropped silently for a wrong
 * Q_Key, no receive WQE, or a buffer too short for GRH and payload. The QP enters ERR if a
 * receive WQE has too many scatter/gather entries, if its SRQ has failed, or if the receive
 * buffer cannot be written (key or address).
 */
#include <netinet/in.h>
#include "wire/grh.h"
#include "xport/resp_internal.h"
#include "xport/why.h"

static void ud_local_error(struct qp *qp, enum wc_status status)
{
	xp_enter_err(qp, true);
	xp_fail_recv(qp, status);
	xp_flush_sq(qp);
	xp_flush_rq(qp);
}

/* Copies GRH and payload. 0; -EFAULT: the receive buffer is bad; -EIO: the sender's memory cannot be read. */
static int ud_place(struct qp *qp, const struct seg *seg)
{
	struct iovec iov[SEG_MAX_IOV], src;
	uint8_t grh[GRH_LEN];
	int n;

	/* Without a GRH the buffer's first 40 bytes are undefined (IBA 11.4.1.2): not written. */
	if (!seg->net->hop_limit) {
		n = recv_iov(qp, GRH_LEN, seg->len, iov);
		return n < 0 ? -EFAULT : xp_place(seg, 0, iov, n, seg->len);
	}
	grh_build(seg, grh);
	src = (struct iovec){ grh, GRH_LEN };
	n = recv_iov(qp, 0, GRH_LEN, iov);
	if (n < 0 || umem_copy_iov(iov, n, 0, &src, 1, 0, GRH_LEN))
		return -EFAULT;
	if (unlikely(check_ops))
		check_ops->placed(iov, n);
	n = recv_iov(qp, GRH_LEN, seg->len, iov);
	return n < 0 ? -EFAULT : xp_place(seg, 0, iov, n, seg->len);
}

/*
 * Value of wc.sl for a datagram. RoCE has no SL. RoCE adapters put the kind of the packet's
 * headers there, and UCX before 1.19 takes the IP version of the GRH from it.
 */
static uint8_t ud_wc_sl(const struct qp *qp, const struct seg_net *net)
{
	if (qp->dev->port.ib)
		return net->sl;
	if (net->v1)
		return WC_SL_ROCE_V1;
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)net->dgid) ? WC_SL_ROCE_IPV4 :
									  WC_SL_ROCE_IPV6;
}

static void ud_receive(struct qp *qp, const struct seg *seg)
{
	struct ib_uverbs_wc *wc;

	switch (recv_fetch(qp)) {
	case RECV_GOT:
		break;
	case RECV_NONE:
		xp_drop(qp, DROP_NO_RECV, seg->len, seg->sqpn);
		return;
	case RECV_BAD:
		xp_why_bad_recv(qp);
		ud_local_error(qp, WC_LOC_QP_OP_ERR);
		return;
	}
	if (unlikely(seg->refuse)) {
		xp_why(qp, FAULT_RECV, seg->msn);
		ud_local_error(qp, (enum wc_status)(seg->refuse & ~SEG_REFUSE_RECV));
		return;
	}
	if (GRH_LEN + (uint64_t)seg->len > qp->resp.room) {
		xp_drop(qp, DROP_LONG, GRH_LEN + (uint64_t)seg->len, qp->resp.room);
		return;
	}
	switch (ud_place(qp, seg)) {
	case 0:
		break;
	case -EFAULT:
		xp_why_recv(qp, 0, GRH_LEN + (uint64_t)seg->len);
		ud_local_error(qp, WC_LOC_PROT_ERR);
		return;
	default:
		return;
	}
	wc = recv_wc(qp, seg->len);
	if (!wc)
		return;
	wc->opcode = WC_OP_RECV;
	wc->byte_len += GRH_LEN;
	wc->src_qp = seg->sqpn;
	wc->wc_flags = seg->net->hop_limit ? WC_FLAG_GRH : 0;
	wc->slid = seg->net->slid;
	wc->sl = ud_wc_sl(qp, seg->net);
	wc->dlid_path_bits = seg->net->path_bits;
	wc->pkey_index = qp->dev->port.ib ? qp->attr.pkey_index : 0;
	if (seg->type == SEG_SEND_IMM) {
		wc->wc_flags |= WC_FLAG_IMM;
		wc->ex.imm_data = seg->imm;
	}
	cq_publish(qp->recv_cq, seg->flags & SEG_F_SOLICITED);
}

void ud_input(struct qp *qp, const struct seg *seg)
{
	if (unlikely(qp->state < QPS_RTR || qp->state == QPS_ERR)) {
		xp_drop_state(qp);
		return;
	}
	if (unlikely(seg->service != SEG_UD || seg->type > SEG_SEND_IMM || !seg->net ||
		     !seg->sqpn))
		return;
	if (unlikely(seg->qkey != qp->attr.qkey)) {
		qp->dev->bad_qkeys++;
		xp_drop(qp, DROP_QKEY, seg->sqpn, seg->qkey, qp->attr.qkey);
		return;
	}
	if (unlikely(!card_lock(qp->card, CARD_OWNER)))
		return;
	ud_receive(qp, seg);
	card_unlock(qp->card);
}
