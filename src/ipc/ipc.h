/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The socket between a process and rused: message types and their bodies.
 *
 * SOCK_SEQPACKET Unix socket, rused.sock in the run directory. A message is a struct ipc_hdr and a
 * body, at most IPC_MAX bytes together, with at most IPC_MAX_FDS descriptors. An answer repeats the
 * request's number and type and sets IPC_F_REPLY. Both ends check everything: on a malformed
 * message rused closes the connection, and the library treats rused as dead.
 * Both ends check SO_PEERCRED: the peer must have the same uid.
 */
#ifndef RUSE_IPC_IPC_H
#define RUSE_IPC_IPC_H

#include <sys/types.h>
#include "base/util.h"

#define IPC_VERSION 1	/* raised in a release that changes messages or shared memory (ipc/version.h) */
#define IPC_MAX 16384
#define IPC_MAX_FDS 4
#define IPC_SOCK_NAME "rused.sock"
#define IPC_LOG_NAME "rused.log"
#define IPC_CRASH_NAME "rused.crash"	/* the log of the last rused that crashed */
#define IPC_OWN_PREFIX "ruse-own."	/* name of the run directories of `ruse run --own`, without the random part */
#define IPC_RUNDIR_MAX 96	/* with "/rused.sock" it must fit into sun_path */

enum ipc_type {
	/* First message. Reply: memfd of the host page (ipc/pages.h), and a socket that is readable after each change of it. */
	IPC_HELLO = 1,
	/*
	 * Leases one more block of QP numbers. Body and reply: ipc_lease. If UDP port 4791 is open, the reply carries
	 * three descriptors: the block's UDP socket and both ends of the park. The park is a socket pair in which copies
	 * of these UDP sockets stay open while no rused runs (daemon/port.h). -ENOSPC: no block is free.
	 */
	IPC_LEASE,
	/*
	 * Looks up the process that leases a block of QP numbers. Body and reply: ipc_peer. -ENOENT: no process
	 * leases it. -EAGAIN: rused was restarted, and the process has not reconnected yet.
	 */
	IPC_PEER,
	/* RDMA netlink. Reply: one end of a SOCK_SEQPACKET pair for raw netlink messages. */
	IPC_NETLINK,
	/* The process has opened or closed a uverbs context. proc_page.ctx counts the context's objects. */
	IPC_CONTEXT,
	/* ruse status: no body. Reply: JSON text in IPC_F_MORE messages. Not for the library. */
	IPC_STATUS,
	/* ruse explain: no body. Reply: JSON text (daemon/explain.h), as for IPC_STATUS. Not for the library. */
	IPC_EXPLAIN,
	/* ruse explain --stuck: no body. Asks all processes again; reply: JSON text of their last answers (daemon/stuck.h). */
	IPC_STUCK,
	/* ruse: asks rused to exit. Body: none (exit when idle) or ipc_shutdown. */
	IPC_SHUTDOWN,
	/* hw_counters are about to be read: rused updates the files, then answers. No bodies. */
	IPC_COUNTERS,
	/* ruse: starts a capture, which ends when ruse hangs up. Body and errors: ipc_capture (ipc/capring.h). */
	IPC_CAPTURE,
	/* ruse fault. Body: one line in the language of daemon/faults.h. Reply: JSON, in the form of IPC_STATUS. */
	IPC_FAULT,
	/* Files rdma_cm (ipc/ucma_msg.h), umadN and issmN (ipc/umad_msg.h). */
	IPC_UCMA_OPEN, IPC_UCMA_WRITE, IPC_UCMA_POST, IPC_UMAD_OPEN, IPC_UMAD_CALL, IPC_UMAD_POST,
	IPC_FABRIC, IPC_HOST, IPC_PATH, IPC_MCAST, IPC_MEMBERS,	/* ipc/fabric_msg.h */
	IPC_CHANNEL, IPC_WAKE,			/* ipc/channel.h */
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
	char sock[32];		/* where the process accepts shm links: abstract address without its leading NUL, "" = none */
	uint32_t proc;		/* process number given by an earlier rused, which the process wants to keep; 0 = none */
};
#define IPC_PROC_MAX 0xfffffffeu /* one less than CARD_OWNER, which in a QP card stands for its owner (queue/card.h) */
/* Descriptors of IPC_HELLO: a process sends its process page (ipc/pages.h) and, if it has it, the park (IPC_LEASE); ruse none. */
struct ipc_hello_reply {
	uint32_t proc;		/* number of the process, 1 to IPC_PROC_MAX, never reused; 0 for ruse */
	uint32_t pid;		/* PID of rused */
	char rundir[108];
	char netdevs[64];	/* rused's RUSE_NETDEV, cut to fit; "": not set */
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
struct ipc_shutdown {
	uint32_t now;		/* exit: 0 after the last client has disconnected, 1 at once */
};

/* Client side of a connection, for engine/ and cli/. A call blocks for a few seconds at most. Calls must not overlap. */
struct ipc_conn {
	int fd;			/* -1 = not connected */
	uint32_t seq;
	int answer;		/* error in the last answer: 0 or -errno */
	bool unanswered;	/* ipc_post() has used the socket, and rused may not have read it: do not use the queue */
	struct ipc_channel *chan;	/* NULL: only the socket */
	ns_t (*clock)(void);	/* host clock, to limit the polling of chan; NULL: no polling */
	int other_pid;		/* these three: rused, after -EPROTONOSUPPORT (ipc/version.h) */
	uint16_t other_version;
	char other_release[22];
};
/* The run directory of this user and network namespace, created with mode 0700. 0 or -errno. */
int ipc_rundir(char *path, size_t size);
/* Connects to a running rused. -ENOENT, -ECONNREFUSED: none runs; -EPERM: it belongs to another user. */
int ipc_connect(struct ipc_conn *c, const char *rundir);
/* Sends HELLO for a program without devices, named comm. *pid (may be NULL): PID of rused. After -errno c is closed. */
int ipc_greet(struct ipc_conn *c, const char *comm, uint32_t *pid);
void ipc_close(struct ipc_conn *c);
/*
 * Sends a request and waits for its answer. The descriptors fds go with the request. rfds receives those of the answer;
 * they are close-on-exec and owned by the caller. *rsize is the room for the answer on entry and its length on return;
 * the parts of an IPC_F_MORE answer are joined. Returns 0 or the -errno in the answer. -ENOTCONN: there is no connection.
 * If the call itself fails, it closes the connection and returns -EPIPE (rused is gone), -ETIMEDOUT, -EPROTO, -EMSGSIZE
 * (the answer does not fit) or -EPROTONOSUPPORT (another version).
 */
int ipc_call(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len,
	     const int *fds, int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds);
/* Sends one message and does not wait. 0; -EAGAIN: no room in the socket; -EPIPE: closed by the peer; -EMSGSIZE: too long. */
int ipc_send(int fd, const struct ipc_hdr *hdr, const void *body, size_t len,
	     const int *fds, int nfds);
/* Receives one message; flags as for recvmsg(). 0; -EAGAIN; -EPIPE, -EMSGSIZE; -EPROTO: malformed; -EPROTONOSUPPORT. */
int ipc_recv(int fd, int flags, struct ipc_hdr *hdr, void *body, size_t *len, int *fds, int *nfds);
/* Checks a header and body length against the table of types. 0 or -EPROTO. Fuzzed. */
int ipc_check(const struct ipc_hdr *hdr, size_t len, bool reply);

#endif
