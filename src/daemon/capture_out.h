/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rused as one whose packets are captured. */
#ifndef RUSE_DAEMON_CAPTURE_OUT_H
#define RUSE_DAEMON_CAPTURE_OUT_H

#include <stddef.h>
#include "ipc/pages.h"

struct capring;
struct rused;
struct seg_net;

/* By place in the host page. */
struct capture_out {
	int fd;
	uint32_t snaplen;
	struct capring *ring;	/* NULL: nobody captures here */
	uint64_t prod;
};

/* page->capture[i] has come: 0 or -errno, then it sees nothing of ours. Is going. */
int capture_out_start(struct rused *r, int i);
void capture_out_stop(struct rused *r, int i);
/* Is there anybody? */
bool capture_out_any(const struct rused *r);
/*
 * Shows a packet (BTH to pad, len bytes) of dev, from UDP port sport; in: it has arrived from
 * another host.
 */
void capture_out(struct rused *r, const char *dev, const struct seg_net *net, uint16_t sport,
		 const void *packet, size_t len, bool in);

#endif
