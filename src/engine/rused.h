/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages from this process to rused. There are three kinds:
 *
 *	ask	a request, to any rused: it is started if none runs. If the connection turns out to be dead, the
 *		request is repeated once over a new one. With `of`: only to the rused of one generation, because the
 *		request is about a file there; none is started then.
 *	tell	a request to the rused that runs now: not started, not repeated. A later rused learns the same when the
 *		process attaches.
 *	post	a message without an answer, to the rused of one generation.
 *
 * All functions take the connection lock, so one message is under way at a time. They take the engine lock only to
 * connect, or to close a connection that has failed. A caller that holds the engine lock says so (`locked`). A thread that
 * holds it without saying so is in a signal handler that has interrupted the engine, so the connection is not changed.
 * -EDEADLK: in a signal handler that has interrupted a call to rused, or that would have to connect.
 */
#ifndef RUSE_ENGINE_RUSED_H
#define RUSE_ENGINE_RUSED_H

#include "ipc/ipc.h"

struct engine_ops;

struct rused_msg {
	struct ipc_msg q;	/* the request, and the room for its answer */
	uint32_t of;		/* for the rused with this host_page.generation only; 0: for any */
	bool locked;		/* the caller holds the engine lock */
};

/*
 * 0 or the answer's -errno. If rused cannot be reached: -errno of ipc_call() or of attach_locked(); with m->of -ESTALE,
 * -ENOENT or -ECONNREFUSED: that rused is gone.
 */
int rused_ask(struct rused_msg *m);
/* As rused_ask(). -ENOTCONN: there is no connection, and nothing was sent. */
int rused_tell(struct rused_msg *m);
/* Only type, req and len of m->q are used. 0; 1: that rused is not connected; -EIO: the connection has failed; -EDEADLK. */
int rused_post(struct rused_msg *m);
/*
 * Before a fork, with the engine lock held: wait until rused has handled all posted messages, because the child uses
 * another connection to rused.
 */
void rused_sync(void);
/* CLOCK_MONOTONIC in ns. All times of the data path are in this clock. */
ns_t engine_now(void);
/* Gives a forked child an engine of its own. Returns a number that differs from the parent's. */
uint32_t engine_process(void);
/* What engine_setup() was given. */
const struct engine_ops *engine_caller(void);

#endif
