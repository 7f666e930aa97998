/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The summary of a run as tables in Markdown, for GITHUB_STEP_SUMMARY. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/gate.h"
#include "base/printable.h"

/* Text of a cell: what Markdown and HTML would take for their own is escaped. */
static void md_put(FILE *f, const char *text)
{
	char *copy = printable_copy(text ? text : "");

	for (const char *s = copy; s && *s; s++) {
		if (*s == '<' || *s == '&' || *s == '>')
			fprintf(f, "&#%d;", *s);
		else
			fprintf(f, strchr("\\`*_[]|~#!@", *s) ? "\\%c" : "%c", *s);
	}
	free(copy);
}

static void md_row(FILE *f, const char *name, uint64_t n)
{
	fprintf(f, "| %s | %llu |\n", name, (unsigned long long)n);
}

static void md_conditions(FILE *f, const struct gate *g)
{
	fputs("| condition | | |\n|---|---|---|\n", f);
	for (size_t i = 0; i < g->nconditions; i++) {
		const struct gate_condition *c = &g->conditions[i];

		fputs("| ", f);
		md_put(f, c->text);
		fputs(c->holds ? " | holds | " : " | **fails** | ", f);
		md_put(f, c->why);
		fputs(" |\n", f);
	}
	fputc('\n', f);
}

static void md_totals(FILE *f, struct json_object *done)
{
	struct json_object *total, *rows, *row;

	json_object_object_get_ex(done, "total", &total);
	rows = gate_list(total, "traffic");
	fputs("| | |\n|---|---:|\n", f);
	md_row(f, "processes", cli_json_u64(total, "processes"));
	md_row(f, "devices opened", cli_json_u64(total, "devices"));
	md_row(f, "QPs connected", cli_json_u64(total, "connections"));
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		fputs("| ", f);
		md_put(f, cli_json_string(row, "operation"));
		fputs(", ", f);
		md_put(f, cli_json_string(row, "link"));
		fprintf(f, " | %llu messages, %llu bytes |\n", (unsigned long long)cli_json_u64(row, "messages"),
			(unsigned long long)cli_json_u64(row, "bytes"));
	}
	md_row(f, "receives", cli_json_u64(total, "recvs"));
	md_row(f, "retries", cli_json_u64(total, "retries"));
	md_row(f, "RNR NAKs", cli_json_u64(total, "rnr"));
	md_row(f, "errors", cli_json_u64(total, "errors"));
	if (cli_json_u64(total, "findings"))
		md_row(f, "misuse", cli_json_u64(total, "findings"));
	md_row(f, "objects left", cli_json_u64(total, "leaked"));
	fputc('\n', f);
}

void summary_markdown(FILE *f, const struct gate *g)
{
	fputs("### ruse run", f);
	for (char **arg = g->argv; *arg; arg++) {
		fputc(' ', f);
		md_put(f, *arg);
	}
	fprintf(f, "\n\nExit status of the command: %d\n\n", g->status);
	if (g->nconditions)
		md_conditions(f, g);
	if (*g->incomplete) {
		md_put(f, g->incomplete);
		fputs("\n\n", f);
	}
	if (g->done)
		md_totals(f, g->done);
}
