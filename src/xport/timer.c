/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers and attempts. The other files say what has happened; when to wake,
 * and whether there is another attempt, is decided here alone.
 *
 * ack timer	runs while something is unacknowledged (IBA 9.7.6.1.3); started
 *		by the first packet, restarted by progress, stopped by the last
 *		acknowledgement and during an RNR wait. While the link says that a
 *		living peer has not yet looked at what we sent, its end counts for
 *		nothing: on a wire the NIC would answer, however busy the host.
 *		On a wire the last attempts wait longer, as the specification allows:
 *		the peer may be a program that waits for its turn on a CPU.
 * early		on a link that loses, the ack timer's stand-in: a lost last packet, a
 *		lost NAK or a lost repetition is told by nobody, and ack timeouts are
 *		long. When nothing is answered within the round trips of late, the
 *		oldest packet goes out again, each time after twice the wait; it uses
 *		up no attempt, and the ack timer runs on. (As NICs' adaptive retransmission on RoCE.)
 * RNR timer	the wait that an RNR NAK asks for (IBA 9.7.5.2.8).
 *
 * retry_cnt and rnr_retry are reloaded by progress, that is when una advances
 * (IBA 9.9.2.4.1). rnr_retry 7 means for ever; retry_cnt 7 is just 7, unlike
 * in kernel rxe.
 */
#include "wire/aeth.h"
#include "xport/window.h"
#include "xport/xport_internal.h"

/* The QP's attributes may have changed. */
void xp_timer_config(struct qp *qp)
{
	struct qp_req *r = &qp->req;

	r->retry = qp->attr.retry_cnt;
	r->rnr_retry = qp->attr.rnr_retry;
}

/* NS_NEVER: none. */
static ns_t timeout_of(const struct qp *qp)
{
	return ack_timeout_ns(qp->attr.timeout & 31);
}

#define STRETCHED_LAST 3		/* attempts: those before are for packets that are lost */
#define STRETCHED_MAX (500 * NS_MS)	/* more would only keep a dead peer's connection longer */

/*
 * IBA 9.7.6.1.3 leaves four times the ack timeout. What is lost is sent again early
 * and so much sooner; this is how long a peer may be silent that is not dead.
 */
static ns_t stretched(const struct qp *qp, ns_t timeout)
{
	const struct qp_req *r = &qp->req;

	if (timeout >= STRETCHED_MAX || !r->slow_start || r->retry >= STRETCHED_LAST ||
	    r->retry == qp->attr.retry_cnt)
		return timeout;
	return min(4 * timeout, (ns_t)STRETCHED_MAX);
}

static void ack_timer_start(struct qp *qp, ns_t now)
{
	ns_t timeout = stretched(qp, timeout_of(qp));

	qp->req.deadline = timeout == NS_NEVER ? NS_NEVER : now + timeout;
}

#define EARLY_MIN (2 * NS_MS)	/* a peer that waits for its turn on a CPU has lost nothing */
#define RTT_UNIT (16 * NS_US)

static APART void early_start(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;
	ns_t wait = (r->srtt + 4ull * r->rttvar) * RTT_UNIT;

	/* To repeat a READ is to have all of it sent again. */
	wait = max(wait, (ns_t)EARLY_MIN) << (min(r->early_shift, 10) + 2 * req_head_is_rd(qp));
	r->early = r->srtt && wait < timeout_of(qp) ? now + wait : NS_NEVER;
}

static uint32_t rtt_clock(ns_t now)
{
	return (uint32_t)(now / NS_US) | 1;
}

/* Round trips as TCP measures them (RFC 6298), never of what may be a repetition's (Karn). */
static APART void rtt_sample(struct qp_req *r, ns_t now)
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

/* Something was sent. */
HOT void xp_timer_sent(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (r->deadline == NS_NEVER)
		ack_timer_start(qp, now);
	if (!r->slow_start)
		return;
	if (r->early == NS_NEVER)
		early_start(qp, now);
	if (!r->rtt_at && psn_diff(r->una, r->recover) >= 0) {
		r->rtt_at = rtt_clock(now);
		r->rtt_psn = r->nxt;
	}
}

/* una has advanced. */
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
		early_start(qp, now);
}

/* The oldest packet must go out again. False: it was the last attempt. */
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

/* An RNR NAK has come. False: it was the last attempt. */
APART bool xp_timer_rnr(struct qp *qp, uint8_t syndrome, ns_t now)
{
	struct qp_req *r = &qp->req;

	if (!r->rnr_retry) {
		qp->dev->counter[CNT_RNR_RETRY_EXCEEDED]++;
		return false;
	}
	if (r->rnr_retry != 7)
		r->rnr_retry--;
	r->rnr_until = now + aeth_rnr_ns(syndrome);
	r->deadline = r->early = NS_NEVER;
	return true;
}

ns_t xp_wake(const struct qp *qp)
{
	const struct qp_req *r = &qp->req;

	return r->rnr_until ? r->rnr_until : min(r->deadline, r->early);
}

/* One packet, lest what was only late be all repeated; its ACK tells how much is missing. */
static void send_early(struct qp *qp, ns_t now)
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
	early_start(qp, now);
	req_run(qp, now);
}

void xp_timer(struct qp *qp, ns_t now)
{
	struct qp_req *r = &qp->req;

	resp_check_card(qp);
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
		send_early(qp, now);
		return;
	}
	if (now < r->deadline)
		return;
	if (qp->link && qp->link->ops->peer_behind && qp->link->ops->peer_behind(qp->link)) {
		ack_timer_start(qp, now);
		return;
	}
	r->retrying = false;
	if (!xp_timer_retry(qp, now)) {
		xp_fail_head(qp, WC_RETRY_EXC_ERR);
		return;
	}
	r->rtt_at = 0;
	r->probing = false;
	win_lost(qp, true);
	/*
	 * On a wire one packet asks what is missing. A peer that is only behind would have
	 * all the others to read as well, answer each (kernel rxe does), and fall further behind.
	 */
	if (r->slow_start && !req_head_is_rd(qp))
		req_probe(qp, now);
	else
		req_go_back(qp);
	req_run(qp, now);
}
