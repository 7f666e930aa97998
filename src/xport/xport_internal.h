/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions and helpers shared by the files of xport/. */
#ifndef RUSE_XPORT_INTERNAL_H
#define RUSE_XPORT_INTERNAL_H

#include <errno.h>
#include "base/log.h"
#include "core/umem.h"
#include "wire/psn.h"
#include "xport/wc.h"
#include "xport/xport.h"

#define XP_WINDOW (1u << 22)
/* Bytes after which an AckReq is sent, so that long messages make progress. */
#define XP_ACK_BYTES (256u << 10)

/* Packets from una forward to a, 0 to 2^24 - 1. Unlike psn_diff() never negative: a READ may span half of the PSN space. */
static inline uint32_t psn_off(uint32_t a, uint32_t una)
{
	return (a - una) & PSN_MASK;
}

static inline uint32_t xp_outstanding(const struct qp *qp)
{
	return psn_off(qp->req.nxt, qp->req.una);
}

/* Private copy of the WQE in this slot of the SQ, which is in [sq.index, tail). */
static inline struct req_wqe *req_wqe(const struct qp *qp, uint32_t slot)
{
	return &qp->req.wqe[slot & qp->req.wqe_mask];
}

static inline bool wqe_is_rd(const struct req_wqe *w)
{
	return w->type >= SEG_READ_REQ;
}

/* P_Key of the QP's packets, or PKEY_ROCE_V1. */
static inline uint16_t xp_pkey(const struct qp *qp)
{
	return qp->dev->pkey[qp->pkey_at];
}

/* True if requester and completer run in the QP's state. */
static inline bool xp_sends(const struct qp *qp)
{
	return qp->state == QPS_RTS || qp->state == QPS_SQD;
}

/* mem.c. xp_sge_iov() returns the number of iov entries used or -errno, xp_place() 0 or -errno; mem.c lists the errors. */
int xp_sge_iov(const struct qp *qp, const struct pd *pd, const struct rxe_sge *sge, uint32_t num,
	       uint64_t off, uint64_t len, uint32_t access, struct iovec *iov);
int xp_place(const struct seg *seg, uint64_t off, const struct iovec *dst, int ndst, uint64_t len);

/* wqe.c: the send ring. wqe_fetch() returns false if it has read no WQE; wqe_iov() returns the same as xp_sge_iov(). */
bool wqe_fetch(struct qp *qp);
uint32_t wqe_wc_opcode(uint32_t opcode);
int wqe_iov(const struct qp *qp, const struct req_wqe *w, uint32_t slot, uint64_t off,
	    uint64_t len, struct iovec *iov);

enum wc_status wqe_bind(struct qp *qp, const struct req_wqe *w);

/* req.c */
void req_run(struct qp *qp, ns_t now);
void req_go_back(struct qp *qp);
bool req_head_is_rd(const struct qp *qp);
void req_probe(struct qp *qp, ns_t now);
void req_probed(struct qp *qp, uint32_t una);
void req_acked(struct qp *qp);
void req_check_drained(struct qp *qp);

/* unrel.c: UC and UD */
void unrel_run(struct qp *qp, ns_t now);

/* Sends as much as possible. */
static inline void xp_run(struct qp *qp, ns_t now)
{
	if (likely(qp->type == QPT_RC))
		req_run(qp, now);
	else
		unrel_run(qp, now);
}

/* uc.c, ud.c: responders. They lock qp->card. */
void uc_input(struct qp *qp, const struct seg *seg);
void ud_input(struct qp *qp, const struct seg *seg);

/* comp.c */
void comp_input(struct qp *qp, const struct seg *seg, ns_t now);
void comp_success(struct qp *qp, struct req_wqe *w);
void comp_local(struct qp *qp);
void comp_overrun(struct qp *qp, ns_t now);

/* resp.c, resp_out.c. The caller has locked qp->card; resp_input() locks it itself. */
void resp_input(struct qp *qp, const struct seg *seg, struct link *from, ns_t now);
void resp_set_from(struct qp *qp, struct link *from);
void resp_output(struct qp *qp, struct link *l);
void resp_answer(struct qp *qp, struct link *l, uint32_t psn, uint8_t syndrome);
void resp_answer_late(struct qp *qp, struct link *l, uint32_t psn);
bool resp_queue(struct qp *qp, const struct resp_res *res);
uint32_t resp_queue_new(const struct qp *qp);
/* Allocates state for max_dest_rd_atomic READs and atomics. False: no memory. */
bool resp_rd_alloc(struct qp *qp);
void resp_rd_free(struct qp *qp);
void resp_fatal(struct qp *qp, struct link *l, uint32_t psn, uint8_t syndrome,
		enum wc_status status, enum xp_event event);

static inline bool resp_owes(const struct qp *qp)
{
	return qp->resp.res_count || qp->resp.ack_due || qp->resp.fatal_syn;
}

static inline bool resp_busy(const struct qp *qp)
{
	return qp->resp.msg != RESP_MSG_NONE || resp_owes(qp);
}

/* recv.c: receive WQEs of the QP's queue or its SRQ. The QP holds one at a time, in qp->resp. */
enum recv_fetch {
	RECV_GOT,	/* the QP has fetched a WQE (qp_resp.have_wqe) */
	RECV_NONE,	/* the receive queue or SRQ is empty */
	RECV_BAD	/* the WQE is bad (and held, if have_wqe), or the SRQ is: local QP operation error */
};
enum recv_fetch recv_fetch(struct qp *qp);
/* Addresses of bytes [off, off + len) of the held WQE, as xp_sge_iov(). */
int recv_iov(const struct qp *qp, uint64_t off, uint64_t len, struct iovec *iov);
/*
 * Reserves the completion of the held WQE and sets wr_id, qp_num, port_num and byte_len (len); the WQE is then not held any more.
 * The caller fills in the rest and calls cq_publish(). qp->card is locked. NULL: the CQ is full, and the QP has entered ERR.
 */
struct ib_uverbs_wc *recv_wc(struct qp *qp, uint32_t len);

/* timer.c: the only file that counts attempts. xp_timer_retry(), xp_timer_rnr(): false: none is left, the caller fails the WQE. */
void xp_timer_sent(struct qp *qp, ns_t now);
void xp_timer_progress(struct qp *qp, ns_t now);
bool xp_timer_retry(struct qp *qp, ns_t now);
bool xp_timer_rnr(struct qp *qp, uint8_t syndrome, ns_t now);
void xp_timer_config(struct qp *qp);

/* flush.c */
void xp_fail_head(struct qp *qp, enum wc_status status);
void xp_enter_err(struct qp *qp, bool card_locked);
void xp_error_cqe(struct qp *qp, bool send, uint64_t wr_id, enum wc_status status);
void xp_flush_sq(struct qp *qp);
void xp_fail_recv(struct qp *qp, enum wc_status status);
void xp_flush_rq(struct qp *qp);

#endif
