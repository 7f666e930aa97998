/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse fault`: commands, and the rules that rused publishes to all processes in host_page.fault. */
#ifndef RUSE_DAEMON_FAULTS_FAULTS_H
#define RUSE_DAEMON_FAULTS_FAULTS_H

#include "ipc/pages.h"

struct blame;
struct json_object;
struct process;
struct processes;
struct gsi_faults;
struct host;

#define FAULT_LINE 256		/* bytes with the NUL */
#define FAULT_WORDS 40

/* Data about the rules that only rused needs; the rules themselves are in host_page.fault. */
struct fault_rules {
	struct host *host;
	const struct processes *processes;
	const struct gsi_faults *own;	/* counts of the MADs of rused */
	struct blame *blame;		/* is told which rules there are */
	uint32_t next_id;
	char text[FAULT_MAX_RULES][FAULT_LINE];
	struct fault_count gone[FAULT_MAX_RULES];	/* counts of exited processes */
	/* What exited processes have told of the event in the same entry of host_page.event. */
	struct fault_event_gone {
		uint32_t number, raised;
		bool silent;	/* a process that the event selects has told nothing */
	} event_gone[PROC_EVENTS];
};

/*
 * Parses the words after "add" into *rule, whose id the caller sets. f: for the names of devices, and the processes.
 * 0; or -EINVAL, with a message in err, which has room for size bytes.
 */
int fault_parse(const struct fault_rules *f, char *const *word, int n, struct fault_rule *rule,
		char *err, size_t size);

/*
 * fault_event.c: the commands "event NAME ...", whose answer has the number of the event, and "event NUMBER", which
 * tells what became of it. word[0] is "event". 0; or -EINVAL, and the answer has "error".
 */
int fault_event(const struct fault_rules *f, char *const *word, int n, struct json_object *answer);

/* fault_event.c: the part of fault_process_gone() about events. */
void fault_event_process_gone(struct fault_rules *f, const struct process *pr);

/* Runs one line of len bytes. now: host clock. Returns JSON, malloc()ed, "error" on failure; NULL: no memory. */
char *fault_command(struct fault_rules *f, const char *line, size_t len, ns_t now);
/* Adds the counts of a disconnected process to those of exited processes. Call before its page is closed. */
void fault_process_gone(struct fault_rules *f, const struct process *pr);

#endif
