/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `ruse run --check`: misuse of verbs that no adapter refuses. The design is doc/design/check.md.
 *
 * Each QP has a queue of its send requests (struct check_req), from the doorbell that posted them until the program polls
 * a completion that covers them. The caller of every function holds the engine lock.
 */
#ifndef RUSE_CHECK_CHECK_H
#define RUSE_CHECK_CHECK_H

#include "core/cq.h"
#include "core/qp.h"
#include "why/why.h"

/* A finding: a reason of kind CHECK or HINT, and the stacks that belong to it. */
struct check_found {
	struct why why;
	struct rdev *dev;
	uint32_t qpn;		/* 0: none */
	uint64_t wr_id;
	uint32_t posted;	/* site of the request; 0: not known */
	uint32_t other;		/* a second site, 0: none; what it is tells the text of the reason */
};

/*
 * The host of the checks: engine/ in a program, a fake in tests. A site is the number of a call stack of the program; 0 is
 * no stack.
 */
struct check_host {
	void (*found)(const struct check_found *f);
	uint32_t (*site)(void);		/* of the calling thread, now */
	uint32_t (*site_of)(void *const *frame, uint32_t n);	/* of this stack, innermost first */
	bool poison;			/* receives hold the pattern, too */
	/*
	 * Watches the eight bytes around an address for stores of the program, or NULL: no more. False: that is not possible.
	 * NULL: the stores that change buffers are not wanted.
	 */
	bool (*watch)(void *addr);
	uint32_t (*stored)(void);	/* the site of the first store there; 0: none was seen */
	bool hints;			/* hints are wanted */
};

/* Begins to check: sets check_ops. Before the first QP of the process. False: no memory. */
bool check_begin(const struct check_host *host);
/* The requests that are looked at next (check_ops->posted) were posted here, at this time of the host clock. */
void check_set_site(uint32_t site, ns_t now);

/* The CQ of this libibverbs object, of those that are checked; NULL: none. */
struct cq *check_cq_find(uint64_t user_handle);
/*
 * The program has polled the CQ: what the completions cover is compared, and data that was kept aside is put into its place.
 */
void check_cq_polled(struct cq *cq);
/* A signal handler has interrupted the engine and polled a CQ: what that completion covers is not known. Without the lock. */
void check_cq_missed(void);
/*
 * The same for one completion that ibv_start_poll() (first) or ibv_next_poll() has shown: the consumer index of the ring moves
 * later, at ibv_end_poll().
 */
void check_cq_shown(struct cq *cq, bool first);

/* The program arms a CQ that holds completions from before. */
void check_cq_armed(struct cq *cq);
/* The thread that has armed it waits for its event, which is about to be raised, and they are still not polled. */
void check_cq_lost(struct cq *cq);
/*
 * The CQ is polled for the first time since. It is misuse if the thread that has waited does that (armed): it needs the event.
 * Another thread may look by itself for what came before the arm.
 */
bool check_cq_is_lost(const struct cq *cq);
void check_cq_found(struct cq *cq, bool armed);

/* The program has posted a receive of len bytes to a UD QP, at this site. */
void check_ud_recv(struct qp *qp, uint64_t wr_id, uint64_t len, uint32_t site);

/* With poison, receives are looked at. */
extern bool check_poison;
/* The program has posted receives to the QP, or to the SRQ of this libibverbs object; only with poison. */
void check_recv_posted(struct qp *qp);
void check_srq_posted(uint64_t user_handle);
/* The program uses this memory: sends it inline, which librxe copies by itself, or lets peers write to it. */
void check_recv_use(const void *addr, size_t len);
/* The process ends, and has not destroyed these objects of the device. */
struct check_left {
	uint64_t qps, cqs, srqs, mrs, ahs, mws;
};
void check_ending(struct rdev *dev, const struct check_left *left);

/*
 * The process is about to fork: puts what is hidden into the memory. The child cannot do that, as it may share some of the memory
 * with its parent.
 */
void check_forking(void);
/* In a forked child, after that: forgets the requests of its parent. */
void check_forked(void);

#endif
