/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The open files of /dev/infiniband/rdma_cm. cmfile_machine.c connects rdma_cm (src/rdmacm) with the CM,
 * the devices and the address lookup.
 */
#ifndef RUSE_DAEMON_FILES_CMFILE_H
#define RUSE_DAEMON_FILES_CMFILE_H

#include <stddef.h>
#include "abi/ucma/stuck.h"
#include "base/idtable.h"
#include "base/list.h"
#include "base/timer.h"

struct process;
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

#define CMFILES_MAX 4096

/* Functions of the owner. */
struct cmfiles_ops {
	/* Handles all messages of the process with this number that have arrived. */
	void (*drain)(void *ctx, uint32_t proc);
	/* Handles the posted messages of all processes. True: there were some. */
	bool (*drain_posted)(void *ctx);
};

struct cmfiles {
	/* Set by the owner before cmfiles_init(). */
	struct loop *loop;
	const struct host_page *page;
	struct gsi *gsi;
	struct hostnet *net;
	struct fabrics *fabrics;
	struct port *port;
	const struct cmfiles_ops *ops;
	void *ctx;

	struct rdmacm *rdmacm;
	struct ucma *ucma;
	struct idtable ids;	/* files, by the low bits of their numbers */
	struct timer trim;	/* returns free memory to the kernel some time after a file was closed */
	struct list_head woken;	/* files with events that cmfiles_flush() has yet to write to the memory shared with programs */
	struct cmshare_rec *recs;	/* by id: its state for programs (cmshare/ucma_shm.h); mapping and memfd */
	int recs_fd;
};

/* 0 or -errno. Call before the devices are added. */
int cmfiles_init(struct cmfiles *us);
/* Closes all files: the programs' descriptors hang up. */
void cmfiles_fini(struct cmfiles *us);
/* Call cmfiles_device_added() after page->dev[slot] was added, and cmfiles_device_removed() before it is removed. */
void cmfiles_device_added(struct cmfiles *us, unsigned int slot);
void cmfiles_device_removed(struct cmfiles *us, unsigned int slot);
/* Call after the hardware address of the interface has changed. */
void cmfiles_addr_change(struct cmfiles *us, uint32_t ifindex);
/* Call after the kernel has reported a change of a neighbour. */
void cmfiles_neigh_change(struct cmfiles *us, const struct rtnl_neigh *n);

/* cmfile.c, for cmfile_machine.c */
void cmfiles_trim(struct timer *t, ns_t now);
extern const struct ucma_ops cmfile_ucma_ops;
void cmfiles_close_all(struct cmfiles *us);
/* PID of the process that opened the file; 0 if host is NULL. host: the value passed to ucma_file_open(). */
int cmfile_pid(const void *host);

/*
 * open() of rdma_cm. *number: the file's number. fds, owned by the caller: the program's end of the
 * socket pair, and the memfd of the file's shared memory. 0 or -errno.
 */
#define CMFILE_OPEN_FDS 2
int cmfile_open(struct cmfiles *us, struct process *pr, uint32_t *number, int fds[CMFILE_OPEN_FDS]);
/* Creates the shared memory of the id records (struct cmshare_rec), where programs read the state of ids. 0 or -errno. */
int cmfiles_recs_make(struct cmfiles *us);
void cmfiles_recs_free(struct cmfiles *us);
/* Updates the memory shared with programs (cmshare/ucma_shm.h). Call after each round of the event loop. */
void cmfiles_flush(struct cmfiles *us);
/*
 * write() to a file: executes a command. body has q->len bytes of the command and then, for
 * SET_OPTION, opt bytes of the option. 0: reply->ret is the result of write(), and *rlen bytes of
 * response are set, which has room for UCMA_RESPONSE_MAX; after an error they are a struct why, or none.
 * -EBADF: no such file; *reply is not set, and the caller answers the client with this error.
 */
int cmfile_write(struct cmfiles *us, const struct ipc_ucma *q, const void *body, size_t opt,
		 struct ipc_ucma_reply *reply, void *response, size_t *rlen);
/* Executes a command that was sent without waiting for an answer (IPC_UCMA_POST): no reply. No effect if there is no such file. */
void cmfile_write_posted(struct cmfiles *us, struct process *pr, const struct ipc_ucma *q,
			 const void *body);
/* True if any file is open. */
static inline bool cmfiles_busy(const struct cmfiles *u)
{
	return u->ids.count;
}

/* What the ids of the files that the process has opened wait for (abi/ucma/stuck.h). */
void cmfiles_stuck(struct cmfiles *us, int pid, ucma_stuck_fn fn, void *arg);
/* All ids for `rdma res show cm_id`, malloc()ed; NULL: none, or no memory. */
struct nldev_cm_id *cmfiles_list(struct cmfiles *us, size_t *n);

#endif
