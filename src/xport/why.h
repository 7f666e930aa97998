/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reasons of failures in the transport. A check that fails sets the reason of its QP (struct qp_fail). Whatever then reports
 * the failure uses it: a completion, of which it is the vendor error; a NAK, which takes it to the peer on links that
 * can; and the log of the process (rdev_ops.failed). All functions are called on failure only.
 */
#ifndef RUSE_XPORT_WHY_H
#define RUSE_XPORT_WHY_H

#include "core/why_key.h"
#include "xport/xport_internal.h"

/*
 * What is known of the QP's failure. The device has such a record for the DEV_QP_FAILS QPs that have failed last; an
 * older one is forgotten. The result is valid until the next call for another QP.
 */
struct qp_fail *xp_fail(struct qp *qp);
/* The same; NULL: the device has no record of the QP. */
const struct qp_fail *xp_fail_find(const struct qp *qp);
/* Call when the QP is new, reset or destroyed. */
void xp_fail_forget(const struct qp *qp);

/* Sets the reason of the QP's next failure: an id of why/why.def without WHY_, and its values. */
#define xp_why(qp, id, ...) xp_why_set((qp), WHY_##id, WHY_VALUES(__VA_ARGS__))
void xp_why_set(struct qp *qp, enum why_id id, const uint64_t arg[WHY_ARGS]);
/* The reason for which mr_check() with these arguments has refused the peer's access. */
void xp_why_key(struct qp *qp, uint32_t key, uint64_t va, uint64_t len, uint32_t access);
/*
 * The reason for which xp_sge_iov() with these arguments has failed, or for which the memory that it has named cannot
 * be accessed. recv: the list is that of a receive.
 */
void xp_why_sge(struct qp *qp, const struct pd *pd, const struct rxe_sge *sge, uint32_t num,
		uint64_t off, uint64_t len, uint32_t access, bool recv);
/* The same for the payload [off, off + len) of the send WQE in this slot. */
void xp_why_wqe(struct qp *qp, const struct req_wqe *w, uint32_t slot, uint64_t off, uint64_t len);
/* The same for the receive WQE that the QP holds. */
void xp_why_recv(struct qp *qp, uint64_t off, uint64_t len);
/* The reason for which recv_fetch() has returned RECV_BAD. */
void xp_why_bad_recv(struct qp *qp);
/* The reason of a NAK from the peer: its own if the link brings it. */
void xp_why_nak(struct qp *qp, const struct seg *seg);
/* An RNR or sequence NAK is sent that a rule of `ruse fault` has made; rule 0: no rule has. */
void xp_rule_sent(struct qp *qp, uint32_t rule);
/* One has come. Within the host its reason names the rule. */
void xp_rule_came(struct qp *qp, const struct seg *seg);
/* The rule that has made the last one that has come since una advanced; 0: none, or it is not known. */
uint32_t xp_rule_in(const struct qp *qp);
/* seg: the RNR NAK after which the requester gives up. */
void xp_why_rnr(struct qp *qp, const struct seg *seg);
/* What is known of the peer's QP. */
struct peer_qp {
	bool known;		/* false: nothing, as on a wire */
	bool exists;
	uint32_t state;		/* enum qp_state */
	uint32_t err;		/* in ERR: enum why_id of the failure, not checked; 0: its program moved it there */
	uint32_t dest_qpn;	/* and CARD_V1 */
};
struct peer_qp xp_peer_qp(const struct qp *qp);
/* Is it in a state in which it does not receive? */
static inline bool xp_peer_deaf(const struct peer_qp *p)
{
	return p->exists && (p->state < QPS_RTR || p->state > QPS_SQD);
}
/* The reason for which cq_reserve() has returned NULL. */
void xp_why_cq(struct qp *qp, const struct cq *cq);
/* The reason for which the last attempt was in vain. */
void xp_why_retry(struct qp *qp);

/* Logs the completion of a WQE with an error. Returns its vendor error. */
uint32_t xp_why_cqe(struct qp *qp, uint64_t wr_id, enum wc_status status);
/* Logs that the responder has refused a request, if no completion does it. */
void xp_why_refused(struct qp *qp);
/* Logs an asynchronous event of the QP, with the reason of its failure. */
void xp_why_event(struct qp *qp, enum xp_event event);
/* Logs that the SRQ of this QP fails. */
void xp_why_srq(struct qp *qp);
/* Logs that a packet was dropped. */
#define xp_drop(qp, id, ...) \
	do { \
		struct why why_; \
		why_set(&why_, id, __VA_ARGS__); \
		xp_why_drop((qp), &why_); \
	} while (0)
void xp_why_drop(struct qp *qp, const struct why *why);
/* The same if the QP is in a state in which it does not receive. That packets arrive after a failure is usual: not logged. */
void xp_drop_state(struct qp *qp);
/* Call when the QP enters ERR: the reason is that of all work requests that are flushed. */
void xp_why_err(struct qp *qp);

#endif
