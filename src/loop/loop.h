/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rused's event loop. */
#ifndef RUSE_LOOP_H
#define RUSE_LOOP_H

#include "base/list.h"
#include "base/timer.h"

/* A descriptor in the loop. fn gets epoll's events. */
struct loop_fd {
	int fd;			/* -1 = not in the loop */
	void (*fn)(struct loop_fd *f, uint32_t events);
};

struct loop;

/*
 * Functions for shared memory to which processes write messages. The loop polls it in each round
 * and for a while before it sleeps.
 */
struct loop_memory {
	/*
	 * on true: tells the writers that rused polls, so they need not wake it; false: that they
	 * must. Returns false if there is no memory to poll.
	 */
	bool (*watch)(void *ctx, bool on);
	bool (*there)(void *ctx);	/* true if a message waits */
	void (*take)(void *ctx);	/* handles waiting messages, a bounded number */
	ns_t spin;			/* for how long to poll after the last message, ns */
};

struct loop {
	int epfd;
	bool stop;
	ns_t now;		/* start of this round of the loop, ns; the only clock */
	/*
	 * Counter, increased before each message or batch of messages. Kernel tables that may have
	 * changed are read again if the counter differs from its value at the last read, so at most
	 * once for each value (hostnet/addr.c).
	 */
	uint64_t moment;
	struct timer_heap timers;
	struct list_head dead;	/* objects to free after this round of the loop; their first member is the node */
	const struct loop_memory *memory;	/* NULL: none */
	void *memory_ctx;	/* of its functions */
	bool one_cpu;
	ns_t last;		/* end of the loop's round in which the last message was handled */
};

/* 0, or -errno; then only loop_fini() and freeing of l->dead are allowed. */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);
int loop_add(struct loop *l, struct loop_fd *f, int fd, uint32_t events);
int loop_mod(struct loop *l, struct loop_fd *f, uint32_t events);
/* Removes and closes it. No effect if it is not in the loop. */
void loop_del(struct loop *l, struct loop_fd *f);
/* True if the other end of a socket is closed, even with unread data. */
bool loop_hung_up(const struct loop_fd *f);
/* Call for each message from a client with shared memory, also if it came over the socket: the loop polls for the next. */
void loop_message(struct loop *l);
/*
 * Runs until a callback sets l->stop; calls after() at the end of each round. Callbacks may free
 * clients through l->dead. 0, or -errno of epoll_wait().
 */
int loop_run(struct loop *l, void (*after)(struct loop *l));
ns_t loop_clock(void);
/* CLOCK_REALTIME in ns, for output. */
uint64_t loop_wall_clock(void);

#endif
