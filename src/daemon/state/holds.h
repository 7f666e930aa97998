/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers held back until every process has applied a change of the host page.
 *
 * A process applies a change when its progress thread looks at the page, and says so in proc_page.applied. rused looks at
 * the process pages, first at once and then at growing intervals, until all have applied the change. It does not
 * wait for a process without a progress thread, which looks at the page when it opens a device; for one that has ended;
 * for one that is stopped; or for longer than HOLD_LIMIT. What a process writes to its page delays an answer by no more
 * than that.
 */
#ifndef RUSE_DAEMON_STATE_HOLDS_H
#define RUSE_DAEMON_STATE_HOLDS_H

#include "base/list.h"
#include "base/timer.h"
#include "daemon/state/process.h"

#define HOLD_LIMIT NS_S
#define HOLD_TRACED (50 * NS_MS)	/* a process that a debugger has stopped: strace stops one for microseconds, often */
#define HOLD_FIRST NS_MS		/* the first interval, and the resolution of the event loop */
#define HOLD_LAST (5 * NS_MS)		/* the longest interval */
#define HOLD_STALL (100 * NS_MS)	/* of a longer time between two looks only this counts: rused itself did not run */
#define HOLD_NAMES 8

struct holds {
	struct timer_heap *timers;
	struct timer timer;
	struct list_head list;	/* struct hold */
	const struct processes *processes;
	const struct host_page *page;
};

/* A process that has not applied the change. */
struct hold_late {
	pid_t pid;
	char comm[16];
	bool stopped;
};

struct hold {
	struct list_head node;	/* holds.list */
	bool active;
	uint32_t changes;	/* host_page.changes that is to be applied */
	ns_t looked, next;	/* the last look, the next one */
	ns_t waited;
	const struct process *asker;
	/* The wait is over. late[]: for this call, the first HOLD_NAMES of nlate processes. */
	void (*done)(struct hold *h, const struct hold_late *late, uint32_t nlate);
};

void holds_init(struct holds *hs, struct timer_heap *timers, const struct processes *processes,
		const struct host_page *page);
/* Calls h->done, perhaps at once. asker: is not waited for, as it waits for the answer. */
void holds_begin(struct holds *hs, struct hold *h, const struct process *asker, ns_t now);
/* Ends a wait without a call of done. No effect if there is none. */
void hold_cancel(struct hold *h);

#endif
