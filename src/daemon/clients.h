/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections to rused's socket: from processes that use RDMA, and from the command-line tool `ruse`. */
#ifndef RUSE_DAEMON_CLIENTS_H
#define RUSE_DAEMON_CLIENTS_H

#include "loop/loop.h"

struct client;
struct rused;

int clients_listen(struct rused *r);
/* Replaces the listening socket by a new one; connected clients stay. 0, or -errno: there is no listening socket. */
int clients_listen_again(struct rused *r);
void clients_listen_no_more(struct rused *r);
/* True if rused must not exit although it has no client, e.g. because processes still use leased QP numbers. */
bool rused_busy(const struct rused *r);
/* Stops listening before the exit. False: a client has connected meanwhile, so rused must go on. */
bool clients_leave(struct rused *r);
void clients_close_all(struct rused *r);
void clients_reap(struct loop *l);
void client_kill(struct client *c, const char *why);
/* Closes a client after ipc_recv() or client_message() has returned the error rc. */
void client_refused(struct client *c, int rc);
/* Handles all unread messages of the client. Call before closing it or a file that it wrote to. May kill it. */
void client_drain(struct client *c);
struct client *client_by_proc(struct rused *r, uint32_t proc);
/* Sends the rest of the answer in c->out, as far as the socket has room. 0 or -errno. */
int client_flush(struct client *c);

#endif
