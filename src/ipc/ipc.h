/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket between a process and rused, and what they share.
 *
 * SOCK_SEQPACKET Unix socket, RUN/rused.sock in the run directory. A message
 * is struct ipc_hdr and a body of its type, at most IPC_MAX bytes, with at
 * most IPC_MAX_FDS descriptors. Requests carry a number that the answer
 * repeats; answers have the request's type and IPC_F_REPLY. Both ends check
 * everything: a message that does not parse ends the connection (rused) or
 * counts as a dead rused (library).
 *
 * Peers are checked with SO_PEERCRED: same uid, or the connection is closed.
 */
#ifndef RUSE_IPC_IPC_H
#define RUSE_IPC_IPC_H

#include <sys/types.h>
#include "base/util.h"
#include "ipc/spin.h"

#define IPC_VERSION 1
#define IPC_MAX 16384
#define IPC_MAX_FDS 4
#define IPC_SOCK_NAME "rused.sock"
#define IPC_LOG_NAME "rused.log"
#define IPC_CRASH_NAME "rused.crash"	/* the log of the last rused that crashed */
#define IPC_RUNDIR_MAX 96	/* with "/rused.sock" it must fit into sun_path */

enum ipc_type {
	/* First of a process. ipc_hello; ipc_hello_reply, the host page, a socket, readable when it has changed. */
	IPC_HELLO = 1,
	/*
	 * Leases one more block of QP numbers. Body ipc_lease; reply ipc_lease, with the block's
	 * UDP socket and the two ends of the park (daemon/port.h) where there is a wire. -ENOSPC.
	 */
	IPC_LEASE,
	/* Who has this block: reply ipc_peer. -ENOENT nobody. */
	IPC_PEER,
	/* RDMA netlink: reply carries one end of a SOCK_SEQPACKET pair that speaks raw netlink messages. */
	IPC_NETLINK,
	/* One uverbs context opened or closed; body ipc_context. The process also counts objects in its process page. */
	IPC_CONTEXT,
	/* ruse status: body none; reply is text/JSON in several IPC_F_MORE messages. Not from the library. */
	IPC_STATUS,
	/* ruse: ask rused to exit. Body none (when idle) or ipc_shutdown. Reply none. */
	IPC_SHUTDOWN,
	/* Somebody is about to read hw_counters: rused brings the files up to date. Body and reply none. */
	IPC_COUNTERS,
	/* ruse captures until it hangs up: ipc_capture (ipc/capring.h); -ENOSPC, -EBUSY. */
	IPC_CAPTURE,
	/* ruse fault: body is one line of its language (daemon/faults.h); reply JSON, as for IPC_STATUS. */
	IPC_FAULT,
	/* Files of rdma_cm (ipc/ucma_msg.h), umadN and issmN (ipc/umad_msg.h). */
	IPC_UCMA_OPEN, IPC_UCMA_WRITE, IPC_UCMA_POST, IPC_UMAD_OPEN, IPC_UMAD_CALL,
	IPC_FABRIC, IPC_HOST, IPC_PATH, IPC_MCAST, IPC_MEMBERS,	/* ipc/fabric_msg.h */
	IPC_CHANNEL, IPC_UMAD_KICK,		/* ipc/channel.h, ipc/umad_msg.h */
	IPC_NTYPES
};

#define IPC_F_REPLY 0x1
#define IPC_F_MORE 0x2
struct ipc_hdr {
	uint16_t version;
	uint16_t type;		/* enum ipc_type */
	uint16_t flags;
	uint16_t reserved;	/* 0 */
	uint32_t seq;
	int32_t error;		/* replies: 0 or -errno; then no body */
};
struct ipc_hello {
	uint64_t netns;		/* inode of the caller's network namespace */
	uint64_t pidns;
	int32_t pid;		/* as it sees itself; rused trusts SO_PEERCRED only */
	char comm[16];
	char sock[32];		/* abstract address (without the leading NUL) of its peer socket, "" = none */
	uint32_t proc;		/* number that an earlier rused gave it, wanted again; 0 = none */
};
/* With it: the process page (memfd, sealed against shrinking) and both ends of the park if it has them; ruse: nothing. */
struct ipc_hello_reply {
	uint32_t proc;		/* number of the process, 1.., unique while rused lives; 0 for ruse */
	uint32_t pid;		/* of rused */
	char rundir[108];
};
struct ipc_lease {
	uint32_t block;		/* reply: the block; request: 0 = any, else the block wanted back (new rused) */
	uint32_t dev_index;	/* request: of the device whose QPs it is for */
	int32_t wire_error;	/* reply: why there is no socket, -errno; -EAGAIN: ask again by number */
	uint32_t pad;
};
struct ipc_peer {
	uint32_t block;		/* request */
	int32_t pid;		/* in rused's PID namespace, 0 = not visible */
	uint32_t proc;
	uint32_t dev_index;	/* of the device that it was leased for; 0 = not known (to a new rused) */
	char sock[32];
};
struct ipc_context {
	uint32_t dev_index, opened;	/* 1 opened, 0 closed */
};
struct ipc_shutdown {
	uint32_t now;		/* 0 = once the last client has gone, 1 = at once */
};

/* Client side; used by engine/ and cli/. All calls block at most a few seconds. */
struct ipc_conn {
	int fd;			/* -1 = not connected */
	uint32_t seq;
	int answer;		/* of the last trip: 0 or -errno */
	bool unanswered;	/* by ipc_post(), since the last answer: memory must not overtake it */
	struct ipc_channel *chan;	/* NULL: there is only the socket */
	struct ipc_spin spin;
};
/*
 * Starts rused for this run directory so that the program does not see it: no
 * SIGCHLD, no zombie, no inherited descriptor. Returns when it has been
 * executed: 0, or the -errno of clone or execve. Safe with other threads running.
 */
int ipc_start(const char *rused_path, const char *rundir);
/*
 * Finds the run directory (into rundir), connects, says hello(c, arg), and if nobody
 * answers starts rused and tries again for up to 5 s. 0; -ETIMEDOUT when it never
 * answered, else the error of what failed. hello(): -EPIPE: that one was on its way out.
 */
int ipc_attach(struct ipc_conn *c, const char *rused_path, char *rundir, size_t size,
	       int (*hello)(struct ipc_conn *c, void *arg), void *arg);
/* The run directory of this user and network namespace (design 2.1, item 6), created 0700. 0 or -errno. */
int ipc_rundir(char *path, size_t size);
/* Connects to a running rused; -ENOENT, -ECONNREFUSED when none runs, -EPERM when it is another user's. */
int ipc_connect(struct ipc_conn *c, const char *rundir);
/* HELLO of a program without devices, named comm. 0 or -errno, the connection then closed; pid (or NULL): rused's. */
int ipc_greet(struct ipc_conn *c, const char *comm, uint32_t *pid);
void ipc_close(struct ipc_conn *c);
/*
 * One request and its answer. fds: descriptors to pass / received (close-on-exec).
 * rsize: room on entry, bytes on return; the bodies of IPC_F_MORE messages are
 * put together. 0, the answer's -errno, or -EPIPE / -ETIMEDOUT / -EPROTO when
 * rused is gone or talks nonsense, -EMSGSIZE when the answer does not fit
 * (the connection is then closed). -ENOTCONN when it was closed before. See ipc/channel.h too.
 */
int ipc_call(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len,
	     const int *fds, int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds);
/* Lower half, for both ends. 0 or -errno; recv: -EAGAIN nothing there, -EPIPE closed, -EPROTO malformed, -EMSGSIZE too long. */
int ipc_send(int fd, const struct ipc_hdr *hdr, const void *body, size_t len,
	     const int *fds, int nfds);
int ipc_recv(int fd, int flags, struct ipc_hdr *hdr, void *body, size_t *len, int *fds, int *nfds);
/* Checks a header and the body length against the type's row. Shared with the fuzzer. 0 or -EPROTO. */
int ipc_check(const struct ipc_hdr *hdr, size_t len, bool reply);

#endif
