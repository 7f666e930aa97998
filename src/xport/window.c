/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Congestion window of a QP on a link that drops packets when the receiver's socket buffer is full
 * (struct link.lossy). The specification leaves this to the implementation.
 *
 * While the window is smaller than slow_start, it grows by each acknowledged packet; from
 * slow_start on, by one packet per window. slow_start is WIN_MAX at first and the reduced window
 * after a loss. A loss or a congestion notification reduces the window by a quarter, at most once
 * per window; a timeout by half. The window is never below WIN_MIN: random losses, which do not
 * mean that a buffer is full, would otherwise make it too small.
 *
 * An AckReq is sent four times per window, so that the window moves on before it is full. On other
 * links the window is XP_WINDOW, a quarter of the PSN space, and does not change; slow_start is 0
 * there.
 */
#include "xport/window.h"
#include "xport/xport_internal.h"

#define WIN_START (128u << 10)	/* bytes */
#define WIN_MIN (48u << 10)
#define WIN_MAX (1u << 20)

static uint32_t win_packets(const struct qp *qp, uint32_t bytes)
{
	return max(bytes >> qp->req.mtu_shift, 2u);
}

static void win_set(struct qp *qp, uint32_t window)
{
	struct qp_req *r = &qp->req;

	r->window = min(max(window, win_packets(qp, WIN_MIN)), win_packets(qp, WIN_MAX));
	r->ask_bytes = max(r->window / 4, 1u) << r->mtu_shift;
}

void win_reset(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	if (!win_loses(qp)) {
		r->window = XP_WINDOW;
		r->ask_bytes = XP_ACK_BYTES;
		r->slow_start = 0;
		return;
	}
	r->slow_start = win_packets(qp, WIN_MAX);
	r->recover = r->nxt;
	r->win_acked = 0;
	win_set(qp, win_packets(qp, WIN_START));
}

/* Grows the window: npkts packets were acknowledged. */
noinline void win_acked_slow(struct qp *qp, uint32_t npkts)
{
	struct qp_req *r = &qp->req;

	/* Fault injection has ended and the link is no wire: return to the constant window. */
	if (unlikely(!win_loses(qp))) {
		win_reset(qp);
		return;
	}
	if (r->window < r->slow_start) {
		win_set(qp, r->window + npkts);
		return;
	}
	r->win_acked += npkts;
	if (r->win_acked < r->window)
		return;
	r->win_acked = 0;
	win_set(qp, r->window + 1);
}

void win_lost(struct qp *qp, bool timeout)
{
	struct qp_req *r = &qp->req;

	if (!win_loses(qp))
		return;
	/* Packets sent before the last reduction do not reduce the window again. */
	if (!timeout && psn_diff(r->una, r->recover) < 0)
		return;
	r->recover = r->nxt;
	win_set(qp, timeout ? r->window / 2 : r->window - r->window / 4);
	r->slow_start = r->window;
	r->win_acked = 0;
}

uint32_t win_piece(const struct qp *qp)
{
	return max(qp->req.window / 4, win_packets(qp, WIN_MIN));
}

void xp_congestion(struct qp *qp)
{
	if (qp->type == QPT_RC)
		win_lost(qp, false);
}
