/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was run, where, and what it has done by RDMA. */
#include <string.h>

#include "picture/picture.h"
#include "report/page.h"
#include "report/report_parts.h"

typedef unsigned long long ull;

/* A word as a shell takes it. */
static void report_put_word(FILE *f, const char *word)
{
	bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%")];

	fputs(plain ? "" : "&#39;", f);
	for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1)
		page_put(f, "%.*s'\\''", (int)(quote - word), word);
	page_text(f, word);
	fputs(plain ? "" : "&#39;", f);
}

static void report_put_command(FILE *f, const struct report *r)
{
	struct json_object *command = page_list(r->run, "command");
	const size_t shown = 200;
	size_t n = page_count(command);

	if (!n)
		return;
	fputs("<tr><th>command</th><td><code>", f);
	for (size_t i = 0; i < n && i < shown; i++) {
		fputs(i ? " " : "", f);
		report_put_word(f, json_object_get_string(json_object_array_get_idx(command, i)));
	}
	if (n > shown)
		fprintf(f, " and %zu more", n - shown);
	fputs("</code></td></tr>\n", f);
}

static void report_put_day(FILE *f, const struct report *r)
{
	char clock[32], span[32];

	if (!r->begin)
		return;
	if (r->ran)
		page_pair(f, "time", "%s, for %s", page_day(r->begin, clock), page_time(r->end - r->begin, span));
	else
		page_pair(f, "time", "%s", page_day(r->begin, clock));
}

static void report_put_rules(FILE *f, const struct report *r)
{
	struct json_object *rules = page_list(r->rules, "rules"), *rule;
	const size_t shown = 64;

	if (!page_count(rules))
		return;
	fputs("<tr><th>faults</th><td>", f);
	for (size_t i = 0; i < page_count(rules) && i < shown; i++) {
		rule = json_object_array_get_idx(rules, i);
		page_put(f, "%s (acted on %llu of %llu packets)", page_string(rule, "rule"), (ull)page_u64(rule, "acted"),
			 (ull)page_u64(rule, "matched"));
		fputs("<br>", f);
	}
	if (page_count(rules) > shown)
		fprintf(f, "and %zu more<br>", page_count(rules) - shown);
	page_put(f, "seed %llu", (ull)page_u64(r->rules, "seed"));
	fputs("</td></tr>\n", f);
}

static void report_put_conditions(FILE *f, const struct report *r)
{
	static const char *const titles[] = { "condition", "", "what was found", NULL };
	struct json_object *conditions = page_list(r->run, "conditions"), *c;

	if (!page_count(conditions))
		return;
	page_table(f, titles);
	for (size_t i = 0; i < page_count(conditions); i++) {
		c = json_object_array_get_idx(conditions, i);
		page_row(f);
		page_cell(f, "%s", page_string(c, "condition"));
		fprintf(f, "<td class=\"%s\">%s</td>", page_bool(c, "holds") ? "good" : "bad",
			page_bool(c, "holds") ? "holds" : "fails");
		page_cell(f, "%s", page_string(c, "text"));
		fputs("</tr>\n", f);
	}
	page_table_end(f, 0);
}

/* What `ruse run --shake` has decided. */
static void report_put_decisions(FILE *f, const struct report *r)
{
	static const char *const titles[] = { "decision", "what it was", "at", NULL };
	struct json_object *decisions = page_list(r->run, "decisions"), *d;
	size_t n = page_count(decisions), left = n > PAGE_ROWS ? n - PAGE_ROWS : 0;

	if (!n)
		return;
	page_table(f, titles);
	for (size_t i = 0; i < n - left; i++) {
		d = json_object_array_get_idx(decisions, i);
		page_row(f);
		page_cell(f, "%s", page_string(d, "id"));
		page_cell(f, "%s", page_string(d, "text"));
		page_cell(f, "%s, process %llu", page_string(d, "point"), (ull)page_u64(d, "pid"));
		fputs("</tr>\n", f);
	}
	page_table_end(f, left);
}

static void report_put_traffic(FILE *f, struct json_object *total)
{
	static const char *const titles[] = { "operation", "messages", "bytes", "by", NULL };
	struct json_object *rows = page_list(total, "traffic"), *row;

	if (!page_count(rows))
		return;
	page_table(f, titles);
	for (size_t i = 0; i < page_count(rows) && i < PAGE_ROWS; i++) {
		row = json_object_array_get_idx(rows, i);
		page_row(f);
		page_cell(f, "%s", page_string(row, "operation"));
		page_cell(f, "%llu", (ull)page_u64(row, "messages"));
		page_cell(f, "%llu", (ull)page_u64(row, "bytes"));
		page_cell(f, "%s", page_string(row, "link"));
		fputs("</tr>\n", f);
	}
	page_table_end(f, 0);
}

static void report_put_total(FILE *f, struct json_object *total)
{
	struct json_object *qps;
	char a[48], b[48], c[48], bytes[32];

	page_pair(f, "processes", "%llu; %s opened", (ull)page_u64(total, "processes"),
		  page_number(page_u64(total, "devices"), "device", a));
	json_object_object_get_ex(total, "qps", &qps);
	page_pair(f, "QPs", "%llu RC, %llu UC, %llu UD; %llu connected", (ull)page_u64(qps, "RC"), (ull)page_u64(qps, "UC"),
		  (ull)page_u64(qps, "UD"), (ull)page_u64(total, "connections"));
	page_pair(f, "received", "%s, %s, %s; executed for peers: %s", page_number(page_u64(total, "recvs"), "message", a),
		  page_bytes(page_u64(total, "recv_bytes"), bytes), page_number(page_u64(total, "packets_received"), "packet", b),
		  page_number(page_u64(total, "served"), "request", c));
	page_pair(f, "repeated", "%s, %s; applied: %s", page_number(page_u64(total, "retries"), "request", a),
		  page_number(page_u64(total, "rnr"), "RNR NAK", b), page_number(page_u64(total, "faults"), "fault", c));
	page_pair(f, "errors", "%llu", (ull)page_u64(total, "errors"));
}

size_t report_summary(FILE *f, const struct report *r)
{
	struct json_object *total = NULL;

	page_pairs(f);
	report_put_command(f, r);
	if (r->ran)
		page_pair(f, "exit status", "%llu", (ull)page_u64(r->run, "status"));
	report_put_day(f, r);
	page_pair(f, "ruse", "%s", r->version);
	for (size_t i = 0; i < sizeof(r->machine) / sizeof(r->machine[0]) && r->machine[i][0]; i++)
		page_pair(f, r->machine[i][0], "%s", r->machine[i][1]);
	report_put_rules(f, r);
	if (json_object_object_get_ex(r->run, "seed", NULL))
		page_pair(f, "shake", "seed %llu", (ull)page_u64(r->run, "seed"));
	if (*page_string(r->run, "incomplete"))
		page_pair(f, "incomplete", "%s", page_string(r->run, "incomplete"));
	if (json_object_object_get_ex(r->run, "total", &total))
		report_put_total(f, total);
	page_table_end(f, 0);
	report_put_conditions(f, r);
	report_put_decisions(f, r);
	report_put_traffic(f, total);
	return 1;
}
