/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink (NETLINK_RDMA, client NLDEV) as a function: the bytes of one
 * datagram that a program sent, what the host looks like now, and a callback
 * for every datagram the kernel would have sent back. No socket, no state:
 * a dump is answered as a whole.
 */
#ifndef RUSE_ABI_NETLINK_NLDEV_H
#define RUSE_ABI_NETLINK_NLDEV_H

#include "ipc/pages.h"

#define NLDEV_DGRAM_MAX 4096	/* iproute2 reads with a buffer of this size */

/* Objects on a device, in all processes. */
struct nldev_counts {
	uint64_t pd, cq, qp, mr, ctx;
};

struct nldev_host {
	const struct host_page *page;	/* rused's own; not a stranger's */
	struct nldev_counts counts[HOST_MAX_DEVS];	/* of page->dev[i] */
	bool admin;	/* the asking program has CAP_NET_ADMIN */
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
