/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of captures in the host page (host_page.capture, shared with all processes). Every
 * process, and rused, sends its packets to all of them.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "daemon/daemon.h"
#include "ipc/capring.h"

#define SNAPLEN_MIN 64u		/* bytes; room for the Ethernet, IPv6 and UDP headers (62) */

int capture_start(struct client *c, const struct ipc_capture *q)
{
	struct rused *r = c->r;

	if (!q->sock[0] || !memchr(q->sock, 0, sizeof(q->sock)) || q->pad)
		return -EPROTO;
	if (c->capture)
		return -EBUSY;
	for (int i = 0; i < HOST_MAX_CAPTURES; i++) {
		struct host_capture *h = &r->page->capture[i];

		if (h->id)
			continue;
		/* Random, so that it differs from the ids of an earlier rused. */
		do {
			c->capture = rand_u32();
		} while (!c->capture);
		host_page_begin(r);
		h->id = c->capture;
		h->snaplen = max(q->snaplen, SNAPLEN_MIN);
		memset(h->sock, 0, sizeof(h->sock));
		strcpy(h->sock, q->sock);
		host_page_end(r, "a capture");
		if (capture_out_start(&r->gsi.capture[i], h, r->uid))
			log_warn("the capture of pid %d does not include packets that rused sends", c->pid);
		log_info("pid %d starts a capture", c->pid);
		return 0;
	}
	return -ENOSPC;
}

void capture_client_gone(struct client *c)
{
	struct rused *r = c->r;

	for (int i = 0; c->capture && i < HOST_MAX_CAPTURES; i++) {
		if (r->page->capture[i].id != c->capture)
			continue;
		capture_out_stop(&r->gsi.capture[i]);
		host_page_begin(r);
		memset(&r->page->capture[i], 0, sizeof(r->page->capture[i]));
		host_page_end(r, "a capture's end");
	}
	c->capture = 0;
}
