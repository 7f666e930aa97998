/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * umadN and issmN devices of ports, and the open files of programs.
 *
 * The owner of a port (gsi.c for RoCE, the fabric for InfiniBand) has its struct mad_port,
 * initialised with &r->gsi.mad as host: mad_ops.send transmits, mad_ops.process are the port's own
 * agents. The owner passes received MADs to mad_input(), never during a send. It gives a struct
 * umad_desc to umad_node_add(), which creates the port's umadN and issmN. desc->ops call the owner:
 * check_addr() checks the address of a send, set_sm() sets or clears IsSM. Agents of programs are
 * registered beside those of the owner.
 */
#ifndef RUSE_DAEMON_UMAD_H
#define RUSE_DAEMON_UMAD_H

#include "abi/umad/umad.h"
#include "base/idtable.h"

#define UMAD_MAX_NODES 64	/* devices with fixed minor numbers: N for umadN, 64 + N for issmN */
#define UMAD_MAX_FILES 4096
#define UMAD_OPEN_FDS 3

struct client;
struct ipc_umad;
struct ipc_umad_open;
struct ipc_umad_reply;
struct rused;
struct umad_node;

/* The umad devices of one host: of rused, or of a fabric host. client.umad_view selects it. */
struct umad_view {
	int run;		/* the host's sys/ and dev/ are in it; open while there are nodes */
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
	struct umad_view view;	/* of the machine's devices */
	struct idtable ids;	/* open files, by the low bits of their numbers */
	struct list_head rings;	/* files polled without a wake-up */
};

/* After sysfs_init(), before the devices are added. */
void umad_init(struct rused *r);
/* All nodes must be removed, and thus all files closed. */
void umad_fini(struct rused *r);

/*
 * umad.c: open(). Number of the file; fds: the program's end and the memory, both owned by the
 * caller, and the eventfd, which is not; the last two -1 for issmN. -ENXIO: no such device, -EMFILE
 * ...
 */
int umad_open_minor(struct client *c, const struct ipc_umad_open *q, uint32_t *number,
		    int fds[UMAD_OPEN_FDS]);
/* Sends the MADs in the file's tx ring and refills its rx ring. No effect if there is no such file. */
void umad_kick(struct rused *r, uint32_t file);
/*
 * A call on a file: body of q->len bytes; memfd of q->count bytes or -1. out has room for
 * IPC_UMAD_INLINE bytes, of which reply->len are set if *fd is -1; else *fd is a memfd, owned by
 * the caller. After an error *reply is not set: -EBADF: no such file, which the client gets as the
 * answer's error; -EPROTO: malformed, the client is closed.
 */
int umad_call(struct rused *r, const struct ipc_umad *q, const void *body, int memfd,
	      struct ipc_umad_reply *reply, void *out, int *fd);
/* umad_ring.c: functions of struct loop_memory for the files in umads.rings. */
void umad_rings_sleep(struct rused *r);
bool umad_rings_there(const struct rused *r);
void umad_rings_take(struct rused *r);
/* umad_file_ops: count the open sends of a file in its memory. */
void umad_fd_begun(void *ctx, const uint8_t *mad);
void umad_fd_ended(void *ctx, const uint8_t *mad);
/* True if any file is open. */
static inline bool umad_busy(const struct umads *u)
{
	return u->ids.count;
}

/* Adds a node with the lowest free number; umad_node_del() frees it. 0, -ENOSPC, -ENOMEM, or -errno of sysfs. */
int umad_node_add(struct rused *r, struct umad_view *v, const struct umad_desc *d,
		  struct umad_node **out);
/* The device was renamed and has a new sysfs directory. */
void umad_node_rename(struct umad_node *n, const char *ibdev);
/* Ends the agents and marks open files dead. Call before mad_port_fini(). NULL is allowed. */
void umad_node_del(struct umad_node *n);

#endif
