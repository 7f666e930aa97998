/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rused's event loop. */
#ifndef RUSE_DAEMON_LOOP_H
#define RUSE_DAEMON_LOOP_H

#include "base/list.h"
#include "base/timer.h"

/* A descriptor in the loop. fn gets epoll's events. */
struct loop_fd {
	int fd;			/* -1 = not in the loop */
	void (*fn)(struct loop_fd *f, uint32_t events);
};

struct loop;

/* Shared memory that others write, polled while the loop is awake and shortly after. */
struct loop_memory {
	/* on: rused polls, so writers need not wake it. Returns false if there is nothing to poll. */
	bool (*watch)(struct loop *l, bool on);
	bool (*there)(struct loop *l);	/* true if a message waits */
	void (*take)(struct loop *l);	/* handles waiting messages, a bounded number */
};

struct loop {
	int epfd;
	bool stop;
	ns_t now;		/* start of this round, ns; the only clock */
	/* Counter, increased before each message or batch of messages. At one count kernel state is read at most once (addr.c). */
	uint64_t moment;
	struct timer_heap timers;
	struct list_head dead;	/* freed after the round; the node is the first member */
	const struct loop_memory *memory;	/* NULL: none */
	bool one_cpu;
	uint32_t soon;		/* a bit per message, the latest in bit 0; 1: soon after the one before */
	ns_t last;		/* when the last message had been handled */
	ns_t spin;		/* ns to poll */
	uint32_t rounds;	/* since the last check of the descriptors */
};

/* 0 or -errno. */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);
int loop_add(struct loop *l, struct loop_fd *f, int fd, uint32_t events);
int loop_mod(struct loop *l, struct loop_fd *f, uint32_t events);
/* Removes and closes it. No effect if it is not in the loop. */
void loop_del(struct loop *l, struct loop_fd *f);
/* True if the other end of a socket is closed, even with unread data. */
bool loop_hung_up(const struct loop_fd *f);
/*
 * Adapts the polling time. Call for each message that came through memory or could have. slept: ns
 * of a call in which both ends sleep, as reported by the sender; 0: unknown.
 */
void loop_message(struct loop *l, ns_t slept);
/*
 * Runs until a callback sets l->stop; calls after() at the end of each round. Callbacks may free
 * clients through l->dead. 0, or -errno of epoll_wait().
 */
int loop_run(struct loop *l, void (*after)(struct loop *l));
ns_t loop_clock(void);
/* CLOCK_REALTIME in ns, for output. */
uint64_t loop_wall_clock(void);

#endif
