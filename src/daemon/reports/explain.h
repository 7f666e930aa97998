/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The failures of processes, for `ruse explain`. */
#ifndef RUSE_DAEMON_REPORTS_EXPLAIN_H
#define RUSE_DAEMON_REPORTS_EXPLAIN_H

#include "base/list.h"
#include "base/util.h"
#include "why/why.h"

struct blame;
struct process;
struct processes;
struct host_page;
struct json_object;
struct why_log;

/* The failures of processes that have ended, at most EXPLAIN_ENDED of them, the latest last. */
#define EXPLAIN_ENDED 64u
struct explain {
	struct list_head ended;
	uint32_t nended;
	struct why_log *own;	/* failures that rused itself has found; NULL: none */
	struct blame *blame;	/* rules that may be causes; NULL: none are named */
	struct explain_program {
		pid_t pid;
		uint32_t proc;		/* 0: none */
		char comm[16];
		ns_t since, at;		/* when it has connected and ended */
	} newest;		/* of the processes that have ended, with or without failures, the last that has connected */
};

void explain_init(struct explain *e);
void explain_fini(struct explain *e);
/* Call when a process has disconnected, before its page is closed: keeps its failures, if it has any. */
void explain_process_gone(struct explain *e, const struct process *pr, ns_t now);
/* Adds a packet that rused has dropped. */
void explain_drop(struct explain *e, const struct why *why, ns_t now);
/* The failures that explain_text() would list: their number, repeated ones counted once. */
uint64_t explain_count(const struct explain *e, const struct processes *ps);
/*
 * A failure as the answer to IPC_EXPLAIN has it: an element of processes[].failures[]. The caller owns it, and has called
 * blame_look(). blame may be NULL.
 */
struct json_object *explain_failure(const struct why_log *log, const struct why_rec *r,
				    const struct host_page *page, const struct blame *blame,
				    ns_t now);
/*
 * The answer to IPC_EXPLAIN, malloc()ed; NULL: no memory. doc/json.md lists its members. number: a PID or QP number; then
 * the member "known" says if a process that runs, or the newest one, has it. 0: none.
 */
char *explain_text(const struct explain *e, const struct processes *ps,
		   const struct host_page *page, uint64_t number, ns_t now);
/* Writes the answer to RUN/failures.json, for `ruse explain` without rused. Does nothing if nothing has failed. */
void explain_save(const struct explain *e, const struct processes *ps, const struct host_page *page,
		  ns_t now, int run);
/* Removes that file from the directory run. */
void explain_clear(int run);

#endif
