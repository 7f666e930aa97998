/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the processes of a run did over time, from answers of rused that are asked at intervals. Memory is bounded: when
 * TIMELINE_SAMPLES are held every second one is dropped, and the interval doubles. Counters count up, so nothing of what
 * was moved is lost by that.
 */
#ifndef RUSE_REPORT_TIMELINE_H
#define RUSE_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TIMELINE_SAMPLES 600
#define TIMELINE_TRACKS 64		/* processes that have a line; others are in the sums only */
#define TIMELINE_INTERVAL 250000000ull	/* ns between the first samples */
#define TIMELINE_STALL 1000000000ull	/* ns without progress that are a stall, while a QP is connected */

struct json_object;

/* What a process had done at a sample. */
struct timeline_point {
	uint64_t bytes;		/* moved so far */
	uint64_t progress;	/* messages, packets, requests of peers: changes while anything moves */
	uint32_t connections, retries, faults, errors;
	uint16_t up, failed, other;	/* QPs in RTR, RTS or SQD; in ERR or SQE; in other states */
	bool there, running;
};

struct timeline_track {
	int pid;
	char comm[16];
	struct timeline_point *points;	/* TIMELINE_SAMPLES of these */
};

struct timeline {
	uint64_t interval;	/* ns */
	uint64_t lost_at;	/* since 1970: rused has not answered any more; 0: it has */
	size_t samples, tracks, untracked;
	uint64_t ns[TIMELINE_SAMPLES];	/* since 1970 */
	struct timeline_point sum[TIMELINE_SAMPLES];
	struct timeline_track track[TIMELINE_TRACKS];
};

/* NULL: no memory. */
struct timeline *timeline_new(void);
void timeline_free(struct timeline *t);
/* Takes an answer to IPC_RUN, with its members checked, or one to IPC_STATUS. ns: its time since 1970. */
void timeline_add_run(struct timeline *t, uint64_t ns, struct json_object *run);
void timeline_add_status(struct timeline *t, uint64_t ns, struct json_object *status);

/* A mark at a process: a failure. */
struct timeline_mark {
	int pid;
	uint64_t ns;
	const char *text;
};

/* Draws the timeline, with n marks. begin, end: of the run, since 1970. */
void timeline_draw(FILE *f, const struct timeline *t, const struct timeline_mark *marks, size_t n,
		   uint64_t begin, uint64_t end);
/* True if the process moved nothing from sample i on for TIMELINE_STALL or longer, while it had a connected QP; *to: its end. */
bool timeline_stalls(const struct timeline *t, const struct timeline_track *k, size_t i,
		     size_t *to);

#endif
