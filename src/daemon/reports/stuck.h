/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What processes wait for, for `ruse explain --stuck`. */
#ifndef RUSE_DAEMON_REPORTS_STUCK_H
#define RUSE_DAEMON_REPORTS_STUCK_H

#include "abi/ucma/stuck.h"
#include "base/util.h"

struct blame;
struct host_page;
struct processes;
struct umads;

/* What it asks. Set by the owner. */
struct stuck {
	const struct processes *processes;
	const struct host_page *page;
	struct umads *umads;
	/* What the rdma_cm ids of a process wait for; ctx: cm_ctx. */
	void (*cm)(void *ctx, int pid, ucma_stuck_fn fn, void *arg);
	void *cm_ctx;
	struct blame *blame;	/* rules that may be causes; NULL: none are named */
};

/*
 * The answer to IPC_STUCK, malloc()ed; NULL: no memory. doc/json.md lists its members; `ruse` adds "answers". Waits of rdma_cm
 * and MADs are of the time of the answer. A process without open devices has no QPs and need not answer.
 */
char *stuck_text(const struct stuck *s, ns_t now);

#endif
