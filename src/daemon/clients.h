/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections of processes and of ruse. */
#ifndef RUSE_DAEMON_CLIENTS_H
#define RUSE_DAEMON_CLIENTS_H

#include "daemon/loop.h"

struct client;
struct rused;

int clients_listen(struct rused *r);
/* With a new socket, or not at all; clients that have connected are served. */
int clients_listen_again(struct rused *r);
void clients_listen_no_more(struct rused *r);
/* It must stay, even without a client. */
bool rused_busy(const struct rused *r);
/* False: a client has connected meanwhile, and is served. */
bool clients_leave(struct rused *r);
void clients_close_all(struct rused *r);
void clients_reap(struct loop *l);
void client_kill(struct client *c, const char *why);
void client_refused(struct client *c, int rc);	/* what came of ipc_recv() or client_message(), not 0 */
/* What it has sent and was not read, before the end of a file, or its own. May kill it. */
void client_drain(struct client *c);
struct client *client_by_proc(struct rused *r, uint32_t proc);
/* Sends what is left of c->out. 0 or -errno. */
int client_flush(struct client *c);

#endif
