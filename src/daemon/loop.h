/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rused's event loop. */
#ifndef RUSE_DAEMON_LOOP_H
#define RUSE_DAEMON_LOOP_H

#include "base/list.h"
#include "base/timer.h"

/* A descriptor in the loop. fn is called with epoll's events. */
struct loop_fd {
	int fd;			/* -1 = not in the loop */
	void (*fn)(struct loop_fd *f, uint32_t events);
};

struct loop;

/* What is in memory that others write, looked at while the loop is awake and for a short time after. */
struct loop_memory {
	/* From now on they need not wake us; or must. False: there is nobody. */
	bool (*watch)(struct loop *l, bool on);
	bool (*there)(struct loop *l);
	void (*take)(struct loop *l);
};

struct loop {
	int epfd;
	bool stop;
	ns_t now;		/* when this round began; the only clock */
	/* Changes before anything is taken from others: what was looked up in this one is still news. */
	uint64_t moment;
	struct timer_heap timers;
	struct list_head dead;	/* to free() after the round: structs that begin with their node */
	const struct loop_memory *memory;	/* NULL: none */
	bool one_cpu;
	uint32_t soon;		/* a bit a message, the last is bit 0: it came soon after the one before */
	ns_t last;		/* when the last had been handled */
	ns_t spin;		/* for how long to look */
	uint32_t rounds;	/* since the descriptors were looked at */
};

/* 0 or -errno. Callbacks may stop the loop and free clients through loop.dead. */
int loop_init(struct loop *l);
void loop_fini(struct loop *l);
int loop_add(struct loop *l, struct loop_fd *f, int fd, uint32_t events);
int loop_mod(struct loop *l, struct loop_fd *f, uint32_t events);
/* Takes it out and closes it. Twice is harmless. */
void loop_del(struct loop *l, struct loop_fd *f);
/* The other end of a socket has been closed, whatever is still to be read. */
bool loop_hung_up(const struct loop_fd *f);
/*
 * A message like those in memory is being handled: how long to look for the next is learnt from
 * them. slept: what the sender says that it takes if both ends sleep, 0: it does not know.
 */
void loop_message(struct loop *l, ns_t slept);
int loop_run(struct loop *l, void (*after)(struct loop *l));
ns_t loop_clock(void);
/* CLOCK_REALTIME in ns, for what people read. */
uint64_t loop_wall_clock(void);

#endif
