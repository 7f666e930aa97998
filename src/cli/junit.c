/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A run as JUnit XML, which CI services read: a test case for the command, and one for each condition. */
#include "cli/gate.h"
#include "picture/picture.h"

static void junit_case(FILE *f, const char *name, bool holds, const char *type, const char *why)
{
	fputs("    <testcase classname=\"ruse\" name=\"", f);
	picture_text(f, name);
	if (holds) {
		fputs("\"/>\n", f);
		return;
	}
	fprintf(f, "\">\n      <failure type=\"%s\" message=\"", type);
	picture_text(f, why);
	fputs("\"/>\n    </testcase>\n", f);
}

void junit_print(FILE *f, const struct gate *g)
{
	bool found = g->check && (!g->done || gate_total(g, "findings"));
	size_t failed = (g->status != 0) + found, tests = g->nconditions + 1 + g->check;
	char status[32];

	for (size_t i = 0; i < g->nconditions; i++)
		failed += !g->conditions[i].holds;
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n"
		"  <testsuite name=\"ruse run", tests, failed);
	for (char **arg = g->argv; *arg; arg++) {
		fputc(' ', f);
		picture_text(f, *arg);
	}
	fprintf(f, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\">\n", tests, failed);
	snprintf(status, sizeof(status), "exit status %d", g->status);
	junit_case(f, "command", !g->status, "command", status);
	for (size_t i = 0; i < g->nconditions; i++) {
		const struct gate_condition *c = &g->conditions[i];

		junit_case(f, c->text, c->holds, "condition", c->why);
	}
	if (g->check) {
		snprintf(status, sizeof(status), "%llu errors", (unsigned long long)gate_total(g, "findings"));
		junit_case(f, "check", !found, "misuse", status);
	}
	fputs("  </testsuite>\n</testsuites>\n", f);
}
