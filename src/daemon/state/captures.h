/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The captures of `ruse capture` in the host page. */
#ifndef RUSE_DAEMON_STATE_CAPTURES_H
#define RUSE_DAEMON_STATE_CAPTURES_H

struct process;
struct gsi;
struct host;
struct ipc_capture;

/* Adds a capture for the process. 0; -EBUSY: it has one; -ENOSPC; -EPROTO: invalid socket name. */
int captures_start(struct host *h, struct gsi *g, struct process *pr,
		   const struct ipc_capture *q);
void captures_process_gone(struct host *h, struct gsi *g, struct process *pr);

#endif
