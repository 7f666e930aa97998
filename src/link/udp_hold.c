/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Delayed ACKs: piggyback an ACK on the program's reply.
 *
 * When a program answers each message, an ACK and then the program's message are sent to the same
 * peer. Each passes the kernel's network stack at both ends. If the program has answered at once
 * several times in a row, the ACK is held until the answer, and both are sent as one buffer (a train, udp_tx.c).
 *
 * A delay in vain costs as much as ten sends, and an answer in time saves one. An ACK is therefore
 * held only if each of the last TUNE_HABIT ACKs was answered within TUNE_SOON, and for TUNE_SOON at most. The caller of
 * udp_hold() must bound the delay with udp_flush() and udp_flush_old().
 */
#include "base/tuning.h"
#include "link/udp_int.h"
#include "wire/psn.h"

/* A positive ACK without further information. */
static bool udp_plain_ack(const struct seg *seg)
{
	return seg->type == SEG_ACK && seg->syndrome == AETH_ACK_UNLIMITED && !seg->bad_icrc &&
	       seg->service == SEG_RC && !seg->net;
}

/* An answer, or none, to the first ACK since the last message. */
static void udp_hold_came(struct udp_link *ul, bool in_time)
{
	ul->answered = in_time ? ul->answered + 1 : 0;
	ul->acked_at = 0;
}

/* Learn from each segment that is sent how soon the program answers. */
static void udp_hold_learn(struct udp_link *ul, const struct seg *seg)
{
	bool ack = udp_plain_ack(seg);
	ns_t now;

	if (!ack && (!ul->acked_at || seg_is_answer(seg)))
		return;
	now = ul->ep->cfg.now();
	/* A second ACK is no answer: another message of the peer arrived earlier, and the time counts from the first. */
	if (ul->acked_at && (!ack || now - ul->acked_at >= TUNE_SOON))
		udp_hold_came(ul, now - ul->acked_at < TUNE_SOON);
	if (ack && !ul->acked_at)
		ul->acked_at = now;
}

bool udp_held(struct udp_link *ul, const struct seg *seg)
{
	struct udp_ep *ep = ul->ep;

	if (!ep->cfg.now)
		return false;
	udp_hold_learn(ul, seg);
	if (!ep->may_hold || ul->answered < TUNE_HABIT || ep->no_gso || !udp_plain_ack(seg))
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

void udp_unheld(struct udp_link *ul)
{
	ul->ep->nheld -= ul->holds;
	ul->holds = false;
}

/* No message followed the held ACK in time: send the ACK alone. If the socket is full, the ACK remains held. */
static void udp_hold_miss(struct udp_link *ul)
{
	struct seg seg = ul->held;

	udp_unheld(ul);
	udp_hold_came(ul, false);
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

/* Send the held ACK, if any, alone. */
static void udp_flush_link(struct udp_link *ul)
{
	if (ul->holds)
		udp_hold_miss(ul);
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

static noinline void udp_hold_flush(struct udp_ep *ep)
{
	struct udp_link *ul;

	list_for_each_entry(ul, &ep->links, entry)
		udp_flush_link(ul);
}

void udp_flush(struct udp_ep *ep)
{
	if (unlikely(ep->nheld))
		udp_hold_flush(ep);
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
		if (now - ul->acked_at >= TUNE_SOON)
			udp_hold_miss(ul);
		if (ul->holds)
			next = min(next, (ul->acked_at ? ul->acked_at : now) + TUNE_SOON);
	}
	return next;
}
