/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which rules of `ruse fault` may have caused a failure: rules that have acted on packets of its QP, or of the peer's QP, before
 * it. Processes record that in their pages (struct fault_act); what processes have recorded that have ended, and
 * rules that were deleted, are remembered here for a while.
 */
#ifndef RUSE_DAEMON_REPORTS_BLAME_H
#define RUSE_DAEMON_REPORTS_BLAME_H

#include "ipc/pages.h"
#include "why/why.h"

struct json_object;
struct process;
struct processes;

#define BLAME_RULES (FAULT_MAX_RULES + 64u)	/* rules that are known, deleted ones too */
#define BLAME_ENDED 1024u			/* records of processes that have ended */
#define BLAME_TEXT 256u

struct blame_rule {
	struct fault_rule rule;		/* id 0: free entry */
	ns_t added, deleted;		/* deleted 0: it exists */
	char text[BLAME_TEXT];		/* as it was added */
};

struct blame {
	struct blame_rule rule[BLAME_RULES];
	struct fault_act ended[BLAME_ENDED];	/* ring */
	uint32_t nended;			/* how many have been put into it */
	struct fault_act *running;		/* of processes that run, as of blame_look() */
	size_t nrunning, room;
};

void blame_fini(struct blame *b);
/* A rule was added. */
void blame_rule_added(struct blame *b, const struct fault_rule *r, const char *text, ns_t now);
/* A rule was deleted. One that has never acted is forgotten. */
void blame_rule_deleted(struct blame *b, uint32_t id, bool acted, ns_t now);
/* Call when a process has disconnected, before its page is closed. */
void blame_process_gone(struct blame *b, const struct process *pr);
/* Reads what the processes have recorded. Call before blame_put(). */
void blame_look(struct blame *b, const struct processes *ps);
/* Adds "rules" to a failure, if there is any that may have caused it. */
void blame_put(const struct blame *b, struct json_object *failure, const struct why_rec *r,
	       ns_t now);

#endif
