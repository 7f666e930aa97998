/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delayed ACKs: piggyback an ACK on the program's reply.
 *
 * When a program answers each message, an ACK and then the program's message are sent to the same
 * peer. Each passes the kernel's network stack at both ends. If the program has answered at once
 * several times in a row, the ACK is held until the answer, and both are sent as one buffer (a train, udp_tx.c).
 *
 * The delay is short. The caller of udp_hold() must bound it with udp_flush() and udp_flush_old().
 * A held ACK that no answer follows in time (a miss) is late by the time of several sends; an answer
 * in time saves one send. ACKs are therefore held only while about 12 of 13 answers come in time. A
 * single miss does not end that, because the program may have been interrupted. The names RIDE_* mean
 * an ACK that is sent together with a message.
 */
#include "link/udp_int.h"
#include "wire/psn.h"

/*
 * The longest delay of an ACK is RIDE_SENDS times the duration of a send, because a send is what a
 * held ACK saves, but between RIDE_MIN and RIDE_MAX. A message counts as the answer within twice
 * that time (late()). On an emulated machine a send takes 100 us.
 */
#define RIDE_SENDS 8
#define RIDE_MIN (20 * NS_US)
#define RIDE_MAX (1000 * NS_US)
#define RIDE_ENOUGH (RIDE_ALL * 3 / 4)	/* ACKs are held if udp_link.soon has at least this value */

/* A positive ACK without further information. */
static bool plain_ack(const struct seg *seg)
{
	return seg->type == SEG_ACK && seg->syndrome == AETH_ACK_UNLIMITED && !seg->damage &&
	       seg->service == SEG_RC && !seg->net;
}

bool udp_answers(const struct seg *seg)
{
	return seg->type == SEG_ACK || seg->type == SEG_READ_RESP || seg->type == SEG_ATOMIC_ACK;
}

static ns_t ride_ns(const struct udp_ep *ep)
{
	return min(max(RIDE_SENDS * ep->send_ns, (ns_t)RIDE_MIN), (ns_t)RIDE_MAX);
}

/*
 * Update ul->soon, a moving average: an answer in time adds 1/16 of the distance to RIDE_ALL, a miss
 * takes away 1/4. It stays at RIDE_ENOUGH (3/4) if 12 of 13 answers come in time.
 */
static void came(struct udp_link *ul, bool soon)
{
	ul->soon += soon ? (RIDE_ALL - ul->soon) / 16 : -ul->soon / 4;
}

/*
 * Did the message come too late for an answer? Twice the delay is allowed, because the program may
 * have waited for the thread that sent the ACK.
 */
static bool late(const struct udp_link *ul, ns_t now)
{
	return now - ul->acked_at >= 2 * ride_ns(ul->ep);
}

/* Learn from each segment that is sent how soon the program answers. */
static void learn(struct udp_link *ul, const struct seg *seg)
{
	struct udp_ep *ep = ul->ep;

	if (plain_ack(seg)) {
		ep->ack_at = ep->cfg.now();
		if (ul->acked_at && !late(ul, ep->ack_at))
			return;		/* a second ACK before the answer: the time to the answer still counts from the first */
		if (ul->acked_at)
			came(ul, false);
		ul->acked_at = ep->ack_at;
	} else if (ul->acked_at && !udp_answers(seg)) {
		came(ul, !late(ul, ep->cfg.now()));
		ul->acked_at = 0;
	}
}

bool udp_held(struct udp_link *ul, const struct seg *seg)
{
	struct udp_ep *ep = ul->ep;

	if (!ep->cfg.now)
		return false;
	learn(ul, seg);
	if (!ep->may_hold || (ul->soon < RIDE_ENOUGH && !ul->holds) || ep->no_gso ||
	    !plain_ack(seg))
		return false;
	/*
	 * A link holds one ACK. An ACK for another QP is not held. A later ACK for the same QP
	 * replaces the held one. An ACK with an earlier PSN, which answers a duplicate request, is
	 * dropped, since the held ACK includes it.
	 */
	if (ul->holds && ul->held.dqpn != seg->dqpn)
		return false;
	if (ul->holds && psn_diff(seg->psn, ul->held.psn) < 0)
		return true;
	ul->held = *seg;
	if (!ul->holds)
		ep->nheld++;
	ul->holds = true;
	return true;
}

/*
 * Measure how long the send took. The program could not answer before the send ended, so the time
 * until its answer counts from now.
 */
void udp_sent(struct udp_link *ul, const struct seg *seg)
{
	struct udp_ep *ep = ul->ep;
	ns_t now;

	if (!ul->acked_at || !plain_ack(seg))
		return;
	now = ep->cfg.now();
	ep->send_ns = ns_learn(ep->send_ns, now - ep->ack_at);
	if (ul->acked_at == ep->ack_at)
		ul->acked_at = now;
}

void udp_unheld(struct udp_link *ul)
{
	ul->ep->nheld -= ul->holds;
	ul->holds = false;
}

/* No message followed the held ACK in time: send the ACK alone. If the socket is full, the ACK remains held. */
static void miss(struct udp_link *ul)
{
	struct seg seg = ul->held;

	udp_unheld(ul);
	came(ul, false);
	ul->acked_at = 0;
	if (udp_send_now(ul, &seg, NULL) == -EAGAIN) {
		ul->holds = true;
		ul->ep->nheld++;
	}
}

void udp_hold(struct udp_ep *ep, bool may)
{
	ep->may_hold = may;
}

bool udp_holds(const struct udp_ep *ep)
{
	return ep->nheld;
}

void udp_flush_link(struct udp_link *ul)
{
	if (ul->holds)
		miss(ul);
}

void udp_settle_link(struct udp_link *ul)
{
	udp_flush_link(ul);
	if (unlikely(ul->holds) && udp_wait_room(&ul->l))
		udp_flush_link(ul);
}

void udp_settle(struct udp_ep *ep)
{
	struct udp_link *ul;

	if (likely(!ep->nheld))
		return;
	list_for_each_entry(ul, &ep->links, entry)
		udp_settle_link(ul);
}

static APART void flush_held(struct udp_ep *ep)
{
	struct udp_link *ul;

	list_for_each_entry(ul, &ep->links, entry)
		udp_flush_link(ul);
}

void udp_flush(struct udp_ep *ep)
{
	if (unlikely(ep->nheld))
		flush_held(ep);
}

ns_t udp_flush_old(struct udp_ep *ep, ns_t now)
{
	ns_t next = NS_NEVER;
	struct udp_link *ul;

	if (likely(!ep->nheld))
		return next;
	list_for_each_entry(ul, &ep->links, entry) {
		if (!ul->holds)
			continue;
		if (now - ul->acked_at >= ride_ns(ep))
			miss(ul);
		if (ul->holds)
			next = min(next, (ul->acked_at ? ul->acked_at : now) + ride_ns(ep));
	}
	return next;
}
