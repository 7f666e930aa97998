/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `ruse` watches while a command runs, or for some seconds: packets, samples of what processes do, and the time limit
 * of the command. A thread does it, with all signals blocked, so that the parent waits for the command as without it.
 */
#ifndef RUSE_CLI_WATCH_H
#define RUSE_CLI_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct ipc_conn;
struct json_object;
struct live;
struct rings;
struct timeline;

struct watch {
	/* Set by the caller. */
	bool report;		/* packets and samples are kept */
	struct ipc_conn *rused;	/* for the samples; not used by others meanwhile */
	uint64_t run;		/* id of the run that is sampled; 0: the answers of `ruse status` are */
	uint64_t timeout;	/* ns; 0: none */
	/* Found. */
	uint64_t begin, end;	/* since 1970 */
	struct rings *rings;	/* NULL: no packets */
	uint64_t packets, lost;
	struct timeline *timeline;
	bool timed_out;
	struct json_object *stuck;	/* what the command waited for when its time was over, as of cli_stuck() */
	struct watch_own *own;
};

/* The time of a clock, ns. */
uint64_t watch_now(clockid_t clock);
/* Begins to capture. A failure is told; the report is then without packets. */
void watch_open(struct watch *w);
/* Starts and ends the thread. pid: the command, which is ended when its time is over; 0: none. */
void watch_begin(struct watch *w, pid_t pid);
void watch_end(struct watch *w);
/* Does the same without a thread, for so long. */
void watch_for(struct watch *w, uint64_t ns);
void watch_close(struct watch *w);

#define TREE_MAX 512

/* tree.c: processes, by descriptors, which stay theirs when they have ended. */
struct tree {
	int fd[TREE_MAX];
	size_t n;
};

/* Adds the descendants of a process, but not a rused. */
void tree_find(struct tree *t, pid_t pid);
/* Adds the children of a process but those in but[], n pids, and their descendants; also a rused. */
void tree_find_others(struct tree *t, pid_t pid, const pid_t *but, size_t n);
/* Sends a signal, and continues those that are stopped. */
void tree_signal(const struct tree *t, int sig);
bool tree_ended(const struct tree *t);
void tree_close(struct tree *t);

#endif
