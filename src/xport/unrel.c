/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The requester of UC and UD (IBA 9.8.2.1, 9.8.3). There are no acknowledgements: a WQE completes
 * when its last packet has been passed to the link, which copies the payload of these services. So
 * the cursor (qp->req.cur), the WQE to send next, is always the oldest WQE.
 *
 * A WQE that cannot be sent completes with an error status; the QP enters SQE, and later WQEs are
 * flushed. The responder continues (IBA 10.3.1.5).
 */
#include <string.h>
#include "core/credits.h"
#include "shared/barrier.h"
#include "wire/ipudp.h"
#include "wire/mtu.h"
#include "xport/traffic.h"
#include "xport/why.h"

/* Maximum payload of a datagram in bytes: the active MTU of the device's port. */
static uint32_t ud_mtu(const struct qp *qp)
{
	return mtu_bytes(qp->dev->port.active_mtu);
}

static struct seg unrel_seg_head(const struct qp *qp, const struct req_wqe *w)
{
	return (struct seg){ .type = w->type, .pkey = xp_pkey(qp), .sqpn = qp->qpn };
}

static int uc_send(struct qp *qp, struct req_wqe *w)
{
	struct seg seg = unrel_seg_head(qp, w);
	struct qp_req *r = &qp->req;
	uint64_t off = (uint64_t)r->cur_pkt << r->mtu_shift;
	struct link *l = qp->link;
	uint32_t n = w->npkts - r->cur_pkt, room;
	struct iovec iov[SEG_MAX_IOV];
	int rc;

	room = l ? max(min(l->max_copy_seg >> r->mtu_shift, l->max_pkts), 1u) : n;
	n = min(n, room);
	seg.service = SEG_UC;
	seg.dqpn = qp->attr.dest_qpn;
	seg.path_mtu = (uint16_t)(1u << r->mtu_shift);
	seg.psn = psn_add(w->first_psn, r->cur_pkt);
	seg.npkts = n;
	seg.len = (uint32_t)min((uint64_t)n << r->mtu_shift, w->len - off);
	if (!r->cur_pkt) {
		seg.flags |= SEG_F_START;
		seg.va = w->rdma.va;
		seg.rkey = w->rdma.rkey;
		seg.dma_len = w->len;
	}
	if (r->cur_pkt + n == w->npkts) {
		seg.flags |= SEG_F_END;
		if (w->flags & WQE_SOLICITED && w->type != SEG_WRITE)
			seg.flags |= SEG_F_SOLICITED;
		seg.imm = w->imm;
	}
	seg.niov = wqe_iov(qp, w, r->cur, off, seg.len, iov);
	if (unlikely(seg.niov < 0))
		return seg.niov;
	seg.iov = iov;
	rc = l ? l->ops->send(l, &seg) : 0;
	if (!rc)
		r->cur_pkt += n;
	return rc;
}

/* The WQE's AH, if it belongs to the QP's PD; else NULL. */
static const struct ah *wqe_ah(const struct qp *qp, const struct req_wqe *w)
{
	const struct ah *ah = idtable_find(&qp->dev->ahs, w->ud.ah_num);

	return likely(ah && ah->pd == qp->pd) ? ah : NULL;
}

/*
 * Address of a datagram. It comes from the AH whose number is in the WQE, or, if that number is 0,
 * from the WQE itself: older providers write the whole address vector there. False: AH, device port or
 * SGID index is invalid.
 */
static bool ud_address(const struct qp *qp, const struct req_wqe *w, struct seg_net *net)
{
	const struct rxe_send_wqe *s = ring_slot(&qp->sq, qp->req.cur);
	uint32_t ah_num = w->ud.ah_num, sgid_index;

	memset(net, 0, sizeof(*net));
	if (likely(ah_num)) {
		const struct ah *ah = wqe_ah(qp, w);

		if (unlikely(!ah))
			return false;
		memcpy(net->dgid, ah->attr.grh.dgid, 16);
		net->flow_label = ah->attr.grh.flow_label & 0xfffff;
		net->traffic_class = ah->attr.grh.traffic_class;
		net->hop_limit = ah->attr.grh.hop_limit;
		sgid_index = ah->attr.grh.sgid_index;
	} else {
		struct rxe_av av;

		/* Copied once; the barrier keeps the compiler from reading the ring again. */
		memcpy(&av, &s->wr.wr.ud.av, sizeof(av));
		smp_rmb();
		if (av.port_num != DEV_PORT)
			return false;
		memcpy(net->dgid, &av.grh.dgid, 16);
		net->flow_label = av.grh.flow_label & 0xfffff;
		net->traffic_class = av.grh.traffic_class;
		net->hop_limit = net_hop_limit(net->dgid, av.grh.hop_limit);
		sgid_index = av.grh.sgid_index;
	}
	if (sgid_index >= DEV_GID_TBL || gid_is_zero(&qp->dev->gid[sgid_index]))
		return false;
	memcpy(net->sgid, qp->dev->gid[sgid_index].raw, 16);
	if (unlikely(qp->dev->gid[sgid_index].v1))
		net->v1 = 1;
	return true;
}

/* The reason for which the address handle of a datagram was refused. */
static noinline __cold void ud_why_ah(struct qp *qp, const struct req_wqe *w)
{
	const struct ah *ah = idtable_find(&qp->dev->ahs, w->ud.ah_num);
	uint32_t fault = !ah ? 0 : ah->pd != qp->pd ? 1 : 3;

	xp_why(qp, SEND_AH, w->ud.ah_num, fault, ah ? ah->attr.grh.sgid_index : 0);
}

static int ud_send(struct qp *qp, struct req_wqe *w)
{
	struct seg seg = unrel_seg_head(qp, w);
	struct iovec iov[SEG_MAX_IOV];
	const struct ah *ib = NULL;
	struct seg_net net;
	struct link *l;
	int rc;

	/* On InfiniBand an AH is required: the WQE has no LID. */
	if (qp->dev->port.ib)
		ib = wqe_ah(qp, w);
	if (unlikely(qp->dev->port.ib ? !ib : !ud_address(qp, w, &net))) {
		ud_why_ah(qp, w);
		return -EINVAL;
	}
	seg.service = SEG_UD;
	seg.flags = SEG_F_START | SEG_F_END;
	if (w->flags & WQE_SOLICITED)
		seg.flags |= SEG_F_SOLICITED;
	seg.dqpn = w->ud.qpn & 0xffffff;
	seg.path_mtu = 4096;
	seg.psn = w->first_psn;
	seg.npkts = 1;
	seg.len = w->len;
	seg.imm = w->imm;
	/* If the high bit is set the QP's own Q_Key is used (IBA 10.2.5). */
	seg.qkey = w->ud.qkey & 0x80000000u ? qp->attr.qkey : w->ud.qkey;
	seg.net = &net;
	seg.niov = wqe_iov(qp, w, qp->req.cur, 0, w->len, iov);
	if (unlikely(seg.niov < 0))
		return seg.niov;
	seg.iov = iov;
	l = ib ? qp->dev->ops->ib_ud_link(qp, &ib->attr, &net, &seg) :
		 qp->dev->ops->ud_link(qp, &net, seg.dqpn);
	rc = l ? l->ops->send(l, &seg) : 0;
	xp_traffic(qp, l);
	if (!rc)
		qp->req.cur_pkt = 1;
	return rc;
}

/* Fails the oldest WQE: the QP enters SQE. */
static void unrel_fail(struct qp *qp, enum wc_status status)
{
	struct qp_req *r = &qp->req;
	struct req_wqe *w = req_wqe(qp, qp->sq.index);

	qp_set_state(qp, QPS_SQE);
	xp_why_err(qp);
	r->una = r->nxt = r->psn;
	qp->sq_draining = false;
	credits_consume(qp);
	xp_error_cqe(qp, true, w->wr_id, status);
	r->cur = qp->sq.index;
	r->cur_pkt = 0;
	xp_flush_sq(qp);
}

/*
 * Sends one segment of the WQE, or executes a local WQE. 0; -EAGAIN: the link has no room; else the
 * enum wc_status with which the WQE fails.
 */
static int unrel_send_some(struct qp *qp, struct req_wqe *w)
{
	uint32_t before = qp->req.cur_pkt;
	int rc;

	if (unlikely(w->flags & WQE_LOCAL))
		return wqe_bind(qp, w);
	rc = qp->type == QPT_UC ? uc_send(qp, w) : ud_send(qp, w);
	if (unlikely(rc > 0)) {
		xp_why(qp, FAULT_STATUS, LINK_FAILS_RULE(rc));
		return (int)LINK_FAILS_STATUS(rc);
	}
	if (unlikely(rc)) {
		if (rc != -EAGAIN && !xp_fail(qp)->why.id)
			xp_why_wqe(qp, w, qp->req.cur, 0, w->len);
		return rc == -EAGAIN ? rc : rc == -EFAULT ? WC_LOC_PROT_ERR : WC_LOC_QP_OP_ERR;
	}
	qp->dev->counter[CNT_SENT_PKTS] += qp->req.cur_pkt - before;
	w->flags |= WQE_STARTED;
	return 0;
}

noinline void unrel_run(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	r->blocked = false;
	while (xp_sends(qp)) {
		struct req_wqe *w;
		int rc;

		if (r->cur == r->tail && (qp->state == QPS_SQD || !wqe_fetch(qp)))
			break;
		w = req_wqe(qp, r->cur);
		if (qp->state == QPS_SQD && !(w->flags & WQE_STARTED))
			break;
		if (!w->status && qp->type == QPT_UD && unlikely(w->len > ud_mtu(qp))) {
			xp_why(qp, SEND_LENGTH, w->len, ud_mtu(qp), 2);
			w->status = WC_LOC_LEN_ERR;
		}
		rc = w->status ? w->status : unrel_send_some(qp, w);
		if (rc == -EAGAIN) {
			r->blocked = true;
			break;
		}
		if (unlikely(rc)) {
			unrel_fail(qp, (enum wc_status)rc);
			break;
		}
		if (r->cur_pkt < w->npkts)
			continue;
		r->cur = (r->cur + 1) & qp->sq.mask;
		r->cur_pkt = 0;
		r->una = r->nxt = psn_add(w->first_psn, w->npkts);
		comp_success(qp, w);
	}
	if (unlikely(r->overrun))
		comp_overrun(qp, now);
	req_check_drained(qp);
}
