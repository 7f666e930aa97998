/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse run --summary: what a run has done, for people. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/gate.h"

#define RED "\033[31m"
#define GREEN "\033[32m"
#define BOLD "\033[1m"

typedef unsigned long long ull;

static void summary_title(FILE *f, const char *title)
{
	fprintf(f, "  %-12s ", title);
}

/* "1 device", "2 devices" */
static void summary_count(FILE *f, uint64_t n, const char *of, const char *after)
{
	fprintf(f, "%llu %s%s%s", (ull)n, of, n == 1 ? "" : "s", after);
}

/* Prints text in a colour; "": none. */
static void summary_in(FILE *f, const char *colour, const char *text)
{
	fprintf(f, "%s%s%s", colour, text, *colour ? "\033[0m" : "");
}

/* A line with a number that should be 0; in this colour if it is not. */
static void summary_bad(FILE *f, const char *title, uint64_t n, const char *red)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (ull)n);
	summary_title(f, title);
	summary_in(f, n ? red : "", text);
	fputc('\n', f);
}

static void summary_qps(FILE *f, struct json_object *total)
{
	struct json_object *qps;
	bool any = false;

	summary_title(f, "QPs");
	json_object_object_get_ex(total, "qps", &qps);
	json_object_object_foreach(qps, type, n) {
		if (!json_object_get_uint64(n))
			continue;
		fprintf(f, "%s%llu %s", any ? ", " : "", (ull)json_object_get_uint64(n), type);
		any = true;
	}
	fprintf(f, "%s; %llu connected\n", any ? "" : "0", (ull)cli_json_u64(total, "connections"));
}

static void summary_traffic(FILE *f, struct json_object *total)
{
	struct json_object *rows = gate_list(total, "traffic"), *row;

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		summary_title(f, i ? "" : "sent");
		fprintf(f, "%-6s ", cli_json_string(row, "operation"));
		summary_count(f, cli_json_u64(row, "messages"), "message", ", ");
		summary_count(f, cli_json_u64(row, "bytes"), "byte", ", ");
		fprintf(f, "%s\n", cli_json_string(row, "link"));
	}
	if (!json_object_array_length(rows)) {
		summary_title(f, "sent");
		fputs("0 messages\n", f);
	}
	summary_title(f, "received");
	summary_count(f, cli_json_u64(total, "recvs"), "message", ", ");
	summary_count(f, cli_json_u64(total, "recv_bytes"), "byte", ", ");
	summary_count(f, cli_json_u64(total, "packets_received"), "packet", "; executed for peers: ");
	summary_count(f, cli_json_u64(total, "served"), "request", "\n");
	summary_title(f, "repeated");
	summary_count(f, cli_json_u64(total, "retries"), "request", ", ");
	summary_count(f, cli_json_u64(total, "rnr"), "RNR NAK", "; applied: ");
	summary_count(f, cli_json_u64(total, "faults"), "fault", "\n");
}

static void summary_errors(FILE *f, struct json_object *done, struct json_object *total,
			   const char *red)
{
	struct json_object *errors = gate_list(done, "errors"), *e, *first;

	summary_bad(f, "errors", cli_json_u64(total, "errors"), red);
	for (size_t i = 0; i < json_object_array_length(errors); i++) {
		e = json_object_array_get_idx(errors, i);
		fprintf(f, "    %s, ", cli_json_string(e, "id"));
		summary_count(f, cli_json_u64(e, "count"), "time", ", first in ");
		gate_put_program(f, e);
		fprintf(f, ": %s\n", cli_json_string(e, "text"));
	}
	json_object_object_get_ex(done, "first", &first);
	if (!first)
		return;
	fputs("  the first failure, of ", f);
	gate_put_program(f, first);
	fputs(":\n", f);
	cli_print_failure(f, first);
}

/* What processes have left, and those that have not ended. */
static void summary_processes(FILE *f, struct json_object *done, struct json_object *total,
			      const char *red)
{
	struct json_object *ps = gate_list(done, "processes"), *p, *leaks;

	summary_bad(f, "objects left", cli_json_u64(total, "leaked"), red);
	for (size_t i = 0; i < json_object_array_length(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		leaks = gate_list(p, "leaks");
		for (size_t k = 0; k < json_object_array_length(leaks); k++) {
			fputs("    ", f);
			gate_put_program(f, p);
			fputs(": ", f);
			gate_put_leak(f, json_object_array_get_idx(leaks, k));
			fputc('\n', f);
		}
	}
	gate_put_running(f, done);
}

static void summary_verdicts(FILE *f, const struct gate *g, bool colour)
{
	for (size_t i = 0; i < g->nconditions; i++) {
		const struct gate_condition *c = &g->conditions[i];

		summary_title(f, i ? "" : "conditions");
		fprintf(f, "%s ", c->text);
		summary_in(f, !colour ? "" : c->holds ? GREEN : RED, c->holds ? "holds" : "fails");
		if (c->holds)	/* gate_run.c tells why another one fails */
			fprintf(f, ": %s", c->why ? c->why : "");
		fputc('\n', f);
	}
}

void summary_print(FILE *f, const struct gate *g, bool colour)
{
	struct json_object *total;
	const char *red = colour ? RED : "";

	summary_in(f, colour ? BOLD : "", "ruse run: summary");
	fputc('\n', f);
	if (*g->incomplete) {
		fputs("  ", f);
		summary_in(f, red, g->incomplete);
		fputc('\n', f);
	}
	if (g->done) {
		json_object_object_get_ex(g->done, "total", &total);
		summary_title(f, "processes");
		fprintf(f, "%llu; ", (ull)cli_json_u64(total, "processes"));
		summary_count(f, cli_json_u64(total, "devices"), "device", " opened\n");
		summary_qps(f, total);
		summary_traffic(f, total);
		summary_errors(f, g->done, total, red);
		summary_processes(f, g->done, total, red);
		if (g->check)
			summary_bad(f, "misuse", cli_json_u64(total, "findings"), red);
	}
	summary_verdicts(f, g, colour);
}
