/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ACK that rides. A program that answers each message sends an ACK and then
 * a message of its own to the same place, and each costs a way through the
 * kernel at both ends. Where the program has answered at once several times
 * running, the ACK waits for the answer, and both go out as one train.
 *
 * The wait is short: whoever allowed it (udp_hold()) looks after it with
 * udp_flush() and udp_flush_old(). One in vain is several sendings lost, where an
 * answer in time saves one: an ACK waits only while some nine of ten are answered
 * in time. One miss may mean no more than that the program was interrupted.
 */
#include "link/udp_int.h"
#include "wire/psn.h"

/*
 * An answer that comes later is none: several times what it takes to send, for
 * that is what can be saved. A machine emulated by another needs 100 us for it.
 */
#define RIDE_SENDS 8
#define RIDE_MIN (20 * NS_US)
#define RIDE_MAX (1000 * NS_US)
#define RIDE_ENOUGH (RIDE_ALL * 3 / 4)	/* that share of the answers in time */

/* A positive acknowledgement and nothing else. */
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

/* A miss weighs four answers, so that RIDE_ENOUGH means 12 of 13 in the long run. */
static void came(struct udp_link *ul, bool soon)
{
	ul->soon += soon ? (RIDE_ALL - ul->soon) / 16 : -ul->soon / 4;
}

/* Too late to be an answer. It may have had to wait for whoever sent the ACK, and would not have then. */
static bool late(const struct udp_link *ul, ns_t now)
{
	return now - ul->acked_at >= 2 * ride_ns(ul->ep);
}

/* What the link carries tells how soon the program answers. */
static void learn(struct udp_link *ul, const struct seg *seg)
{
	struct udp_ep *ep = ul->ep;

	if (plain_ack(seg)) {
		ep->ack_at = ep->cfg.now();
		if (ul->acked_at && !late(ul, ep->ack_at))
			return;		/* two messages came; whose answer comes first is not known */
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
	/* A later one of the same QP says both; that of a duplicate may be the earlier. */
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

/* How long it took. Until now the program could do nothing. */
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

/* Nothing came to ride with. It stays where the socket is full. */
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
