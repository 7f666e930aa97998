/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * umadN and issmN devices of ports, and the open files of programs.
 *
 * A port belongs to QP1 of a RoCE device (gsi/) or to an InfiniBand fabric (fabrics/), its owner.
 * The owner has a struct mad_port. Its mad_ops.send transmits MADs; its mad_ops.process has the
 * port's own agents handle a received MAD. The owner passes received MADs to mad_input(), but never
 * from within a send.
 *
 * The owner describes the port in a struct umad_desc and calls umad_node_add(), which creates the
 * port's umadN and issmN. Their files call the owner through desc->ops: check_addr() checks the
 * address of a send, set_sm() sets or clears IsSM. The agents that programs register belong to the
 * same mad_port as the owner's.
 */
#ifndef RUSE_UMADS_H
#define RUSE_UMADS_H

#include "abi/umad/stuck.h"
#include "abi/umad/umad.h"
#include "base/idtable.h"

#define UMAD_MAX_NODES 64	/* devices with fixed minor numbers: N for umadN, 64 + N for issmN */
#define UMAD_MAX_FILES 4096
#define UMAD_OPEN_FDS 2

struct ipc_umad;
struct ipc_umad_open;
struct ipc_umad_reply;
struct loop;
struct umad_node;

/* The umad devices that a program sees: those of the machine (umads.view) or of its fabric host. */
struct umad_view {
	int run;		/* descriptor of the directory with sys/ and dev/ of this host; open while there are nodes */
	struct umad_node *node[UMAD_MAX_NODES];
};

/* Describes a port for umad_node_add(); pointers must be valid until umad_node_del(). */
struct umad_desc {
	struct mad_port *mad;
	const struct umad_port_ops *ops;
	void *ctx;
	const char *ibdev;	/* copied; its directory in the view's sys/ exists */
	uint8_t port;		/* from 1 */
};

struct umads {
	struct loop *loop;
	uint32_t generation;	/* of the host page: shown in the memory of the files */
	struct umad_view view;	/* of the machine's devices */
	struct idtable ids;	/* open files, by the low bits of their numbers */
	/* Handles the posted messages of all processes; called before a file is closed. NULL: none. */
	void (*drain)(void *ctx);
	void *drain_ctx;
};

/* run: the machine's view.run. Call after sysfs_init() and before devices are added. */
void umads_init(struct umads *us, struct loop *l, int run, uint32_t generation);
/* Call after all nodes were removed, which also closes all files. */
void umads_fini(struct umads *us);

/* N of umadN. */
uint32_t umad_node_number(const struct umad_node *n);
/* The device of a minor number of umadN or issmN; NULL: none. view NULL: no devices. */
struct umad_node *umad_node_at(const struct umad_view *v, uint32_t minor);
/*
 * file.c: open() of q->minor, which is that of n, by process pid. *number: the file's number. fds[0]: the program's end of the
 * socket pair. For umadN, fds[1] is the memfd of the shared memory; for issmN -1. The caller owns
 * both. 0 or -errno, e.g. -EMFILE: too many files.
 */
int umad_open_minor(struct umad_node *n, const struct ipc_umad_open *q, int pid, uint32_t *number,
		    int fds[UMAD_OPEN_FDS]);
/* Sends a posted MAD, if len is not 0, and refills the file's ring. No effect if there is no such file. */
void umad_posted(struct umads *us, uint32_t file, const void *data, size_t len);
/*
 * Executes the operation q->op on a file. body: q->len bytes; memfd: has q->count bytes, or -1. 0:
 * *reply is set; its reply->len bytes are in out, which has room for IPC_UMAD_OUT, or, if *fd is
 * not -1, in the memfd *fd, which the caller owns. reply->why: the reason follows in out.
 * After an error *reply is not set: -EBADF: no such file, the caller answers the client with this
 * error; -EPROTO: q is malformed, the caller closes the client.
 */
int umad_call(struct umads *us, const struct ipc_umad *q, const void *body, int memfd,
	      struct ipc_umad_reply *reply, void *out, int *fd);
/*
 * begun() and ended() of umad_file_ops: count in the file's shared memory the sends that began, except those of
 * posted MADs, and all sends that ended.
 */
void umad_fd_begun(void *ctx, const uint8_t *mad);
void umad_fd_ended(void *ctx, const uint8_t *mad);
/* The requests of the files that the process has opened that wait for a response. dev: name of the port's device. */
typedef void (*umad_wait_fn)(void *arg, const struct why *why, ns_t since, const char *dev);
void umads_stuck(const struct umads *us, int pid, umad_wait_fn fn, void *arg);
/* The processes that have opened issmN of a view, once for each open file. */
void umads_managers(const struct umads *us, const struct umad_view *v,
		    void (*fn)(void *arg, int pid), void *arg);
/* True if any file is open. */
static inline bool umad_busy(const struct umads *u)
{
	return u->ids.count;
}

/* Adds a node with the lowest free number; umad_node_del() frees it. 0, -ENOSPC, -ENOMEM, or -errno of sysfs. */
int umad_node_add(struct umads *us, struct umad_view *v, const struct umad_desc *d,
		  struct umad_node **out);
/* Call after the device was renamed, when it has its new sysfs directory. */
void umad_node_rename(struct umad_node *n, const char *ibdev);
/* Ends the agents and marks open files dead. Call before mad_port_fini(). NULL is allowed. */
void umad_node_del(struct umad_node *n);

#endif
