/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse run --report: what gate.h knows of a run, and what was watched, as a report. */
#include <json-c/json.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/report_data.h"
#include "report/timeline.h"

static bool report_runs(struct json_object *done)
{
	struct json_object *ps = done ? gate_list(done, "processes") : NULL, *v;

	for (size_t i = 0; ps && i < json_object_array_length(ps); i++)
		if (json_object_object_get_ex(json_object_array_get_idx(ps, i), "running", &v) &&
		    json_object_get_boolean(v))
			return true;
	return false;
}

void report_print(FILE *f, const struct gate *g)
{
	struct report_data d = { .r = { .ran = true } };
	struct json_object *stuck = NULL;
	size_t left;
	int rc;

	if (g->watch.timed_out)
		d.r.timeout = g->timeout;
	/* Also what processes wait for that still run when the command has ended. */
	if (!g->watch.stuck && report_runs(g->done))
		stuck = cli_stuck(0, &left, &rc);
	d.r.stuck = stuck ? stuck : g->watch.stuck;
	/* Processes that ran only between two samples, and the last counts. */
	if (g->done && g->watch.timeline)
		timeline_add_run(g->watch.timeline, g->watch.end, g->done);
	d.r.run = summary_object(g);
	report_collect(&d, &g->watch);
	report_write(f, &d.r);
	report_release(&d);
	json_object_put(d.r.run);
	json_object_put(stuck);
}
