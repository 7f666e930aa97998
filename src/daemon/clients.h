/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections to rused's socket: from processes that use RDMA, and from the command-line tool `ruse`. */
#ifndef RUSE_DAEMON_CLIENTS_H
#define RUSE_DAEMON_CLIENTS_H

#include <sys/types.h>

#include "base/list.h"
#include "daemon/channels.h"
#include "fabrics/client.h"
#include "ipc/pages.h"
#include "loop/loop.h"

struct ipc_hdr;
struct rused;

struct clients {
	struct list_head list;	/* struct client */
	uint32_t count;
	uint32_t next_proc, next_place;
};

struct client {
	struct list_head node;
	struct rused *r;
	struct loop_fd sock, pidfd;
	pid_t pid;		/* from SO_PEERCRED; 0 = the process is not in a PID namespace that rused sees */
	uid_t uid;
	bool hello, dead;
	uint32_t proc;		/* 0 = ruse */
	char comm[16], sock_name[32];
	int page_fd;		/* memfd of its process page (struct proc_page); -1: none */
	uint32_t place;		/* number of this client in resource ids (RES_ID), unrelated to struct place; 0: none yet */
	int notify_fd;		/* socket: a message is sent after each change of the host page; -1 = none */
	uint32_t nctx[HOST_MAX_DEVS];
	struct list_head netlink;
	uint32_t nnetlink;
	char *out;		/* rest of an answer that the socket had no room for */
	size_t out_len, out_at;
	uint32_t out_seq;
	uint32_t capture;	/* host_capture.id of its capture; 0: it has none */
	uint16_t out_type;
	struct fabric_client fabric;
	struct channel channel;
};

/*
 * Sets r->given to the listening socket that a service manager has passed (LISTEN_FDS), or to -1. False:
 * something else was passed.
 */
bool clients_given(struct rused *r);
int clients_listen(struct rused *r);
/* Removes RUN/rused.sock, unless it belongs to the service manager or to another rused. */
void clients_unlink(const struct rused *r);
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
/* NULL: none. */
struct client *client_by_proc(const struct clients *cs, uint32_t proc);
/* Sends the rest of the answer in c->out, as far as the socket has room. 0 or -errno. */
int client_flush(struct client *c);

/* dispatch.c: handles one message of a client and takes over the fds. After -errno the caller closes the client. */
int client_message(struct client *c, const struct ipc_hdr *h, const void *body, size_t len,
		   int *fds, int nfds);
/* Like client_message(), for a message from the queue of the client's channel, which gets no answer and carries no fds. */
int client_posted(struct client *c, const struct ipc_hdr *h, const void *body, size_t len);
/* Copies the client's process page. 0 or -errno. */
int client_page(const struct client *c, struct proc_page *copy);

#endif
