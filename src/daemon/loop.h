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

struct loop {
	int epfd;
	bool stop;
	ns_t now;		/* when this round began; the only clock */
	struct timer_heap timers;
	struct list_head dead;	/* to free() after the round: structs that begin with their node */
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
int loop_run(struct loop *l, void (*after)(struct loop *l));
ns_t loop_clock(void);
/* CLOCK_REALTIME in ns, for what people read. */
uint64_t loop_wall_clock(void);

#endif
