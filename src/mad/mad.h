/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The MAD layer of ib_mad: agents, dispatch, transactions with timeout and
 * retries, RMPP. Functions of (state, input, now); the host sends, receives
 * and keeps the time. One thread; callbacks may call anything here, also
 * mad_agent_destroy() on their own agent, but not mad_port_fini().
 *
 * After any call the host looks at mad_wake(); early mad_timer() is harmless.
 */
#ifndef RUSE_MAD_MAD_H
#define RUSE_MAD_MAD_H

#include "base/list.h"
#include "base/timer.h"
#include "wire/mad.h"

/* The other end of a MAD and the way there; a received one can be answered to as it is. */
struct mad_addr {
	uint8_t qp;		/* our QP: 0 or 1 */
	uint8_t sl;
	uint8_t path_bits;	/* of our LID */
	bool grh;		/* always on RoCE; the next five and lgid count only then */
	uint8_t sgid_index;	/* ours */
	uint8_t hop_limit;
	uint8_t tclass;
	uint32_t flow;
	uint8_t gid[16];	/* the other end's */
	uint8_t lgid[16];	/* received: the GID that it was sent to. Sending: ignored */
	uint16_t lid;		/* the other end's; 0 on RoCE */
	uint16_t pkey_index;
	uint32_t qpn;		/* the other end's QP number */
};

/* What the port does with a MAD before any agent sees it (kernel: process_mad). */
enum mad_verdict {
	MAD_PASS,	/* to an agent; none: Get and Set are answered "unsupported" */
	MAD_REPLY,	/* out is to be sent back */
	MAD_CONSUMED,
	MAD_DISCARD,	/* malformed; an outgoing one: -EINVAL */
};

struct mad_ops {
	/*
	 * Sends 256 bytes from QP a->qp to a->qpn. 0 = on its way or lost; -errno
	 * goes up to the sender. Must not call mad_input() before it returns.
	 */
	int (*send)(void *ctx, const struct mad_addr *a, const void *mad, size_t len);
	/* GID of our table: 0 or -errno. NULL on ports without GRH. */
	int (*gid)(void *ctx, uint8_t index, uint8_t gid[16]);
	/* The port's own agents (SMA, PMA); may be NULL: MAD_PASS. */
	enum mad_verdict (*process)(void *ctx, const struct mad_addr *from, const uint8_t *mad,
				    uint8_t *out);
};

/* What the ports of a host share: transaction IDs and timers. */
struct mad_host {
	uint32_t last_hi_tid;	/* upper 32 bits of a TID: given out cyclically, 24 bits */
	uint32_t nports;
	struct timer_heap timers;
};

struct mad_port {
	struct mad_host *host;
	const struct mad_ops *ops;
	void *ctx;
	uint8_t lmc;
	uint8_t qps;		/* bit n: QP n exists here (RoCE: 2) */
	uint8_t num;		/* of the channel adapter's ports: directed routes leave by it */
	struct list_head agents;
};

#define MAD_REG_USER_RMPP 1	/* IB_USER_MAD_USER_RMPP: segments pass as they are */

struct mad_reg {
	uint8_t qp;
	uint8_t mgmt_class;	/* 0: only responses to what it sends */
	uint8_t class_version;
	uint8_t oui[3];		/* vendor classes with OUI */
	uint8_t rmpp_version;	/* 0 or 1 */
	uint32_t flags;		/* MAD_REG_* */
	uint64_t methods[2];	/* unsolicited MADs wanted, bit = method */
};

enum mad_send_status {
	MAD_SENT,		/* on its way; if a response was expected, it has come (recv was first) */
	MAD_TIMEOUT,		/* no response after all retries, or no ACK */
	MAD_ABORTED,		/* the peer's RMPP says STOP or ABORT */
	MAD_FLUSHED,		/* cancelled, or the agent is gone */
};

struct mad_recv {
	struct mad_addr addr;
	const uint8_t *mad;	/* first MAD whole, then the data of later segments; valid in the call */
	uint32_t len;		/* 256; RMPP: headers + data of all segments */
	void *cookie;		/* of the request that this answers; NULL: unsolicited */
};

struct mad_agent;

struct mad_agent_ops {
	void (*recv)(void *ctx, const struct mad_recv *r, ns_t now);
	/* Once for each mad_send() that returned 0, maybe before it returns. */
	void (*done)(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status,
		     ns_t now);
};

struct mad_send {
	struct mad_addr addr;
	const uint8_t *mad;	/* copied. 256 bytes, or with RMPP active headers + whole data */
	uint32_t len;		/* below 256: the rest is 0 */
	uint32_t timeout_ms;	/* 0: no response expected */
	uint32_t retries;
	void *cookie;		/* for done(), recv() and mad_cancel() */
};

void mad_host_init(struct mad_host *h);
/* All agents and ports must be gone (BUG_ON). */
void mad_host_fini(struct mad_host *h);
/* ops, ctx, lmc, qps and num are set before. */
void mad_port_init(struct mad_port *p, struct mad_host *h);
void mad_port_fini(struct mad_port *p, ns_t now);	/* destroys the agents that are left */

/*
 * ib_register_mad_agent(): -EPROTONOSUPPORT without such a QP; -EINVAL for a bad version or class,
 * RMPP in a class without, no OUI, class against QP, a method that is taken; -ENOMEM.
 */
int mad_agent_create(struct mad_port *p, const struct mad_reg *r, const struct mad_agent_ops *ops,
		     void *ctx, struct mad_agent **out);
void mad_agent_destroy(struct mad_agent *a, ns_t now);	/* open sends are done: MAD_FLUSHED */
/* Upper half of the TIDs of its requests: the sender writes it there. */
uint32_t mad_agent_hi_tid(const struct mad_agent *a);
/* RMPP is ours, not the user's (ib_mad_kernel_rmpp_agent()). */
bool mad_agent_does_rmpp(const struct mad_agent *a);
/*
 * 0, then done() once; or, without done(): -EINVAL (longer than a MAD without RMPP, a class
 * without RMPP from an agent with, a bad directed route), -ENOMEM, what ops.send says.
 */
int mad_send(struct mad_agent *a, const struct mad_send *s, ns_t now);
/* The oldest send with this cookie is done with MAD_FLUSHED; -EINVAL: there is none. */
int mad_cancel(struct mad_agent *a, const void *cookie, ns_t now);

/* From QP from->qpn to our QP from->qp; all but 256 bytes are dropped. */
void mad_input(struct mad_port *p, const struct mad_addr *from, const void *mad, size_t len,
	       ns_t now);
ns_t mad_wake(const struct mad_host *h);
void mad_timer(struct mad_host *h, ns_t now);

#endif
