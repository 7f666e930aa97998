/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink (NETLINK_RDMA, client NLDEV) as a function: the bytes of one
 * datagram that a program sent, what the host looks like now, and a callback
 * for every datagram the kernel would have sent back. No socket, no state:
 * a dump is answered as a whole.
 */
#ifndef RUSE_ABI_NETLINK_NLDEV_H
#define RUSE_ABI_NETLINK_NLDEV_H

#include <sys/socket.h>
#include "ipc/res.h"

#define NLDEV_DGRAM_MAX 4096	/* iproute2 reads with a buffer of this size */

/* An rdma_cm id, for objects of kind RES_CM_ID. */
struct nldev_cm_id {
	uint32_t id;	/* RES_CM_IDN */
	uint32_t dev_index;
	uint8_t port;	/* 0 = none yet */
	uint8_t qp_type;
	uint8_t state;	/* enum rdma_cm_state */
	uint16_t ps;
	uint32_t lqpn;	/* 0 = none yet */
	int pid;
	struct sockaddr_storage src, dst;	/* family 0 = none yet */
};

/* An object of a process. Checked as far as its reader does; the rest is a stranger's. */
struct nldev_res {
	struct res_rec rec;
	uint32_t id;	/* RES_ID: what the kernel's pdn, cqn, mrn, ctxn are */
	uint32_t base;	/* RES_ID of the same process's record 0 */
	int pid;	/* as rused sees it */
	const struct nldev_cm_id *cm;	/* RES_CM_ID */
};

struct nldev_host {
	const struct host_page *page;	/* rused's own; not a stranger's */
	uint64_t counter[HOST_MAX_DEVS][PROC_COUNTERS];	/* of page->dev[i], by enum rdev_counter */
	/* All objects of all processes; *n says how many. Called only when they are asked for. */
	const struct nldev_res *(*objects)(void *arg, size_t *n);
	/*
	 * NEWLINK, DELLINK and the renaming of SET, by index into page->dev; 0 or -errno.
	 * NULL: not offered.
	 */
	int (*newlink)(void *arg, const char *name, const char *type, const char *ndev);
	int (*dellink)(void *arg, int dev);
	int (*rename)(void *arg, int dev, const char *name);
	void *arg;
	bool admin;	/* the asking program has CAP_NET_ADMIN */
	uint32_t host;	/* whose devices it sees: host_ib.host */
};

typedef void (*nldev_reply_fn)(void *arg, const void *dgram, size_t len);

/*
 * Handles one datagram of requests (hostile bytes, any length, any alignment).
 * Answers what Linux 6.1 does, errno and framing included; replies carry the
 * nlmsg_pid that the request came with.
 */
void nldev_input(const struct nldev_host *h, const void *req, size_t len,
		 nldev_reply_fn reply, void *arg);

#endif
