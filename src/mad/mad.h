/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The MAD layer, as the kernel's ib_mad: agents, dispatch, transactions with timeout and retries, RMPP. It has no socket, clock or
 * thread: the code that uses it (rused or a test) receives MADs and passes them to mad_input(), sends MADs in mad_ops.send() and
 * passes the time as `now`. The caller serialises all calls. The callbacks of struct mad_agent_ops may call any function here, also
 * mad_agent_destroy() on their own agent, but not mad_port_fini().
 * Any call may change mad_wake(), the time at which mad_timer() is due. Calling mad_timer() earlier is harmless.
 */
#ifndef RUSE_MAD_MAD_H
#define RUSE_MAD_MAD_H

#include "base/list.h"
#include "base/timer.h"
#include "why/why.h"
#include "wire/mad.h"

/* The remote end of a MAD and the path to it. The mad_addr of a received MAD can be used to send the answer. */
struct mad_addr {
	uint8_t qp;		/* local QP: 0 or 1 */
	uint8_t sl;
	uint8_t path_bits;	/* of the local LID */
	bool grh;		/* has a GRH (always on RoCE); the fields from sgid_index to lgid are valid only then */
	uint8_t sgid_index;	/* index in the local GID table */
	uint8_t hop_limit;
	uint8_t tclass;
	uint32_t flow;
	uint8_t gid[16];	/* remote */
	uint8_t lgid[16];	/* of a received MAD: the local GID to which it was sent; ignored in sending */
	uint16_t lid;		/* remote; 0 on RoCE */
	uint16_t pkey_index;
	uint32_t qpn;		/* remote QP number */
};

/* Result of mad_ops.process: the device port's built-in agents get a MAD before dispatch (the kernel's process_mad). */
enum mad_verdict {
	MAD_PASS,	/* dispatch to an agent; without one a Get or Set gets an error response */
	MAD_REPLY,	/* send `out` back */
	MAD_CONSUMED,	/* handled, no answer */
	MAD_DISCARD,	/* malformed: a received MAD is dropped; of an SMP for this node mad_send() returns -EINVAL */
};

struct mad_ops {
	/*
	 * Sends a MAD from QP a->qp to a->qpn; len is always 256. 0: sent, though it may get lost. -errno: not sent; mad_send(), if
	 * that is the caller, returns the same error. Must not call mad_input().
	 */
	int (*send)(void *ctx, const struct mad_addr *a, const void *mad, size_t len);
	/* Reads an entry of the port's GID table into gid. 0 or -errno. NULL on ports without GRH. */
	int (*gid)(void *ctx, uint8_t index, uint8_t gid[16]);
	/* The port's built-in agents (SMA, PMA). NULL: always MAD_PASS. */
	enum mad_verdict (*process)(void *ctx, const struct mad_addr *from, const uint8_t *mad,
				    uint8_t *out);
	/* Nothing has answered a request: sets *w to the reason, or leaves it. NULL: none is known. */
	void (*why)(void *ctx, const struct mad_addr *to, const uint8_t *mad, struct why *w);
};

/* Shared by the device ports of a host: transaction ids and timers. */
struct mad_ports {
	uint32_t last_hi_tid;	/* upper half of the transaction ids of the agent created last: 24 bits, cyclic */
	uint32_t nports;
	struct timer_heap timers;
	struct why why;		/* of the last failure; a caller that reads it clears it before its call */
};

struct mad_port {
	struct mad_ports *host;
	const struct mad_ops *ops;
	void *ctx;
	uint8_t lmc;
	uint8_t qps;		/* bit n: QP n exists (RoCE: 2) */
	uint8_t num;		/* port number in the channel adapter, for directed routes */
	struct list_head agents;
};

#define MAD_REG_USER_RMPP 1	/* IB_USER_MAD_USER_RMPP: the agent handles RMPP segments itself */

struct mad_reg {
	uint8_t qp;
	uint8_t mgmt_class;	/* 0: receives only responses to its requests */
	uint8_t class_version;
	uint8_t oui[3];		/* for vendor classes with OUI */
	uint8_t rmpp_version;	/* 0 (none) or 1 */
	uint32_t flags;		/* MAD_REG_* */
	uint64_t methods[2];	/* methods received unsolicited, a bit each */
	int pid;		/* of the program, for reasons; 0: an agent of ruse itself */
};

enum mad_send_status {
	MAD_SENT,		/* sent. An expected response has been passed to recv(), except for SMPs to this node */
	MAD_TIMEOUT,		/* no response after all retries, or no RMPP ACK */
	MAD_ABORTED,		/* ended by RMPP STOP or ABORT */
	MAD_FLUSHED,		/* cancelled, or the agent was destroyed */
};

struct mad_recv {
	struct mad_addr addr;
	const uint8_t *mad;	/* valid during recv(). RMPP: headers once, data of all segments */
	uint32_t len;		/* bytes in mad: 256, or with RMPP any length */
	void *cookie;		/* cookie of the request that this MAD answers; NULL: unsolicited */
};

struct mad_agent;

struct mad_agent_ops {
	void (*recv)(void *ctx, const struct mad_recv *r, ns_t now);
	/* Called once for each mad_send() that returned 0, possibly before it returns. */
	void (*done)(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status,
		     ns_t now);
};

struct mad_send {
	struct mad_addr addr;
	const uint8_t *mad;	/* mad_send() copies it. One MAD; with RMPP active the headers once and all data */
	uint32_t len;		/* bytes in mad; a MAD shorter than 256 is completed with zeros */
	uint32_t timeout_ms;	/* 0: no response expected */
	uint32_t retries;
	void *cookie;		/* for done(), recv() and mad_cancel() */
};

void mad_ports_init(struct mad_ports *h);
/* mad_port_fini() must have been called for all ports (BUG_ON). */
void mad_ports_fini(struct mad_ports *h);
/* The caller has set ops, ctx, lmc, qps and num. */
void mad_port_init(struct mad_port *p, struct mad_ports *h);
void mad_port_fini(struct mad_port *p, ns_t now);	/* destroys the remaining agents */

/*
 * As the kernel's ib_register_mad_agent(). -EPROTONOSUPPORT: no such QP. -EINVAL: bad version or class, RMPP in a class
 * without RMPP, OUI missing, class not allowed on this QP, or a method registered already. -ENOMEM.
 */
int mad_agent_create(struct mad_port *p, const struct mad_reg *r, const struct mad_agent_ops *ops,
		     void *ctx, struct mad_agent **out);
void mad_agent_destroy(struct mad_agent *a, ns_t now);	/* ends open sends: MAD_FLUSHED */
/* Upper half of the transaction ids of the agent's requests. The caller of mad_send() must write it into the MAD. */
uint32_t mad_agent_hi_tid(const struct mad_agent *a);
/* True if RMPP is done here and not by the agent (the kernel's ib_mad_kernel_rmpp_agent()). */
bool mad_agent_does_rmpp(const struct mad_agent *a);
/* 0: done() is called once. Else it is not: -EINVAL (length, class without RMPP, directed route), -ENOMEM, or that of ops.send. */
int mad_send(struct mad_agent *a, const struct mad_send *s, ns_t now);
/* Ends the oldest send with this cookie: MAD_FLUSHED. -EINVAL: there is none. */
int mad_cancel(struct mad_agent *a, const void *cookie, ns_t now);

/* A MAD received on local QP from->qp. Lengths other than 256 are dropped. */
void mad_input(struct mad_port *p, const struct mad_addr *from, const void *mad, size_t len,
	       ns_t now);
/* Time at which mad_timer() must be called; NS_NEVER: not at all. */
ns_t mad_wake(const struct mad_ports *h);
void mad_timer(struct mad_ports *h, ns_t now);

#endif
