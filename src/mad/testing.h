/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests only: two ports of one host, a simulated wire and virtual time. Port n
 * has LID n + 1 and, with roce, the GID fe80::n+1. A sent MAD waits in a queue until
 * net_run() or net_step(); it is lost if drop() returns true.
 */
#ifndef RUSE_MAD_TESTING_H
#define RUSE_MAD_TESTING_H

#include "base/testing.h"
#include "mad/mad.h"

#define NET_PORTS 2
#define NET_QUEUE 4096

struct net;

struct net_port {
	struct mad_port port;
	struct net *net;
	uint32_t index;
};

struct net_mad {
	struct net_port *from;
	struct mad_addr addr;
	uint8_t mad[MAD_LEN];
};

struct net {
	struct mad_ports host;
	struct net_port ports[NET_PORTS];
	bool roce;
	ns_t now;
	struct net_mad queue[NET_QUEUE];
	uint32_t head, tail;	/* number of MADs sent, delivered */
	int send_rc;		/* result of ops.send */
	bool (*drop)(struct net *n, const struct net_mad *m, uint32_t nth);
	bool twice;		/* deliver everything twice */
	void *arg;
	enum mad_verdict verdict;	/* result of process() */
};

void net_gid(uint32_t index, uint8_t gid[16]);
void net_deliver(struct net *n, const struct net_mad *m);
void net_init(struct net *n, bool roce);
void net_fini(struct net *n);

/* Address of the simulated device port with this index. */
struct mad_addr net_addr(const struct net *n, uint8_t qp, uint32_t index);

/* Delivers or drops the oldest MAD; false: the queue is empty. */
bool net_step(struct net *n);

/* Runs until the queue is empty and no timer is due up to end. */
void net_run(struct net *n, ns_t end);

/* Owner of an agent that records its callbacks. */
struct user {
	struct mad_agent *agent;
	uint32_t nrecv, ndone;
	struct mad_addr from;
	uint8_t *mad;			/* last received, len bytes */
	uint32_t len;
	void *cookie, *done_cookie;
	enum mad_send_status status;
	uint8_t rmpp_status;
	uint32_t order;			/* nrecv at the last done() */
	void (*on_recv)(struct user *u, const struct mad_recv *r, ns_t now);
	void (*on_done)(struct user *u, ns_t now);
	void *arg;
};

extern const struct mad_agent_ops user_ops;
int user_open(struct user *u, struct net *n, uint32_t index, const struct mad_reg *reg);
void user_fini(struct user *u);

/* Fills in the headers of a MAD of this agent; data is zero. */
void mad_make(uint8_t *mad, const struct user *u, uint8_t mgmt_class, uint8_t version,
	      uint8_t method, uint32_t tid);

/* For user.on_recv: answers every request with a response of the same bytes. */
void user_echo(struct user *u, const struct mad_recv *r, ns_t now);

#endif
