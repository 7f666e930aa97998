/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs: what the processes that a `ruse run --expect` or `--summary` has started have done. ruse registers a run by
 * IPC_RUN, and its processes, descendants too, name it in HELLO (RUSE_RUN). rused adds up from the memory that a process
 * shares with it, so a process that was killed counts as one that has ended well.
 */
#ifndef RUSE_DAEMON_REPORTS_RUNS_H
#define RUSE_DAEMON_REPORTS_RUNS_H

#include "base/list.h"
#include "base/util.h"

struct blame;
struct process;
struct processes;
struct host_page;

struct runs {
	struct list_head list;
	struct blame *blame;	/* rules that may be causes; NULL: none are named */
	/* How often rules of `ruse fault` have acted on messages and steps of rdma_cm, in rused; NULL: not counted. */
	const uint64_t *faults;
};

void runs_init(struct runs *rs);
void runs_fini(struct runs *rs);
/*
 * Makes a run, if the owner has none with this id. 0; -EEXIST: the run has another owner; -EBUSY: the owner has another run;
 * -EINVAL: id is 0; -ENOMEM. owner: only compared.
 */
int runs_begin(struct runs *rs, uint64_t id, const void *owner);
/* The owner's connection has ended: forgets its runs. */
void runs_end(struct runs *rs, const void *owner);
/* Call when a process has disconnected, before its page is closed. */
void runs_process_gone(struct runs *rs, const struct processes *ps, const struct process *pr,
		       const struct host_page *page, ns_t now);
/* The answer to IPC_RUN, malloc()ed; NULL: no memory, or no such run. doc/json.md lists its members. */
char *runs_text(const struct runs *rs, const struct processes *ps, const struct host_page *page,
		uint64_t id, ns_t now);

#endif
