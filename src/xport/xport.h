/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport engine: requester, completer and responder of a QP as
 * functions of (state, input, now). No socket, clock, thread or file in this
 * room. The caller holds the engine's lock.
 *
 * After xp_output(), xp_input(), xp_modified() or xp_timer() the caller looks
 * at xp_wake() and arms its timer; earlier calls to xp_timer() are harmless.
 */
#ifndef RUSE_XPORT_XPORT_H
#define RUSE_XPORT_XPORT_H

#include "core/qp.h"
#include "link/link.h"

/* Sets up req and resp of a new QP. -ENOMEM. */
int xp_init(struct qp *qp);
/* Before qp_destroy(): revokes payload references, frees. Nothing is completed. */
void xp_fini(struct qp *qp);

/*
 * Doorbell: looks at the send queue and sends what window, fence, RNR wait and
 * link allow. Also called when a link is writable again. 0, or -EINVAL in a
 * state below RTS, whose WQEs are dropped.
 */
int xp_output(struct qp *qp, ns_t now);

/*
 * The QP will send no more, because it or its program goes. What it owes its
 * peer goes out now, if only the link gets room in time.
 */
void xp_settle(struct qp *qp);

/* A segment for this QP has arrived; answers go out on from. */
void xp_input(struct qp *qp, const struct seg *seg, struct link *from, ns_t now);

/* State or attributes were changed by qp_modify(): start, drain, flush, reset. */
void xp_modified(struct qp *qp, enum qp_state old, uint32_t mask, ns_t now);

/* The QP fails for a reason outside the protocol (CQ overflow, lost ring): ERR, flush, event. */
void xp_error(struct qp *qp, ns_t now);

/* Receives were posted to a QP in ERR, or somebody suspects so: flushes them, not those of an SRQ. */
void xp_flush_recv(struct qp *qp, ns_t now);

/* When xp_timer() wants to be called; NS_NEVER. */
ns_t xp_wake(const struct qp *qp);
/* Also for link_host.attention: looks whether a peer's direct placement has failed. */
void xp_timer(struct qp *qp, ns_t now);

/* The peer says that our packets meet congestion on their way. */
void xp_congestion(struct qp *qp);

/* A link refused something of this QP (-EAGAIN): call xp_output() when it is writable, whatever the state. */
bool xp_blocked(const struct qp *qp);

/*
 * Fills the live values that query_qp tells: next PSNs, draining. The QP may
 * enter ERR: that a placement failed is known to its requester before anything
 * has told the owner.
 */
void xp_query(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining);

/* True while nothing of the QP is in flight either way: the link may be changed. */
bool xp_idle(const struct qp *qp);

#endif
