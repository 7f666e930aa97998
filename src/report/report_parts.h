/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sections of a report: each writes its content to f, or nothing, and returns how much there is. */
#ifndef RUSE_REPORT_REPORT_PARTS_H
#define RUSE_REPORT_REPORT_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/report.h"

#define REPORT_FAILURES 100	/* failures and waits that are shown */

enum report_tone { REPORT_GOOD, REPORT_BAD, REPORT_WARN };

/* The sentence at the top. */
enum report_tone report_verdict(FILE *f, const struct report *r);
size_t report_summary(FILE *f, const struct report *r);
size_t report_failures(FILE *f, const struct report *r);
size_t report_ladders(FILE *f, const struct report *r);
size_t report_timeline(FILE *f, const struct report *r);
size_t report_hangs(FILE *f, const struct report *r);
size_t report_fabric(FILE *f, const struct report *r);
size_t report_objects(FILE *f, const struct report *r);
size_t report_log(FILE *f, const struct report *r);

/* p: the process of a failure or wait. False: no further one. */
typedef bool (*report_fn)(void *arg, struct json_object *p, struct json_object *o);
/*
 * Calls fn for each failure that is none of an orderly end, the first one first, until it returns false. Returns their number.
 */
size_t report_each_failure(const struct report *r, void *arg, report_fn fn);
/* The first of these; NULL: none. */
struct json_object *report_first_failure(const struct report *r);
/* The same for waits, of which those of programs with nothing to do are left out. */
size_t report_each_wait(const struct report *r, void *arg, report_fn fn);
/* Processes that have not answered the question what they wait for. */
size_t report_silent(const struct report *r);

#endif
