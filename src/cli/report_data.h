/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a report needs beside what was watched (watch.h), asked for when it is written. */
#ifndef RUSE_CLI_REPORT_DATA_H
#define RUSE_CLI_REPORT_DATA_H

#include <stddef.h>
#include "report/report.h"

struct watch;

struct report_data {
	struct report r;	/* for report_write() */
	char machine[4][256];
	char *log;
};

/* Asks rused and the machine. The caller sets `ran`, `run`, `timeout` and what failed before. */
void report_collect(struct report_data *d, const struct watch *w);
void report_release(struct report_data *d);

#endif
