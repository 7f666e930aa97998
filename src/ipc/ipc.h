/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket between a process and rused. ipc/messages.def lists the messages.
 *
 * SOCK_SEQPACKET Unix socket, rused.sock in the run directory. A message is a struct ipc_hdr and a
 * body, at most IPC_MAX bytes together, with at most IPC_MAX_FDS descriptors. An answer repeats the
 * request's number and type and sets IPC_F_REPLY. Both ends check everything, and by SO_PEERCRED that
 * the peer has the same uid: else rused closes the connection, and the library treats rused as dead.
 */
#ifndef RUSE_IPC_IPC_H
#define RUSE_IPC_IPC_H

#include <sys/types.h>
#include "base/util.h"
#include "shared/ring.h"

#define IPC_VERSION 1	/* raised in a release that changes messages or shared memory (ipc/version.h) */
#define IPC_MAX 16384
#define IPC_MAX_FDS 4
#define IPC_SOCK_NAME "rused.sock"
#define IPC_LOG_NAME "rused.log"
#define IPC_CRASH_NAME "rused.crash"	/* the log of the last rused that crashed */
#define IPC_FAILURES_NAME "failures.json"	/* the failures that the last rused knew when it ended, if any */
#define IPC_OWN_PREFIX "ruse-own."	/* name of the run directories of `ruse run --own`, without the random part */
#define IPC_RUNDIR_MAX 96	/* with "/rused.sock" it must fit into sun_path */

#define MESSAGE(name, ...) IPC_##name,
enum ipc_type {
	IPC_NO_TYPE,
#include "ipc/messages.def"
	IPC_NTYPES
};
#undef MESSAGE

#define IPC_F_REPLY 0x1
#define IPC_F_MORE 0x2
struct ipc_hdr {
	uint16_t version;
	uint16_t type;		/* enum ipc_type */
	uint16_t flags;
	uint16_t reserved;	/* 0 */
	uint32_t seq;
	int32_t error;		/* reply: 0 or -errno; with an error there is no body */
};
struct ipc_hello {
	uint64_t netns;		/* inode of the caller's network namespace */
	uint64_t pidns;
	int32_t pid;		/* in its own PID namespace; rused trusts SO_PEERCRED only */
	char comm[16];
	char sock[32];		/* where the process accepts shm links: abstract address without its leading NUL, "" = none */
	uint32_t proc;		/* process number given by an earlier rused, which the process wants to keep; 0 = none */
	uint64_t run;		/* RUSE_RUN: the `ruse run` that has started it (ipc_run.id); 0 = none */
};
#define IPC_LIKE_VALUES 117	/* LIKE_VALUES (core/like.h) */
#define IPC_PROC_MAX 0xfffffffeu /* one less than CARD_OWNER, which in a QP card stands for its owner (queue/card.h) */
struct ipc_hello_reply {
	uint32_t proc;		/* number of the process, 1 to IPC_PROC_MAX, never reused; 0 for ruse */
	uint32_t pid;		/* PID of rused */
	char rundir[108];
	char netdevs[64];	/* rused's RUSE_NETDEV, cut to fit; "": not set */
	char like_spec[64];	/* the same of RUSE_LIKE */
	char like_name[32];	/* with the values: struct like (core/like.h) of all devices */
	uint64_t like_value[IPC_LIKE_VALUES];
};
struct ipc_lease {
	uint32_t block;		/* reply: the block of QP numbers; request: block to keep, 0 = any */
	uint32_t dev_index;	/* request: device that the QPs belong to */
	/* Reply: 0: a UDP socket is attached; -errno: why there is none. -EAGAIN: it may exist later, so repeat the request. */
	int32_t wire_error;
	uint32_t pad;
};
struct ipc_peer {
	uint32_t block;		/* request */
	int32_t pid;		/* in rused's PID namespace, 0 = not visible */
	uint32_t proc;
	uint32_t dev_index;	/* device whose QPs have the block's numbers; 0: a restarted rused does not know it */
	char sock[32];
};
struct ipc_context {
	uint32_t dev_index, opened;	/* 1 opened, 0 closed */
};
struct ipc_run {
	uint64_t id;		/* random, not 0 */
};
struct ipc_shutdown {
	uint32_t now;		/* exit: 0 after the last client has disconnected, 1 at once */
};
/* Client side of a connection, for engine/ and cli/. A call blocks for a few seconds at most. Calls must not overlap. */
struct ipc_conn {
	int fd;			/* -1 = not connected */
	bool failed;		/* a call or a post has failed: nothing is sent any more, and the caller closes it */
	int seconds;		/* the longest wait for an answer */
	uint32_t seq;
	bool unanswered;	/* ipc_post() has used the socket, and rused may not have read it: do not use the queue */
	struct ipc_channel *chan;	/* NULL: only the socket */
	struct shared_ring_end queue;	/* of chan */
	ns_t (*clock)(void);	/* host clock, to limit the polling of chan; NULL: no polling */
	int other_pid;		/* the process that listened: rused, or a service manager; 0: not visible here */
	uint16_t other_version;	/* these two: after -EPROTONOSUPPORT (ipc/version.h) */
	char other_release[22];
};
/* A request, and the room for its answer. */
struct ipc_msg {
	enum ipc_type type;
	const void *req;
	size_t len;
	const int *fds;		/* descriptors that go with the request */
	int nfds;
	void *reply;		/* for the answer, of which all parts are joined (IPC_F_MORE) */
	size_t room;
	int *rfds;		/* for the descriptors of the answer; they are close-on-exec and owned by the caller */
	int rfds_room;
	size_t rlen;		/* length of the answer, set by ipc_call() as nrfds */
	int nrfds;
};
/* Initialisers: a structure as the request, one as the answer, an array for its descriptors. */
#define IPC_REQ(t, p) .type = (t), .req = (p), .len = sizeof(*(p))
#define IPC_ANSWER(p) .reply = (p), .room = sizeof(*(p))
#define IPC_RFDS(array) .rfds = (array), .rfds_room = ARRAY_SIZE(array)
/* The run directory of this user and network namespace, created with mode 0700. 0 or -errno; then path is what failed. */
int ipc_rundir(char *path, size_t size);
/* The directory that contains the run directories of this user, one for each network namespace; as ipc_rundir(). */
int ipc_user_dir(char *path, size_t size);
int ipc_rundir_there(char *path, size_t size);	/* $RUSE_DIR is not created: -ENOENT */
bool ipc_rundir_is_own(const char *path);	/* of `ruse run --own`: only that command makes it */
/* Connects to a running rused. -ENOENT, -ECONNREFUSED: none runs; -EPERM: it belongs to another user. */
int ipc_connect(struct ipc_conn *c, const char *rundir);
int ipc_connect_within(struct ipc_conn *c, const char *rundir, int seconds);	/* with another limit for the waits */
/* Sends HELLO for a program without devices, named comm. *pid (may be NULL): PID of rused. After -errno c is closed. */
int ipc_greet(struct ipc_conn *c, const char *comm, uint32_t *pid);
void ipc_close(struct ipc_conn *c);
/*
 * Sends a request and waits for its answer, through the channel (ipc/channel.h) if there is one. 0 or the -errno in the
 * answer; -EINVAL: the request is malformed and was not sent; -ENOTCONN: no connection, or c->failed. If the call itself
 * fails, it sets c->failed and returns -EPIPE (rused is gone), -ETIMEDOUT, -EPROTO, -EMSGSIZE (the answer does not fit)
 * or -EPROTONOSUPPORT (another version).
 */
int ipc_call(struct ipc_conn *c, struct ipc_msg *m);
/*
 * Sends a request that has no answer: through the channel's queue if it has room, else over the socket. rused handles it
 * before later requests of this process. 0, -EINVAL or -ENOTCONN as ipc_call(); else -errno, and c->failed is set.
 */
int ipc_post(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len);
/* Sends one message and does not wait. 0; -EAGAIN: no room in the socket; -EPIPE: closed by the peer; -EMSGSIZE: too long. */
int ipc_send(int fd, const struct ipc_hdr *hdr, const void *body, size_t len,
	     const int *fds, int nfds);
/* Receives a message; flags as for recvmsg(). 0, -EAGAIN, -EPIPE, -EMSGSIZE, -EMFILE, -EPROTO or -EPROTONOSUPPORT. */
int ipc_recv(int fd, int flags, struct ipc_hdr *hdr, void *body, size_t *len, int *fds, int *nfds);

#endif
