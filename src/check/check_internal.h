/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of check/. */
#ifndef RUSE_CHECK_INTERNAL_H
#define RUSE_CHECK_INTERNAL_H

#include "check/block.h"
#include "check/check.h"
#include "core/check.h"

extern const struct check_host *check_host;

/* req.c: a send request. */
struct check_req {
	uint64_t wr_id;
	struct check_block *block;	/* NULL: nothing of its memory is checked */
	ns_t at;			/* when it was posted; 0: not known */
	uint32_t site;
	uint32_t refers;		/* the AH of a datagram, the window of a bind; 0: none */
	uint32_t ended;		/* 1 + site at which that was destroyed; 0: it was not */
	uint32_t arrived, others;	/* check_arrived, and what of it was not of its QP, when it was posted */
	uint64_t freed;			/* check_freed_now() when it was posted */
	uint8_t opcode;
	uint8_t signaled : 1, failed : 1, told : 1;
};

/* The receives that the program has posted to a queue and the engine has not taken. */
struct check_recvs {
	struct check_block **block;	/* by number & mask; NULL: nothing is done with it */
	uint32_t mask, first, next;
	bool off;		/* there was no memory */
};

/* The requests of a QP, by a number that counts up: those in [first, done) are complete but not polled. */
struct check_sends {
	struct check_qp pub;	/* qp->check */
	struct list_head node;	/* in a list of all */
	struct qp *qp;
	uint32_t own;		/* what it has added to check_arrived by messages for receives */
	uint32_t asked_send, asked_recv;	/* max_send_wr and max_recv_wr before they were rounded */
	uint32_t receives;	/* the most that its receive queue held when a message came */
	uint32_t unsignaled;	/* requests without a completion of their own, at the end of the queue */
	struct check_req *req;	/* by number & mask */
	uint32_t mask, first, done, next;
	uint32_t looked;	/* those before were compared when a message arrived on the QP */
	bool has_taken;		/* the engine has taken a receive and not completed it */
	struct check_block *taken;	/* of that; NULL: nothing is done with it */
	struct check_recvs recvs;	/* of the QP's own queue */
};

static inline struct check_sends *check_sends(const struct qp *qp)
{
	return container_of(qp->check, struct check_sends, pub);
}

/* Messages of peers so far, modulo 2^32: each may be an answer. */
extern uint32_t check_arrived;

void check_req_begin(struct qp *qp);
void check_req_end(struct qp *qp);
void check_req_posted(struct qp *qp);
void check_req_consumed(struct qp *qp);
/* A message of the peer has arrived on the QP, and the program does not know it yet. */
void check_req_arrived(struct qp *qp);
void check_req_forget(struct qp *qp);
void *check_req_target(struct qp *qp, uint64_t off, uint64_t len);
void check_req_fenced(struct qp *qp);
/* A completion was polled that covers the requests before number `end`. */
void check_req_polled(struct check_sends *s, uint32_t end);
void check_req_key_gone(uint32_t index);
/* May a peer on this host have written by direct placement since the request was posted? It is not known where. */
bool check_req_written(const struct check_req *r);
/* Did the request fail, or may a poll that was not seen have covered it? */
bool check_req_unsure(const struct check_req *r);

/* judge.c: what is found at send requests. */
/* Tells a finding of the request; other: the site of the call that has caused it, 0: none. */
void check_req_found(struct check_sends *s, const struct check_req *r, uint32_t other,
		     struct check_found *f);
/* since: also memory that is in use again counts if it was freed after this (check_freed_now()). True: it was freed. */
bool check_req_freed(struct check_sends *s, struct check_req *r, uint64_t since);
/* The memory of the request is not mapped at this offset of its message. */
void check_req_gone(struct check_sends *s, struct check_req *r, uint64_t at);
/* answered: a message of the peer may have told the program that this one has arrived. */
void check_req_compare(struct check_sends *s, struct check_req *r, bool answered);
/* The request is over: polled, or forgotten with its QP. */
void check_req_over(struct check_sends *s, struct check_req *r, bool polled);

/* recv.c: receives. */
/* The QP is new: looks at its SRQ from now on. */
void check_recv_begin(const struct qp *qp);
void check_recv_srq_end(struct srq *srq);
void check_recv_taken(struct qp *qp);
void check_recv_key(const struct key_card *c);
void *check_recv_target(const struct qp *qp, uint64_t off, uint64_t len);
/* The receive that is completed now, until check_recv_over(). */
struct check_block *check_recv_done(struct qp *qp);
/* The program has polled it: the message is put into its place. b NULL: nothing to do. */
void check_recv_over(struct check_block *b);
/* The receives of the QP end without completions, and those that were not polled are over. */
void check_recv_forget(struct qp *qp);
/* A request uses this memory: shows what is hidden there. True: a receive is outstanding. */
bool check_recv_overlap(const struct check_block *b);

/* freed.c: memory that was freed while it was registered. */
/* False: no memory. */
bool check_freed_init(void);
/* A number of the last call that freed registered memory; it counts up. */
uint64_t check_freed_now(void);
/* 1 + site of the call that has freed a part of the block's memory, if that is not in use again, or after `since`; 0: none has. */
uint32_t check_freed_block(const struct check_block *b, uint64_t since);
/* The engine writes to this memory. */
void check_freed_placed(const void *addr, size_t len);
/* A key is valid from now on, and not any more. */
void check_freed_key(struct rdev *dev, uint32_t index, const struct key_card *c);
void check_freed_key_gone(uint32_t index);

/* store.c: stores that change buffers. */
void check_store_begin(void);
/* A request of this site was changed at this offset. */
void check_store_wanted(uint32_t site, uint64_t at);
/* The bytes of a request are copied. */
void check_store_posted(uint32_t site, const struct check_block *b);
/* Where it was changed; 0: not known. */
uint32_t check_store_site(const struct check_block *b);
void check_store_over(const struct check_block *b);

/* hints.c: what may be wrong. */
void check_hint_qp_wanted(struct rdev *dev, const struct qp_init_attr *attr);
void check_hint_cq_wanted(struct rdev *dev, uint32_t cqe);
void check_hint_srq_wanted(struct rdev *dev, const struct srq_init_attr *attr);
void check_hint_qp(struct qp *qp);
void check_hint_modified(struct qp *qp, uint32_t mask);
void check_hint_ah(struct rdev *dev, const struct ib_uverbs_ah_attr *attr);
/* The QP takes the first receive of its queue. */
void check_hint_taken(struct qp *qp);

/* cq.c: completions that were not polled. */
bool check_cq_begin(struct cq *cq);
/* A signaled send was posted (+1), or is complete (-1), whose completion the CQ gets. */
void check_cq_awaits(struct cq *cq, int n);
uint32_t check_cq_awaited(const struct cq *cq);
/* Completions in the ring that the program has not polled. */
uint32_t check_cq_unpolled(struct cq *cq);
void check_cq_end(struct cq *cq);
void check_cq_note(struct qp *qp, bool send);
void check_cq_publish(struct cq *cq, struct ib_uverbs_wc *wc);
/* The QP ends, or is reset: its completions cover nothing more, and its messages are put into their places. */
void check_cq_forget(struct cq *cq, const struct check_sends *s);

#endif
