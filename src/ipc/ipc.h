/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket between a process and rused: message types and their bodies.
 *
 * SOCK_SEQPACKET Unix socket, rused.sock in the run directory. A message is a struct ipc_hdr and a
 * body, at most IPC_MAX bytes together, with at most IPC_MAX_FDS descriptors. An answer repeats the
 * request's number and type and sets IPC_F_REPLY. Both ends check everything: on a malformed
 * message rused closes the connection, and the library treats rused as dead.
 *
 * Both ends check SO_PEERCRED: the peer must have the same uid.
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
	/* First message. Reply: memfd of the host page, and a socket that is readable after each change of the page. */
	IPC_HELLO = 1,
	/*
	 * Leases one more block of QP numbers. ipc_lease both ways. If UDP port 4791 is open, the
	 * reply carries the block's socket and both ends of the park, a socket pair that keeps these
	 * sockets while no rused runs (daemon/port.h). -ENOSPC.
	 */
	IPC_LEASE,
	/* Looks up the process that leases a block. ipc_peer both ways. -ENOENT: none. */
	IPC_PEER,
	/* RDMA netlink. Reply: one end of a SOCK_SEQPACKET pair for raw netlink messages. */
	IPC_NETLINK,
	/* A uverbs context was opened or closed. Its objects are counted in the process page. */
	IPC_CONTEXT,
	/* ruse status: no body. Reply: JSON text in IPC_F_MORE messages. Not for the library. */
	IPC_STATUS,
	/* ruse: asks rused to exit. Body: none (exit when idle) or ipc_shutdown. */
	IPC_SHUTDOWN,
	/* hw_counters are about to be read: rused updates the files, then answers. No bodies. */
	IPC_COUNTERS,
	/* ruse: starts a capture, which ends when ruse hangs up. Body ipc_capture (ipc/capring.h). -ENOSPC, -EBUSY. */
	IPC_CAPTURE,
	/* ruse fault: one line of daemon/faults.h's language; reply: JSON, like IPC_STATUS. */
	IPC_FAULT,
	/* Files rdma_cm (ipc/ucma_msg.h), umadN and issmN (ipc/umad_msg.h). */
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
	int32_t error;		/* reply: 0 or -errno; with an error there is no body */
};
struct ipc_hello {
	uint64_t netns;		/* inode of the caller's network namespace */
	uint64_t pidns;
	int32_t pid;		/* in its own PID namespace; rused trusts SO_PEERCRED only */
	char comm[16];
	char sock[32];		/* abstract address without its leading NUL, "" = none */
	uint32_t proc;		/* number from an earlier rused, requested again; 0 = none */
};
#define IPC_PROC_MAX 0xfffffffeu /* one less than CARD_OWNER, which no process may have (queue/card.h) */
/* A process attaches to ipc_hello its process page (sealed memfd) and the park, if it has one; ruse attaches nothing. */
struct ipc_hello_reply {
	uint32_t proc;		/* number of the process, 1 to IPC_PROC_MAX, never reused; 0 for ruse */
	uint32_t pid;		/* PID of rused */
	char rundir[108];
};
struct ipc_lease {
	uint32_t block;		/* reply: the block; request: block to keep, 0 = any */
	uint32_t dev_index;	/* request: device that the QPs belong to */
	int32_t wire_error;	/* reply: 0, or -errno: no socket is attached; -EAGAIN: repeat the request later */
	uint32_t pad;
};
/* -ENOENT: no process has the block. -EAGAIN: its process has not yet connected to this rused, which was restarted. */
struct ipc_peer {
	uint32_t block;		/* request */
	int32_t pid;		/* in rused's PID namespace, 0 = not visible */
	uint32_t proc;
	uint32_t dev_index;	/* device of the lease; 0: a restarted rused does not know it */
	char sock[32];
};
struct ipc_context {
	uint32_t dev_index, opened;	/* 1 opened, 0 closed */
};
struct ipc_shutdown {
	uint32_t now;		/* exit: 0 after the last client has disconnected, 1 at once */
};

/* Client side, for engine/ and cli/. A call blocks for at most a few seconds. The caller makes one call at a time. */
struct ipc_conn {
	int fd;			/* -1 = not connected */
	uint32_t seq;
	int answer;		/* error in the last answer: 0 or -errno */
	bool unanswered;	/* a message of ipc_post() may be unread in the socket: do not queue others */
	struct ipc_channel *chan;	/* NULL: only the socket */
	struct ipc_spin spin;
};
/* The run directory of this user and network namespace, created with mode 0700. 0 or -errno. */
int ipc_rundir(char *path, size_t size);
/* Connects to a running rused. -ENOENT, -ECONNREFUSED: none runs; -EPERM: of another user. */
int ipc_connect(struct ipc_conn *c, const char *rundir);
/* Sends HELLO for a program without devices, named comm. *pid (may be NULL): PID of rused. After -errno c is closed. */
int ipc_greet(struct ipc_conn *c, const char *comm, uint32_t *pid);
void ipc_close(struct ipc_conn *c);
/*
 * One request and its answer. fds are passed, rfds received (close-on-exec, owned by the caller).
 * *rsize: room on entry, bytes on return; IPC_F_MORE parts are joined. 0 or the answer's -errno. If
 * the call itself fails the connection is closed: -EPIPE (rused is gone), -ETIMEDOUT, -EPROTO,
 * -EMSGSIZE (the answer does not fit). -ENOTCONN: closed before.
 */
int ipc_call(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len,
	     const int *fds, int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds);
/* Send or receive one message. 0 or -errno; ipc_recv(): -EAGAIN: none; -EPIPE: closed by the peer; -EPROTO, -EMSGSIZE. */
int ipc_send(int fd, const struct ipc_hdr *hdr, const void *body, size_t len,
	     const int *fds, int nfds);
int ipc_recv(int fd, int flags, struct ipc_hdr *hdr, void *body, size_t *len, int *fds, int *nfds);
/* Checks a header and body length against the table of types. 0 or -EPROTO. Fuzzed. */
int ipc_check(const struct ipc_hdr *hdr, size_t len, bool reply);

#endif
