/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much of a QP may be unacknowledged on a link that loses what is too much
 * for its receiver (struct link.lossy): the specification leaves it to the
 * implementation, and a socket buffer is small. The window opens by what is
 * acknowledged up to where it last met a loss, and by a packet a window beyond;
 * a loss or a congestion notification takes a quarter away, once a window, and a
 * timeout half. It never closes below WIN_MIN: random loss says nothing about
 * room.
 *
 * An AckReq goes out four times a window, so that it moves on while it is full.
 * On other links the window is half of the PSNs, and nothing here costs anything.
 */
#include "xport/window.h"
#include "xport/xport_internal.h"

#define WIN_START (128u << 10)	/* bytes */
#define WIN_MIN (48u << 10)
#define WIN_MAX (1u << 20)

static uint32_t packets(const struct qp *qp, uint32_t bytes)
{
	return max(bytes >> qp->req.mtu_shift, 2u);
}

static void set(struct qp *qp, uint32_t window)
{
	struct qp_req *r = &qp->req;

	r->window = min(max(window, packets(qp, WIN_MIN)), packets(qp, WIN_MAX));
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
	r->slow_start = packets(qp, WIN_MAX);
	r->recover = r->nxt;
	r->win_acked = 0;
	set(qp, packets(qp, WIN_START));
}

/* una has advanced by so many packets. */
APART void win_acked_slow(struct qp *qp, uint32_t npkts)
{
	struct qp_req *r = &qp->req;

	/* The faults have gone. */
	if (unlikely(!win_loses(qp))) {
		win_reset(qp);
		return;
	}
	if (r->window < r->slow_start) {
		set(qp, r->window + npkts);
		return;
	}
	r->win_acked += npkts;
	if (r->win_acked < r->window)
		return;
	r->win_acked = 0;
	set(qp, r->window + 1);
}

void win_lost(struct qp *qp, bool timeout)
{
	struct qp_req *r = &qp->req;

	if (!win_loses(qp))
		return;
	/* What was sent before the last cut tells nothing new. */
	if (!timeout && psn_diff(r->una, r->recover) < 0)
		return;
	r->recover = r->nxt;
	set(qp, timeout ? r->window / 2 : r->window - r->window / 4);
	r->slow_start = r->window;
	r->win_acked = 0;
}

uint32_t win_piece(const struct qp *qp)
{
	return max(qp->req.window / 4, packets(qp, WIN_MIN));
}

void xp_congestion(struct qp *qp)
{
	if (qp->type == QPT_RC)
		win_lost(qp, false);
}
