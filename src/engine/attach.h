/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection to rused. Under the engine's lock. */
#ifndef RUSE_ENGINE_ATTACH_H
#define RUSE_ENGINE_ATTACH_H

#include "ipc/ipc.h"
#include "ipc/pages.h"

int attach_locked(void);
void attach_if_running(void);
/* A request to rused that is there, or is started: ipc_call() with one more try. */
int rused_call(enum ipc_type type, const void *req, size_t len, void *reply, size_t *rsize);
/* The same with descriptors in the answer: room for *nfds on entry. */
int rused_call_fds(enum ipc_type type, const void *req, size_t len, void *reply, size_t *rsize,
		   int *fds, int *nfds);
/* The same, with memfd in the request; -1: none. */
int rused_call_memfd(enum ipc_type type, const void *req, size_t len, int memfd, void *reply,
		     size_t *rsize, int *fds, int *nfds);
void conn_lost(void);
void conn_watch(void);
/* The program's name: that of its first thread, whichever thread asks. */
void own_comm(char *comm, size_t size);
const struct host_dev *host_dev_by_minor(const struct host_page *copy, uint32_t minor);

#endif
