/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/rdma_cm (ABI 4) as functions, called by rused: ucma_write() takes the bytes of one
 * write(), returns the result and the bytes for the program's `response` pointer. The engine of the
 * program's process copies from and to the program's memory (remote/ucma.c). Order
 * of checks and errors are those of Linux 6.1 ucma.c. doc/abi/ucma.md lists the commands.
 *
 * -EINVAL: a header incomplete or longer than the write, an unknown command, a payload too short.
 * -ENOSYS: GET_OPTION. -ENOSPC: no room for the response.
 *
 * Nothing blocks: GET_EVENT without a pending event returns -EAGAIN. If the file lacks O_NONBLOCK
 * the program's process waits until the file has events and repeats the command.
 */
#ifndef RUSE_ABI_UCMA_UCMA_H
#define RUSE_ABI_UCMA_UCMA_H

#include <sys/types.h>
#include "rdmacm/rdmacm.h"
#include "why/why.h"

struct ucma;
struct cmshare_rec;
struct ucma_file;
struct cmshare_file;

/* No response has more bytes; the longest one is that of GET_EVENT. */
#define UCMA_RESPONSE_MAX 512
/* Bytes of the largest option of SET_OPTION; -EINVAL above it (kernel: KMALLOC_MAX_SIZE). */
#define UCMA_OPTION_MAX 4096

/* Callbacks. ctx is that of ucma_create(). host names the file: it is the pointer given to ucma_file_open(). */
struct ucma_ops {
	/*
	 * Reports that n more events are pending on the file. Called during ucma_write(), also for
	 * other files than the one written to, and during any call that runs rdmacm.
	 */
	void (*added_events)(void *ctx, void *host, unsigned int n);
	/* Process that opened the file, for texts of failures; may be NULL. */
	int (*pid)(const void *host);
};

/* rm must live until ucma_destroy(). NULL: no memory. */
struct ucma *ucma_create(struct rdmacm *rm, const struct ucma_ops *ops, void *ctx);
/* All files must be closed before. */
void ucma_destroy(struct ucma *u);

/*
 * open(). host: passed to the callbacks. may_bind: the process has CAP_NET_BIND_SERVICE; without it
 * a bind to a port number below 1024 fails with -EACCES. NULL: no memory.
 */
struct ucma_file *ucma_file_open(struct ucma *u, void *host, bool may_bind);
/*
 * The last close: destroys all ids of the file and drops its unread events. Peers get DREQ or REJ;
 * port numbers of listeners are free at once. Frees f.
 */
void ucma_file_close(struct ucma_file *f);
/* Returns `host` of the file that owns an id. context: rdmacm_info.context of the id. */
void *ucma_context_cookie(const void *context);

struct ucma_cmd {
	const void *buf;	/* the bytes written, header included; any alignment */
	size_t len;		/* length of the write() */
	/* SET_OPTION: a copy of the optlen bytes at optval; NULL: unreadable (-EFAULT). */
	const void *opt;
	size_t opt_len;		/* bytes in opt; fewer than optlen: -EFAULT */
	/* MIGRATE_ID: the file of its fd, or NULL and the error. */
	struct ucma_file *from;	/* may be the same file */
	int from_err;		/* if from is NULL. -ENOENT: fd is not open, -EINVAL: fd is no rdma_cm file */
};

/* Always filled, also on errors. */
struct ucma_reply {
	uint64_t response;	/* the program's pointer; write `len` bytes there */
	uint32_t len;
	/* By how many the command has reduced the file's unread events: read, or dropped with their id. */
	uint32_t drained;
	/* MIGRATE_ID: the same for cmd->from. For the new file added_events() has reported the moved events. */
	uint32_t from_drained;
	struct why why;		/* of an error; its id is WHY_NONE if no reason is known */
	uint8_t data[UCMA_RESPONSE_MAX];
};

/*
 * Runs one write(). Returns cmd->len or -errno. The caller copies the response to the program. It
 * should check beforehand that the memory for the response (cmshare_response()) is writable, and return
 * -EFAULT if not: a command cannot be undone after it has read an event or created an id.
 */
ssize_t ucma_write(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *reply);

/*
 * Attaches the records of all ids (struct cmshare_rec: state that programs read in shared memory). To be called before
 * the first id is created. recs: CMSHARE_RECS zeroed records, owned by the caller, which must outlive u.
 */
void ucma_share(struct ucma *u, struct cmshare_rec *recs);
/*
 * Attaches the memory of a file that programs map (cmshare/ucma_shm.h). To be called directly after
 * ucma_file_open(). shm belongs to the caller, must outlive f, and is zeroed except for generation and
 * number. fd: rused's end of the file's socket pair. From then on programs read the file's events from
 * the ring or with GET_EVENT, a call of added_events() only means that ucma_flush() is needed, and drained and
 * from_drained are meaningless.
 */
void ucma_file_share(struct ucma_file *f, struct cmshare_file *shm, int fd);
/* Updates the shared memory. Call before each reply and after everything that may run rdmacm. */
void ucma_flush(struct ucma *u);
/*
 * Runs a command that its sender does not wait for (IPC_UCMA_POST). If it fails, the id gets the event
 * ROUTE_ERROR or CONNECT_ERROR with the -errno as status. DISCONNECT and DESTROY_ID fail without an
 * event. A command that may not be posted (cmshare/postable.h) or names no id of f is ignored. *scratch is
 * overwritten.
 */
void ucma_write_posted(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *scratch);
/* Number of ids of all files. */
uint32_t ucma_ids(const struct ucma *u);

#endif
