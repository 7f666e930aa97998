/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The open files of /dev/infiniband/rdma_cm. ucma_host.c connects rdma_cm (src/rdmacm) with the CM,
 * the devices and the address lookup.
 */
#ifndef RUSE_DAEMON_UCMA_H
#define RUSE_DAEMON_UCMA_H

#include <stddef.h>
#include "abi/ucma/stuck.h"
#include "base/idtable.h"
#include "base/list.h"
#include "base/timer.h"

struct channels;
struct client;
struct clients;
struct fabrics;
struct gsi;
struct host_page;
struct hostnet;
struct ipc_ucma;
struct ipc_ucma_reply;
struct loop;
struct nldev_cm_id;
struct port;
struct rdmacm;
struct rtnl_neigh;
struct ucma;

#define UCMA_MAX_FILES 4096

struct ucma_files {
	/* Set by the owner before ucma_init(). */
	struct loop *loop;
	const struct host_page *page;
	struct gsi *gsi;
	struct hostnet *net;
	struct fabrics *fabrics;
	struct port *port;
	struct clients *clients;
	struct channels *channels;

	struct rdmacm *rdmacm;
	struct ucma *ucma;
	struct idtable ids;	/* files, by the low bits of their numbers */
	struct timer trim;	/* returns free memory to the kernel some time after a file was closed */
	struct list_head woken;	/* files with events that ucma_settle() has yet to write to the memory shared with programs */
	struct ucma_card *cards;	/* by id: its state for programs (ipc/ucma_shm.h); mapping and memfd */
	int cards_fd;
};

/* 0 or -errno. Call before the devices are added. */
int ucma_init(struct ucma_files *us);
/* Closes all files: the programs' descriptors hang up. */
void ucma_fini(struct ucma_files *us);
/* Call ucma_device_added() after page->dev[slot] was added, and ucma_device_removed() before it is removed. */
void ucma_device_added(struct ucma_files *us, unsigned int slot);
void ucma_device_removed(struct ucma_files *us, unsigned int slot);
/* Call after the hardware address of the interface has changed. */
void ucma_addr_change(struct ucma_files *us, uint32_t ifindex);
/* Call after the kernel has reported a change of a neighbour. */
void ucma_neigh_change(struct ucma_files *us, const struct rtnl_neigh *n);

/* ucma.c, for ucma_host.c */
void ucma_trim(struct timer *t, ns_t now);
extern const struct ucma_ops ucma_fd_ops;
void ucma_close_all(struct ucma_files *us);
/* PID of the process that opened the file; 0 if host is NULL. host: the value passed to ucma_file_open(). */
int ucma_pid(const void *host);

/*
 * open() of rdma_cm. *number: the file's number. fds, owned by the caller: the program's end of the
 * socket pair, and the memfd of the file's shared memory. 0 or -errno.
 */
#define UCMA_OPEN_FDS 2
int ucma_open(struct ucma_files *us, struct client *c, uint32_t *number, int fds[UCMA_OPEN_FDS]);
/* Creates the shared memory of the id cards (struct ucma_card), where programs read the state of ids. 0 or -errno. */
int ucma_cards_make(struct ucma_files *us);
void ucma_cards_free(struct ucma_files *us);
/* Updates the memory shared with programs (ipc/ucma_shm.h). Call after each round of the event loop. */
void ucma_settle(struct ucma_files *us);
/*
 * write() to a file: executes a command. body has q->len bytes of the command and then, for
 * SET_OPTION, opt bytes of the option. 0: reply->ret is the result of write(), and *rlen bytes of
 * response are set, which has room for UCMA_RESPONSE_MAX; after an error they are a struct why, or none.
 * -EBADF: no such file; *reply is not set, and the caller answers the client with this error.
 */
int ucma_call(struct ucma_files *us, const struct ipc_ucma *q, const void *body, size_t opt,
	      struct ipc_ucma_reply *reply, void *response, size_t *rlen);
/* Executes a command that was sent without waiting for an answer (IPC_UCMA_POST): no reply. No effect if there is no such file. */
void ucma_posted(struct ucma_files *us, struct client *c, const struct ipc_ucma *q,
		 const void *body);
/* True if any file is open. */
static inline bool ucma_busy(const struct ucma_files *u)
{
	return u->ids.count;
}

/* What the ids of the files that the process has opened wait for (abi/ucma/stuck.h). */
void ucma_stuck(struct ucma_files *us, int pid, ucma_wait_fn fn, void *arg);
/* All ids for `rdma res show cm_id`, malloc()ed; NULL: none, or no memory. */
struct nldev_cm_id *ucma_list(struct ucma_files *us, size_t *n);

#endif
