/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The report that a run leaves: one HTML file without a script that needs nothing else. Texts of programs, files and rused
 * are escaped. Of packets only headers are shown.
 */
#ifndef RUSE_REPORT_REPORT_H
#define RUSE_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_object;
struct rings;
struct timeline;

/* What is known. NULL, 0: not known, or there is none. Objects are answers of rused as doc/json.md lists them. */
struct report {
	const char *version;		/* of ruse */
	const char *machine[6][2];	/* title and value; ends with NULL */
	bool ran;			/* a command was run; false: the report is of what runs now */
	uint64_t begin, end;		/* since 1970 */
	uint64_t timeout;		/* ns after which the command was ended; 0: it has ended by itself */
	struct json_object *run;	/* `ruse run --summary=FILE` */
	struct json_object *failures;	/* `ruse explain`; each may have "what", a line that tells which object it is of */
	uint64_t failures_at;		/* when they were asked for, since 1970 */
	struct json_object *stuck;	/* `ruse explain --stuck` */
	struct json_object *status, *rules;	/* `ruse status`, `ruse fault list` */
	struct json_object *fabric;	/* `ruse fabric show`; the answer to "show" "--route" FROM TO has the path */
	const struct rings *rings;	/* NULL: no packets were captured */
	uint64_t packets, lost;		/* captured; not captured because the capture was behind */
	const struct timeline *timeline;
	const char *log, *log_name;	/* the last lines of rused's log */
};

/* The hosts of the fabric at the ends of the first failure or wait whose ends are known. False: there is none. */
bool report_path(const struct report *r, const char **from, const char **to);
/* Writes the page. The caller finds write errors by ferror(f). */
void report_write(FILE *f, const struct report *r);

#endif
