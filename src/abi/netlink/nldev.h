/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink (NETLINK_RDMA, client NLDEV) as a function, called by rused. It takes one datagram
 * from a program and a description of the devices and objects, and calls reply() for every datagram
 * that the kernel would send. It owns no socket, keeps nothing between calls, and accesses no memory
 * of the program. A dump is answered within the call, not piecewise at each recv() as in the kernel.
 */
#ifndef RUSE_ABI_NETLINK_NLDEV_H
#define RUSE_ABI_NETLINK_NLDEV_H

#include <sys/socket.h>
#include "core/like_shown.h"
#include "ipc/res.h"

#define NLDEV_DGRAM_MAX 4096	/* size of iproute2's read buffer */

/* An rdma_cm id, for objects of kind RES_CM_ID. */
struct nldev_cm_id {
	uint32_t id;	/* RES_CM_IDN */
	uint32_t dev_index;
	uint8_t port;	/* 0: none yet */
	uint8_t qp_type;
	uint8_t state;	/* enum rdma_cm_state */
	uint16_t ps;
	uint32_t lqpn;	/* 0: none yet */
	int pid;
	struct sockaddr_storage src, dst;	/* family 0: none yet */
};

/* An object of a process. rec.kind has been checked. The rest of rec is untrusted: the process wrote it. */
struct nldev_res {
	struct res_rec rec;
	uint32_t id;	/* reported as RES_PDN, RES_CQN, RES_MRN or RES_CTXN; made by RES_ID() */
	uint32_t base;	/* RES_ID(index of the process, 0); base | i is the id of record i of this process */
	int pid;	/* of the process, in rused's PID namespace */
	const struct nldev_cm_id *cm;	/* for kind RES_CM_ID only */
};

struct nldev_ctx {
	const struct host_page *page;	/* rused's own copy, trusted */
	const struct like_shown *shown;	/* the names of the hw_counters */
	uint64_t stat[HOST_MAX_DEVS][LIKE_MAX_SHOWN];	/* their values, of page->dev[i] */
	/*
	 * Returns all objects of all processes; *n is their number. Called for each message that asks
	 * about objects. The array must stay valid until nldev_input() returns; the caller of
	 * nldev_input() owns it.
	 */
	const struct nldev_res *(*objects)(void *arg, size_t *n);
	/*
	 * Run the commands NEWLINK, DELLINK, and SET with a new name. dev is an index into page->dev.
	 * Return 0 or -errno. NULL: the command fails with -EOPNOTSUPP.
	 */
	int (*newlink)(void *arg, const char *name, const char *type, const char *ndev);
	int (*dellink)(void *arg, int dev);
	int (*rename)(void *arg, int dev, const char *name);
	/* The number N of the device's umadN; negative: it has none. NULL: no device has one. */
	int (*umad)(void *arg, int dev);
	void *arg;
	/* The reason of a failure: set here and by the three callbacks. It goes into the NLMSG_ERROR. NULL: no reasons. */
	struct why *why;
	bool admin;	/* the requesting program has CAP_NET_ADMIN */
	uint32_t host;	/* simulated host of the program, 0: the real one; it sees only devices whose ib.host is equal */
};

/* Sends a datagram to the program: len is at most NLDEV_DGRAM_MAX, dgram is valid during the call. */
typedef void (*nldev_reply_fn)(void *arg, const void *dgram, size_t len);

/*
 * Handle one datagram of requests: untrusted bytes, any length, any alignment. Answers like Linux
 * 6.1, errno and framing included. Replies carry the nlmsg_pid of the request.
 *
 * Errors are sent as NLMSG_ERROR, or in NLMSG_DONE for a dump. -EINVAL: unknown client or command, a
 * missing or wrong attribute, no such device. -ENOENT: no such object. -EPERM: needs CAP_NET_ADMIN.
 * -EOPNOTSUPP: a command of the kernel that ruse does not provide. A few commands have others.
 *
 * A datagram of more than 16384 bytes is dropped. A message whose nlmsg_len is below 16 or beyond the
 * end of the datagram gets no answer, nor do the messages after it.
 */
void nldev_input(const struct nldev_ctx *h, const void *req, size_t len,
		 nldev_reply_fn reply, void *arg);

#endif
