/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capture of packets that rused itself sends and receives. */
#ifndef RUSE_DAEMON_CAPTURE_OUT_H
#define RUSE_DAEMON_CAPTURE_OUT_H

#include <stddef.h>
#include "ipc/pages.h"

struct capring;
struct rused;
struct seg_net;

/* State of one capture. rused.capture_out[i] belongs to page->capture[i]. */
struct capture_out {
	int fd;
	uint32_t snaplen;
	struct capring *ring;	/* NULL: no capture */
	uint64_t prod;
};

/*
 * capture_out_start(): call after page->capture[i] was added; -errno: rused's own packets are not
 * captured. capture_out_stop(): call before page->capture[i] is removed.
 */
int capture_out_start(struct rused *r, int i);
void capture_out_stop(struct rused *r, int i);
/* True if there is any capture. */
bool capture_out_any(const struct rused *r);
/* Captures a packet of dev: len bytes, BTH to padding. in: received from another host. */
void capture_out(struct rused *r, const char *dev, const struct seg_net *net, uint16_t sport,
		 const void *packet, size_t len, bool in);

#endif
