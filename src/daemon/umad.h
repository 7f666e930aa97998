/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * umadN and issmN of ports, and programs' open files of them.
 *
 * The seam. Who has a port (gsi.c for RoCE, the fabric for InfiniBand) has its
 * struct mad_port, initialised with &r->gsi.mad as its host, whose timers
 * gsi_settle() keeps: how MADs leave (mad_ops.send), the port's own agents
 * (mad_ops.process), its GIDs. What comes in it hands to mad_input(), never in
 * the middle of a send. It makes the port known here with struct umad_desc, and
 * the port has a umadN; umad_port_ops are check_addr() and set_sm(), the change
 * of IsSM. The agents of programs stand beside those of the port's owner.
 */
#ifndef RUSE_DAEMON_UMAD_H
#define RUSE_DAEMON_UMAD_H

#include "abi/umad/umad.h"
#include "base/idtable.h"

#define UMAD_MAX_NODES 64	/* numbers N with a fixed minor: umadN N, issmN 64 + N */
#define UMAD_MAX_FILES 4096
#define UMAD_OPEN_FDS 3

struct client;
struct ipc_umad;
struct ipc_umad_open;
struct ipc_umad_reply;
struct rused;
struct umad_node;

/*
 * The numbers of one host, as its programs see them: rused's own, or a fabric host's (struct
 * client points to the one that its opens are looked up in). All 0 at first.
 */
struct umad_view {
	int run;		/* below it are sys/ and dev/ with the names; open as long as nodes are */
	struct umad_node *node[UMAD_MAX_NODES];
};

/* A port that is to have a umadN; the pointers stay valid until umad_node_del(). */
struct umad_desc {
	struct mad_port *mad;
	const struct umad_port_ops *ops;
	void *ctx;
	const char *ibdev;	/* copied; its directory in view->run's sys/ is there already */
	uint8_t port;		/* from 1 */
};

struct umads {
	struct umad_view view;	/* of rused's own devices */
	struct idtable ids;	/* open files, by the low bits of their numbers */
	struct list_head rings;	/* of those that are looked at without a kick */
};

/* Before devices are; sysfs_init() has been called. */
void umad_init(struct rused *r);
/* All nodes are gone, hence all files. */
void umad_fini(struct rused *r);

/*
 * umad.c: open(): the file's number, the program's descriptor and the memory's, both the caller's,
 * and the eventfd's, which is not; -1 twice: issmN has no memory. -ENXIO no such device, -EMFILE ...
 */
int umad_open_minor(struct client *c, const struct ipc_umad_open *q, uint32_t *number,
		    int fds[UMAD_OPEN_FDS]);
/* There is something in the file's memory, or room. No such file: nothing. */
void umad_kick(struct rused *r, uint32_t file);
/*
 * A call on a file: body is q->len bytes, memfd one of q->count bytes or -1. out has room for
 * IPC_UMAD_INLINE bytes, reply->len are used if *fd is -1, else they are in that memfd, the
 * caller's. 0; -EBADF no such file, -EPROTO (then there is no reply).
 */
int umad_call(struct rused *r, const struct ipc_umad *q, const void *body, int memfd,
	      struct ipc_umad_reply *reply, void *out, int *fd);
/* umad_ring.c: the files of struct umads.rings, for struct loop_memory. From now on they are to kick. */
void umad_rings_sleep(struct rused *r);
bool umad_rings_there(const struct rused *r);
void umad_rings_take(struct rused *r);
/* For umad_file_ops: how many sends of a file are open is in its memory. */
void umad_fd_begun(void *ctx, const uint8_t *mad);
void umad_fd_ended(void *ctx, const uint8_t *mad);
/* Whether somebody has a file open. */
static inline bool umad_busy(const struct umads *u)
{
	return u->ids.count;
}

/* The lowest free number: 0, -ENOSPC, -ENOMEM, or sysfs's. */
int umad_node_add(struct rused *r, struct umad_view *v, const struct umad_desc *d,
		  struct umad_node **out);
/* ibdev has another name, and its directory is a new one. */
void umad_node_rename(struct umad_node *n, const char *ibdev);
/* Agents end; files stay open but are dead. Afterwards the mad_port may be finished. NULL is fine. */
void umad_node_del(struct umad_node *n);

#endif
