/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport engine: requester, completer and responder of a QP. It has no socket, clock, thread
 * or file: its output depends on state, input and time (now) alone. Only two callees sleep:
 * card_lock(), and the link in xp_settle(). The caller holds the engine lock.
 *
 * Direct placement: a requester executes a WRITE or READ itself, by a copy to or from the memory of
 * a peer on the same host. It makes the responder's checks, with the state in the responder's QP
 * card (queue/card.h).
 *
 * After xp_output(), xp_input(), xp_modified() or xp_timer() the caller must arrange for xp_timer()
 * to be called at xp_wake(); calling it earlier is harmless.
 */
#ifndef RUSE_XPORT_XPORT_H
#define RUSE_XPORT_XPORT_H

#include "core/qp.h"
#include "link/link.h"

/* Initialises req and resp of a new QP. -ENOMEM. */
int xp_init(struct qp *qp);
/* To be called before qp_destroy(): revokes payload references, frees. Completes nothing. */
void xp_fini(struct qp *qp);

/*
 * Doorbell: sends the WQEs in the send queue as far as window, fence, RNR wait and link allow. Also
 * called when a link is writable again. In SQE and ERR these WQEs are flushed. 0, or -EINVAL
 * in RESET, INIT and RTR: the WQEs are dropped without completions.
 */
int xp_output(struct qp *qp, ns_t now);

/*
 * Sends the ACK that the QP owes its peer, before the QP or its process ends. If the link is full,
 * its wait_room() waits for room, for a limited time; a link without wait_room() is not waited for.
 */
void xp_settle(struct qp *qp);

/* Handles a segment received for this QP; answers are sent on `from`. */
void xp_input(struct qp *qp, const struct seg *seg, struct link *from, ns_t now);

/*
 * Applies a change of state or attributes made by qp_modify(): starts or drains sending, flushes
 * the WQEs, or resets the QP.
 */
void xp_modified(struct qp *qp, enum qp_state old, uint32_t mask, ns_t now);

/*
 * Fails the QP for a reason outside the protocol (CQ overflow, lost ring): the QP enters ERR, its
 * WQEs are flushed, an async event is raised.
 */
void xp_error(struct qp *qp, ns_t now);

/* Flushes receive WQEs that the program may have posted after the QP entered ERR, except those of an SRQ. */
void xp_flush_recv(struct qp *qp, ns_t now);

/* Time at which xp_timer() must be called; NS_NEVER: not at all. */
ns_t xp_wake(const struct qp *qp);
/* Handles expired timers. It may be called at any time. */
void xp_timer(struct qp *qp, ns_t now);

/* Hands over the segments that `ruse run --shake` keeps: the QP, its connection or the process ends. */
void xp_shaken_release(struct qp *qp, ns_t now);

/* Handles a congestion notification (CNP) from the peer. */
void xp_congestion(struct qp *qp);

/* True if a link has refused a segment (-EAGAIN): call xp_output() when it is writable. */
bool xp_blocked(const struct qp *qp);

/* Gets the live values for query_qp: next PSNs, draining. */
void xp_query(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining);

/* True if nothing of the QP is in flight in either direction: the link may be changed. */
bool xp_idle(const struct qp *qp);

#endif
