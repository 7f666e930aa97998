/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections to rused's socket: from processes that use RDMA, and from the command-line tool `ruse`. */
#ifndef RUSE_DAEMON_CLIENTS_H
#define RUSE_DAEMON_CLIENTS_H

#include <sys/types.h>

#include "base/list.h"
#include "daemon/channels.h"
#include "daemon/files/nlsock.h"
#include "daemon/state/holds.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "loop/loop.h"

struct ipc_context;
struct ipc_hdr;
struct ipc_hello;
struct ipc_hello_reply;
struct ipc_peer;
struct lease_table;
struct rused;

struct client {
	struct process p;
	struct rused *r;
	struct loop_fd sock, pidfd;
	bool hello, dead;
	int notify_fd;		/* socket: a message is sent after each change of the host page; -1 = none */
	struct nlsock_owner netlink;
	char *out;		/* rest of an answer that the socket had no room for, or all of one that is held back */
	size_t out_len, out_at;
	uint32_t out_seq;
	uint16_t out_type;
	struct hold hold;	/* of the answer in out */
	struct fabric_client fabric;
	struct channel channel;
};

/* struct listener.accept; ctx: struct rused. */
bool clients_accept(void *ctx, int lfd);
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
/* NULL: none. */
struct client *client_by_proc(const struct processes *ps, uint32_t proc);
/* pr: of a client. */
struct client *client_of(struct process *pr);
/* Sends the rest of the answer in c->out, as far as the socket has room. 0 or -errno. */
int client_flush(struct client *c);
/* held.c: calls client_flush() when all processes have applied the last change of the host page. Names those that have not. */
void client_hold(struct client *c);

/*
 * hello.c: IPC_HELLO. Sets *rep, and *notify to the process's end of the notify socket, owned by the caller; -1: none. Takes
 * fds[0], the process page, and sets it to -1. 0; -EPROTO: malformed; -EXDEV: of another network namespace; -EMFILE ...
 */
int client_hello(struct client *c, const struct ipc_hello *q, int *fds, int nfds,
		 struct ipc_hello_reply *rep, int *notify);
/* IPC_PEER: the process that leases the block of QP numbers. 0, -ENOENT or -EAGAIN (messages.def). */
int client_peer(const struct processes *ps, const struct lease_table *leases, uint32_t block,
		struct ipc_peer *rep);
/* IPC_CONTEXT: counts the client's open contexts. 0; -ENODEV; -EINVAL: it has none open; -EPROTO: malformed. */
int client_context(struct client *c, const struct ipc_context *q);
/* dispatch.c: handles one message of a client and takes over the fds. After -errno the caller closes the client. */
int client_message(struct client *c, const struct ipc_hdr *h, const void *body, size_t len,
		   int *fds, int nfds);
/* Like client_message(), for a message from the queue of the client's channel: one that messages.def calls POSTED. */
int client_posted(struct client *c, const struct ipc_hdr *h, const void *body, size_t len);

#endif
