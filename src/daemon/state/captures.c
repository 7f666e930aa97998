/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of captures in the host page (host_page.capture, shared with all processes). Every
 * process, and rused, sends its packets to all of them.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "daemon/state/captures.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "gsi/gsi.h"
#include "ipc/capring.h"
#include "ipc/ipc.h"

#define SNAPLEN_MIN 64u		/* bytes; room for the Ethernet, IPv6 and UDP headers (62) */

int captures_start(struct host *host, struct gsi *g, struct process *pr,
		   const struct ipc_capture *q)
{
	if (!q->sock[0] || !memchr(q->sock, 0, sizeof(q->sock)) || q->pad)
		return -EPROTO;
	if (pr->capture)
		return -EBUSY;
	for (int i = 0; i < HOST_MAX_CAPTURES; i++) {
		struct host_capture *h = &host->page->capture[i];

		if (h->id)
			continue;
		/* Random, so that it differs from the ids of an earlier rused. */
		do {
			pr->capture = rand_u32();
		} while (!pr->capture);
		host_page_begin(host);
		h->id = pr->capture;
		h->snaplen = max(q->snaplen, SNAPLEN_MIN);
		memset(h->sock, 0, sizeof(h->sock));
		strcpy(h->sock, q->sock);
		host_page_end(host, "a capture");
		if (capture_out_start(&g->capture[i], h, pr->uid))
			log_warn("the capture of pid %d does not include packets that rused sends", pr->pid);
		log_info("pid %d starts a capture", pr->pid);
		return 0;
	}
	return -ENOSPC;
}

void captures_process_gone(struct host *host, struct gsi *g, struct process *pr)
{
	for (int i = 0; pr->capture && i < HOST_MAX_CAPTURES; i++) {
		if (host->page->capture[i].id != pr->capture)
			continue;
		capture_out_stop(&g->capture[i]);
		host_page_begin(host);
		memset(&host->page->capture[i], 0, sizeof(host->page->capture[i]));
		host_page_end(host, "a capture's end");
	}
	pr->capture = 0;
}
