/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection to rused. Under the engine's lock, unless it says otherwise. */
#ifndef RUSE_ENGINE_ATTACH_H
#define RUSE_ENGINE_ATTACH_H

#include "ipc/ipc.h"
#include "ipc/pages.h"

int attach_locked(void);
/* Says once a process why an open fails: afterwards the errno says enough. */
void attach_tell(int err);
void attach_if_running(void);
/* A request to rused that is there, or is started: ipc_call() with one more try. */
int rused_call(enum ipc_type type, const void *req, size_t len, void *reply, size_t *rsize);
/* The same with descriptors in the answer: room for *nfds on entry. */
int rused_call_fds(enum ipc_type type, const void *req, size_t len, void *reply, size_t *rsize,
		   int *fds, int *nfds);
/*
 * The same without the engine's lock: who needs nothing of the engine lets others go on. memfd: to
 * pass, -1: none. -EDEADLK: a signal handler that has interrupted a call. fds NULL: no descriptors are wanted.
 */
int rused_ask(enum ipc_type type, const void *req, size_t len, int memfd, void *reply,
	      size_t *rsize, int *fds, int *nfds);
/* What only a rused that is there need know. */
int rused_tell(enum ipc_type type, const void *req, size_t len);
/*
 * The connection's lock, inside the engine's. False: this thread has it. engine.conn changes under
 * both; conn_close() and conn_watch() want both.
 */
bool conn_lock(void);
void conn_unlock(void);
void conn_close(void);
/* Without locks: the connection of this generation is of no use; there may be a new one by now. */
void conn_forget(uint32_t generation);
void conn_watch(void);
/* The program's name: that of its first thread, whichever thread asks. */
void own_comm(char *comm, size_t size);
const struct host_dev *host_dev_by_minor(const struct host_page *copy, uint32_t minor);

#endif
