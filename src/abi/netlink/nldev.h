/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink (NETLINK_RDMA, client NLDEV) as a function. It takes one datagram from a program and
 * the present state of the host, and calls back for every datagram that the kernel would send. No
 * socket and no state: a dump is answered completely.
 */
#ifndef RUSE_ABI_NETLINK_NLDEV_H
#define RUSE_ABI_NETLINK_NLDEV_H

#include <sys/socket.h>
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

/* An object of a process. rec.kind has been checked; the process may have put any values into the rest of rec. */
struct nldev_res {
	struct res_rec rec;
	uint32_t id;	/* RES_ID: the kernel's pdn, cqn, mrn or ctxn */
	uint32_t base;	/* RES_ID(place of the process, 0); base | slot is the id of a record */
	int pid;	/* of the process, in rused's PID namespace */
	const struct nldev_cm_id *cm;	/* for kind RES_CM_ID only */
};

struct nldev_host {
	const struct host_page *page;	/* rused's own copy, trusted */
	uint64_t counter[HOST_MAX_DEVS][PROC_COUNTERS];	/* of page->dev[i], by enum rdev_counter */
	/*
	 * All objects of all processes; *n is their number. Called only if they are needed. The
	 * array belongs to the host.
	 */
	const struct nldev_res *(*objects)(void *arg, size_t *n);
	/*
	 * Commands NEWLINK, DELLINK, and SET with a new name. dev is an index into page->dev. 0 or
	 * -errno. NULL: not supported.
	 */
	int (*newlink)(void *arg, const char *name, const char *type, const char *ndev);
	int (*dellink)(void *arg, int dev);
	int (*rename)(void *arg, int dev, const char *name);
	void *arg;
	bool admin;	/* the requesting program has CAP_NET_ADMIN */
	uint32_t host;	/* the program sees only devices with this host_ib.host */
};

typedef void (*nldev_reply_fn)(void *arg, const void *dgram, size_t len);

/*
 * Handle one datagram of requests: untrusted bytes, any length, any alignment. Answers like Linux
 * 6.1, errno and framing included. Replies carry the nlmsg_pid of the request.
 */
void nldev_input(const struct nldev_host *h, const void *req, size_t len,
		 nldev_reply_fn reply, void *arg);

#endif
