/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers and attempts. Other files report what has happened; this file alone decides when to wake
 * and whether there is another attempt.
 *
 * ack timer	Fires when an acknowledgement is overdue (IBA 9.7.6.1.3). It uses up an attempt
 *		and repeats unacknowledged packets. Started by the first packet, restarted when
 *		una advances, stopped by the last acknowledgement and during an RNR wait. If the
 *		link reports that a live peer has not yet read what was sent, the timer is only
 *		restarted: no attempt is used up and nothing is repeated, because a NIC would
 *		have answered, however busy its host is. On a wire the last attempts wait
 *		longer, as the specification allows, since the peer may be a program that waits
 *		for a CPU.
 * early timer	On a lossy link: fires after a multiple of the recent round trips, repeats
 *		the oldest packet, and doubles the wait. It recovers from the loss of a
 *		last packet, a NAK or a repetition long before the ack timer, which keeps
 *		running. It uses up no attempt. (NICs call it adaptive retransmission.)
 * RNR timer	Fires after the wait in an RNR NAK (IBA 9.7.5.2.8). The refused request and the
 *		later ones are sent again.
 *
 * retry_cnt and rnr_retry are reloaded when una advances (IBA 9.9.2.4.1). rnr_retry 7 means without
 * limit; retry_cnt 7 means seven, unlike in kernel rxe.
 */
#include "wire/aeth.h"
#include "xport/shaken.h"
#include "xport/why.h"
#include "xport/window.h"
#include "xport/xport_internal.h"

/*
 * Sets the numbers of attempts again. Called after MODIFY_QP, which may have changed the
 * attributes.
 */
void xp_timer_config(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	r->retry = qp->attr.retry_cnt;
	r->rnr_retry = qp->attr.rnr_retry;
}

/* Local ACK timeout; NS_NEVER: none. */
static ns_t ack_timeout_of(const struct qp *qp)
{
	return ack_timeout_ns(qp->attr.timeout & 31);
}

#define STRETCHED_LAST 3		/* number of last attempts that wait longer */
#define STRETCHED_MAX (500 * NS_MS)	/* upper limit of a longer wait, so that a dead peer is noticed soon */

/*
 * Ack timeout of the present attempt; timeout: that of the QP's attribute. IBA 9.7.6.1.3 allows up to four times that
 * value. Losses are repaired by the early timer (see the head of this file), so the ack timeout only decides how long
 * a live peer may be silent.
 */
static ns_t ack_timeout_stretched(const struct qp *qp, ns_t timeout)
{
	const struct qp_req *r = &qp->req;

	if (timeout >= STRETCHED_MAX || !r->slow_start || r->retry >= STRETCHED_LAST ||
	    r->retry == qp->attr.retry_cnt)
		return timeout;
	return min(4 * timeout, (ns_t)STRETCHED_MAX);
}

static void ack_timer_start(struct qp *qp, ns_t now)
{
	ns_t timeout = ack_timeout_stretched(qp, ack_timeout_of(qp));

	qp->req.deadline = timeout == NS_NEVER ? NS_NEVER : now + timeout;
}

#define EARLY_MIN (2 * NS_MS)	/* minimum wait, as a peer that waits for a CPU answers late although nothing is lost */
#define RTT_UNIT (16 * NS_US)

static noinline void early_timer_start(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;
	ns_t wait = (r->srtt + 4ull * r->rttvar) * RTT_UNIT;

	/* Wait four times as long for a READ: repeating it repeats the whole response. */
	wait = max(wait, (ns_t)EARLY_MIN) << (min(r->early_shift, 10) + 2 * req_head_is_rd(qp));
	r->early = r->srtt && wait < ack_timeout_of(qp) ? now + wait : NS_NEVER;
}

static uint32_t rtt_clock(ns_t now)
{
	return (uint32_t)(now / NS_US) | 1;
}

/* Round-trip estimate of TCP (RFC 6298), without samples of repeated packets (Karn). */
static noinline void rtt_sample(struct qp_req *r, ns_t now)
{
	uint32_t rtt, off;

	if (!r->rtt_at || psn_diff(r->una, r->rtt_psn) < 0)
		return;
	rtt = (rtt_clock(now) - r->rtt_at) / (RTT_UNIT / NS_US);
	rtt = min(max(rtt, 1u), (uint32_t)UINT16_MAX);
	r->rtt_at = 0;
	if (!r->srtt) {
		r->srtt = (uint16_t)rtt;
		r->rttvar = (uint16_t)(rtt / 2);
		return;
	}
	off = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
	r->rttvar = (uint16_t)((3u * r->rttvar + off) / 4);
	r->srtt = (uint16_t)max((7u * r->srtt + rtt) / 8, 1u);
}

/* To be called after sending. */
HOT void xp_timer_sent(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (r->deadline == NS_NEVER)
		ack_timer_start(qp, now);
	if (!r->slow_start)
		return;
	if (r->early == NS_NEVER)
		early_timer_start(qp, now);
	if (!r->rtt_at && psn_diff(r->una, r->recover) >= 0) {
		r->rtt_at = rtt_clock(now);
		r->rtt_psn = r->nxt;
	}
}

/* To be called after una has advanced. */
HOT void xp_timer_progress(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	r->retry = qp->attr.retry_cnt;
	r->rnr_retry = qp->attr.rnr_retry;
	r->retrying = false;
	r->early_shift = 0;
	if (r->slow_start)
		rtt_sample(r, now);
	if (r->una == r->nxt) {
		r->deadline = r->early = NS_NEVER;
		return;
	}
	ack_timer_start(qp, now);
	if (r->slow_start)
		early_timer_start(qp, now);
}

/* Uses up an attempt to repeat the oldest packet. False: no attempt is left. */
bool xp_timer_retry(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (!r->retry) {
		qp->dev->counter[CNT_RETRY_EXCEEDED]++;
		return false;
	}
	r->retry--;
	qp->dev->counter[CNT_COMP_RETRY]++;
	ack_timer_start(qp, now);
	return true;
}

/* Starts the wait of an RNR NAK and uses up an attempt. False: no attempt is left. */
noinline bool xp_timer_rnr(struct qp *qp, uint8_t syndrome, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (!r->rnr_retry) {
		qp->dev->counter[CNT_RNR_RETRY_EXCEEDED]++;
		return false;
	}
	if (r->rnr_retry < 7)
		r->rnr_retry--;
	else if (r->rnr_retry < UINT8_MAX)
		r->rnr_retry++;
	r->rnr_until = now + aeth_rnr_ns(syndrome);
	r->deadline = r->early = NS_NEVER;
	return true;
}

ns_t xp_wake(const struct qp *qp)
{
	const struct qp_req *r = &qp->req;
	ns_t wake = r->rnr_until ? r->rnr_until : min(r->deadline, r->early);

	return unlikely(qp_shaken(qp)) ? min(wake, qp->shake->due) : wake;
}

/*
 * The early timer (see the head of this file) has fired. Of a SEND or WRITE only one packet is repeated: its ACK
 * shows how much is missing.
 */
static void early_timer_fired(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	r->early_shift++;
	r->rtt_at = 0;
	r->retrying = false;
	qp->dev->counter[CNT_COMP_RETRY]++;
	if (req_head_is_rd(qp)) {
		win_lost(qp, false);
		req_go_back(qp);
	} else {
		req_probe(qp, now);
	}
	early_timer_start(qp, now);
	req_run(qp, now);
}

void xp_timer(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (unlikely(qp_shaken(qp)))
		xp_shaken_due(qp, now);
	if (!xp_sends(qp))
		return;
	if (r->rnr_until) {
		if (now < r->rnr_until)
			return;
		r->rnr_until = 0;
		req_go_back(qp);
		if (r->una != r->nxt)
			ack_timer_start(qp, now);
		req_run(qp, now);
		return;
	}
	if (now >= r->early && now < r->deadline) {
		early_timer_fired(qp, now);
		return;
	}
	if (now < r->deadline)
		return;
	if (qp->link && qp->link->ops->peer_behind && qp->link->ops->peer_behind(qp->link)) {
		ack_timer_start(qp, now);
		return;
	}
	r->retrying = false;
	if (r->retry == qp->attr.retry_cnt)
		xp_fail(qp)->silent = now - ack_timeout_of(qp);
	qp->dev->counter[CNT_TIMEOUT]++;
	if (!xp_timer_retry(qp, now)) {
		xp_why_retry(qp);
		xp_fail_head(qp, WC_RETRY_EXC_ERR);
		return;
	}
	r->rtt_at = 0;
	r->probing = false;
	win_lost(qp, true);
	/*
	 * On a wire repeat one packet only; its ACK shows what is missing. A slow peer would
	 * have to read all the others too, answer each (as kernel rxe does), and fall behind.
	 */
	if (r->slow_start && !req_head_is_rd(qp))
		req_probe(qp, now);
	else
		req_go_back(qp);
	req_run(qp, now);
}
