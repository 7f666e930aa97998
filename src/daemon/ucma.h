/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open files of /dev/infiniband/rdma_cm, and what is behind them: rdma_cm, its CM, its addresses. */
#ifndef RUSE_DAEMON_UCMA_H
#define RUSE_DAEMON_UCMA_H

#include <stddef.h>
#include "base/idtable.h"
#include "base/list.h"
#include "base/timer.h"

struct client;
struct ipc_ucma;
struct ipc_ucma_reply;
struct nldev_cm_id;
struct rdmacm;
struct rused;
struct ucma;

#define UCMA_MAX_FILES 4096

struct ucma_files {
	struct rdmacm *rdmacm;
	struct ucma *ucma;
	struct idtable ids;	/* by the low bits of their numbers */
	struct timer trim;	/* a file has been closed a while ago */
	struct list_head woken;	/* files with events that are not shown yet */
	struct ucma_card *cards;	/* ipc/ucma_shm.h, and their memfd */
	int cards_fd;
};

/* 0 or -ENOMEM. Before devices are. */
int ucma_init(struct rused *r);
/* Closes what is open: the programs' descriptors hang up. */
void ucma_fini(struct rused *r);
/* page->dev[slot] has come; is going, and still there. */
void ucma_device_added(struct rused *r, unsigned int slot);
void ucma_device_removed(struct rused *r, unsigned int slot);
/* The interface has another hardware address. */
void ucma_addr_change(struct rused *r, uint32_t ifindex);
/* The kernel has said something of a neighbour that can be sent to. */
struct rtnl_neigh;
void ucma_neigh_change(struct rused *r, const struct rtnl_neigh *n);

/* ucma.c, for ucma_host.c */
void ucma_trim(struct timer *t, ns_t now);
extern const struct ucma_ops ucma_fd_ops;
void ucma_close_all(struct rused *r);
/* Who opened the file that is the host of this one. */
int ucma_pid(const void *host);

/* open(): the program's descriptors, the caller's to close, and the file's number; -EMFILE, -ENOMEM ... */
#define UCMA_OPEN_FDS 2
int ucma_open(struct client *c, uint32_t *number, int fds[UCMA_OPEN_FDS]);
/* The cards; 0 or -errno. */
int ucma_cards_make(struct rused *r);
void ucma_cards_free(struct rused *r);
/* After each round: what programs see of rdma_cm is as it is. */
void ucma_settle(struct rused *r);
/*
 * write(): body is the command, q->len bytes, and opt bytes of an option. response
 * has room for UCMA_RESPONSE_MAX bytes, *rlen are used. 0; -EBADF: no such file (then there is no reply).
 */
int ucma_call(struct rused *r, const struct ipc_ucma *q, const void *body, size_t opt,
	      struct ipc_ucma_reply *reply, void *response, size_t *rlen);
/* The same without a reply. */
void ucma_posted(struct client *c, const struct ipc_ucma *q, const void *body);
/* Whether somebody has a file open. */
static inline bool ucma_busy(const struct ucma_files *u)
{
	return u->ids.count;
}

/* All ids for `rdma res show cm_id`, malloc()ed; NULL: none, or no memory. */
struct nldev_cm_id *ucma_list(struct rused *r, size_t *n);

#endif
