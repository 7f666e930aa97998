/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capture of packets that rused itself sends and receives. */
#ifndef RUSE_GSI_CAPTURE_OUT_H
#define RUSE_GSI_CAPTURE_OUT_H

#include <stddef.h>
#include <sys/types.h>
#include "ipc/capring.h"
#include "ipc/pages.h"

struct seg_net;

/* State of one capture. Entry i of an array belongs to page->capture[i]. */
struct capture_out {
	int fd;
	uint32_t snaplen;
	struct capring_side ring;	/* none: no capture */
};

/*
 * capture_out_start(): connects to the capture h of the user uid; -errno: rused's own packets are
 * not captured. capture_out_stop(): call before h is removed from the host page.
 */
int capture_out_start(struct capture_out *out, const struct host_capture *h, uid_t uid);
void capture_out_stop(struct capture_out *out);
/* True if there is any capture. */
bool capture_out_any(const struct capture_out all[HOST_MAX_CAPTURES]);
/* Captures a packet of dev: len bytes, BTH to padding. in: received from another host. note: caprec.note, or NULL. */
void capture_out(struct capture_out all[HOST_MAX_CAPTURES], const char *dev,
		 const struct seg_net *net, uint16_t sport, const void *packet, size_t len,
		 bool in, const char *note);

#endif
