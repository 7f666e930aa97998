/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/rdma_cm (ABI 4) as a function: the bytes of one write() in,
 * the return value and the bytes for the program's `response` pointer out, in
 * the order and with the errno of Linux 6.1 ucma.c. doc/abi/ucma.md has the rows.
 *
 * Nothing here blocks: GET_EVENT with none pending is -EAGAIN; who has not
 * O_NONBLOCK waits until the file has events and asks again.
 */
#ifndef RUSE_ABI_UCMA_UCMA_H
#define RUSE_ABI_UCMA_UCMA_H

#include <sys/types.h>
#include "rdmacm/rdmacm.h"

struct ucma;
struct ucma_card;
struct ucma_file;
struct ucma_shm;

/* Largest response: QUERY of a path with as many records as the u16 `out` leaves room for. */
#define UCMA_RESPONSE_MAX 512
/* Largest option that SET_OPTION reads; more is -EINVAL (the kernel: KMALLOC_MAX_SIZE). */
#define UCMA_OPTION_MAX 4096

struct ucma_ops {
	/*
	 * n more events are pending on the file: as many are to become readable. Called from
	 * within ucma_write() (of this or of another file) and from everything that makes rdmacm move.
	 */
	void (*wake)(void *ctx, void *host, unsigned int n);
	/* A file with shared memory is to be readable. From ucma_flush(); NULL where no file has any. */
	void (*show)(void *ctx, void *host);
	/* Who sleeps at ucma_shm.filling has to be woken. As show(). */
	void (*filled)(void *ctx, void *host);
};

/* NULL: no memory. The rdmacm outlives it. */
struct ucma *ucma_create(struct rdmacm *rm, const struct ucma_ops *ops, void *ctx);
/* All files must be closed: BUG_ON. */
void ucma_destroy(struct ucma *u);

/*
 * open(): host is the host's, for wake(). may_bind: the process has CAP_NET_BIND_SERVICE (ports
 * below 1024 are -EACCES without it). NULL: no memory.
 */
struct ucma_file *ucma_file_open(struct ucma *u, void *host, bool may_bind);
/*
 * release(), the last close: every id of it is destroyed (DREQ or REJ to its peers, listeners and
 * ports free at once); events nobody has read are gone.
 */
void ucma_file_close(struct ucma_file *f);
/* The host's pointer of the file that an id is of; context as struct rdmacm_info has it. */
void *ucma_context_host(const void *context);
/* Events pending: not read yet. */
unsigned int ucma_file_events(const struct ucma_file *f);

struct ucma_cmd {
	const void *buf;	/* what the program wrote, header included; any alignment */
	size_t len;		/* of the write */
	/* SET_OPTION: the optlen bytes that optval points to; NULL: could not be read (-EFAULT). */
	const void *opt;
	size_t opt_len;		/* bytes in opt; fewer than the command's optlen: -EFAULT */
	/* MIGRATE_ID: the file that fd names, or why there is none: */
	struct ucma_file *from;	/* may be the same file */
	int from_err;		/* -ENOENT not a descriptor, -EINVAL another kind; with from NULL */
};

/* Filled whatever the outcome. */
struct ucma_reply {
	uint64_t response;	/* the program's pointer; write `len` bytes there if len is not 0 */
	uint32_t len;
	uint32_t drained;	/* events that are no longer pending on the file: to be taken from */
			       /* what makes it readable (read, or dropped with their id) */
	uint32_t from_drained;	/* the same for cmd->from of MIGRATE_ID (that they are now pending */
			       /* on the file, wake() has said) */
	uint8_t data[UCMA_RESPONSE_MAX];
};

/*
 * One write(). Returns cmd->len, or -errno. The host copies the response afterwards; where the
 * kernel would answer -EFAULT for a bad pointer it should look at the pointer first (ucma_peek()),
 * since an event once read or an id once made does not go back.
 */
ssize_t ucma_write(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *reply);

/*
 * What programs find without asking (ipc/ucma_shm.h). cards: UCMA_CARDS of them, zeroed, for all
 * ids; before there is any. shm: a file's, zeroed but for generation and number; at once after
 * ucma_file_open(). Its events are then got there as well as by GET_EVENT, and wake() only
 * says that ucma_flush() is due: drained and from_drained mean nothing. Both outlive what they are
 * given to.
 */
void ucma_share(struct ucma *u, struct ucma_card *cards);
void ucma_file_share(struct ucma_file *f, struct ucma_shm *shm);
/* Brings all of that up to date. Before a reply, and after everything that may have made rdmacm move. */
void ucma_flush(struct ucma *u);
/* A command that its writer has answered itself (IPC_UCMA_POST); a failure becomes an event. */
void ucma_post(struct ucma_file *f, const struct ucma_cmd *cmd, struct ucma_reply *scratch);
/* Ids there are. */
uint32_t ucma_ids(const struct ucma *u);

/* What a write asks of the host before ucma_write(); for the process that has the memory. */
struct ucma_need {
	uint64_t response;	/* where the answer will go, and */
	uint32_t response_len;	/* at most that much; 0 = no answer */
	uint64_t optval;	/* SET_OPTION: read that many bytes, */
	uint32_t optlen;	/* at most UCMA_OPTION_MAX; 0 = none */
	bool has_fd;		/* MIGRATE_ID: */
	uint32_t fd;
	bool get_event;		/* may wait */
};

/* Reads the command without any state; all zero for one that ucma_write() will refuse for its size. */
void ucma_peek(const void *buf, size_t len, struct ucma_need *need);

#endif
