/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For rooms above the engine whose files rused holds (remote/): messages to rused, and forks. The
 * caller does not hold the engine lock. Descriptors: engine/own.h.
 */
#ifndef RUSE_ENGINE_RUSED_H
#define RUSE_ENGINE_RUSED_H

#include "ipc/ipc.h"

struct engine_host;

/*
 * ipc_call() to rused, which is started if necessary. Repeated once with a new connection if the
 * connection turns out to be dead. Only the connection lock is held during the call, so other threads
 * may use the engine meanwhile. *nfds is the room in fds on entry and the count on return. memfd is sent with the request
 * unless it is -1. fds may be NULL if no descriptors are expected.
 * 0 or the answer's -errno. -EDEADLK: called in a signal handler that interrupted a call to rused.
 */
int rused_ask(enum ipc_type type, const void *req, size_t len, int memfd, void *reply,
	      size_t *rsize, int *fds, int *nfds);
/*
 * Send a message that has no answer (ipc_post()). rused: the generation, as
 * in the host page, of the rused that it is for. 0; 1: that rused is not connected; -errno.
 */
int rused_post(uint32_t rused, enum ipc_type type, const void *msg, size_t len);
/* CLOCK_MONOTONIC in ns. All times of the data path are in this clock. */
ns_t engine_now(void);
/* Gives a forked child an engine of its own. Returns a number that differs from the parent's. */
uint32_t engine_process(void);
/* What engine_setup() was given. */
const struct engine_host *engine_caller(void);

#endif
