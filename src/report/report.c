/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of a report's sections, and its first sentence. */
#include <string.h>

#include "base/util.h"
#include "report/page.h"
#include "report/report_parts.h"

static const struct report_part {
	const char *id, *title, *empty;
	size_t (*write)(FILE *f, const struct report *r);
	bool counts;		/* the result is shown beside the title */
} report_list[] = {
	{ "summary", "Summary", "nothing is known", report_summary, false },
	{ "failures", "Failures", "no failures", report_failures, true },
	{ "hangs", "Hangs", "nothing hangs", report_hangs, true },
	{ "ladder", "Ladder", "no packets", report_ladders, false },
	{ "timeline", "Timeline", "no process used RDMA", report_timeline, false },
	{ "fabric", "Fabric", "no fabric", report_fabric, false },
	{ "objects", "Objects left", "no objects left", report_objects, true },
	{ "log", "Log of rused", "no log", report_log, false },
};

static bool report_first(void *arg, struct json_object *p, struct json_object *failure)
{
	struct json_object **first = arg;

	(void)p;
	*first = failure;
	return false;
}

struct json_object *report_first_failure(const struct report *r)
{
	struct json_object *first = NULL;

	report_each_failure(r, &first, report_first);
	return first;
}

static bool report_any(void *arg, struct json_object *p, struct json_object *o)
{
	(void)arg;
	(void)p;
	(void)o;
	return true;
}

/* The first condition that does not hold; NULL: none. */
static struct json_object *report_broken(const struct report *r)
{
	struct json_object *conditions = page_list(r->run, "conditions"), *c;

	for (size_t i = 0; i < page_count(conditions); i++) {
		c = json_object_array_get_idx(conditions, i);
		if (!page_bool(c, "holds"))
			return c;
	}
	return NULL;
}

/* The first failure, unless the sentence of a condition, which is told, names it. */
static void report_put_first(FILE *f, const struct report *r, size_t failures, bool told)
{
	struct json_object *first = report_first_failure(r), *broken = report_broken(r);

	if (!first || (told && broken && strstr(page_string(broken, "text"), page_string(first, "id"))))
		return;
	page_put(f, " %zu failure%s%s: %s: %s.", failures, failures == 1 ? "" : "s",
		 failures == 1 ? " was seen" : " were seen, the first", page_string(first, "id"),
		 page_string(first, "text"));
}

static void report_put_condition(FILE *f, struct json_object *conditions)
{
	size_t failed = 0;

	for (size_t i = 0; i < page_count(conditions); i++) {
		struct json_object *c = json_object_array_get_idx(conditions, i);

		if (page_bool(c, "holds"))
			continue;
		if (!failed++)
			page_put(f, "Failed: the condition %s does not hold: %s.",
				 page_string(c, "condition"), page_string(c, "text"));
	}
	if (failed > 1)
		page_put(f, " %zu conditions fail.", failed);
}

static enum report_tone report_verdict_now(FILE *f, const struct report *r)
{
	size_t failures = report_each_failure(r, NULL, report_any);
	size_t waits = report_each_wait(r, NULL, report_any);
	size_t processes = page_count(page_list(r->status, "processes")), silent = report_silent(r);

	if (!page_bool(r->status, "running"))
		fputs("No rused is running here.", f);
	else
		page_put(f, "%zu process%s RDMA now.", processes, processes == 1 ? " uses" : "es use");
	if (waits || silent)
		page_put(f, " %zu wait%s and %zu process%s that do%s not answer.", waits, waits == 1 ? "" : "s", silent,
			 silent == 1 ? "" : "es", silent == 1 ? "es" : "");
	report_put_first(f, r, failures, false);
	return failures ? REPORT_BAD : silent ? REPORT_WARN : REPORT_GOOD;
}

enum report_tone report_verdict(FILE *f, const struct report *r)
{
	size_t failures = report_each_failure(r, NULL, report_any), n;
	struct json_object *conditions = page_list(r->run, "conditions"), *total = NULL;
	unsigned int status = (unsigned int)page_u64(r->run, "status");
	bool holds = !report_broken(r);
	uint64_t repeated;
	char time[32];

	if (!r->ran)
		return report_verdict_now(f, r);
	json_object_object_get_ex(r->run, "total", &total);
	repeated = page_u64(total, "retries") + page_u64(total, "rnr");
	if (r->timeout) {
		n = report_each_wait(r, NULL, report_any) + report_silent(r);
		page_put(f, "Failed: the command had not ended after %s and was ended (--timeout); ", page_time(r->timeout, time));
		if (n)
			page_put(f, "%zu thing%s hung: see Hangs.", n, n == 1 ? "" : "s");
		else
			fputs("nothing of RDMA hung.", f);
	} else if (status == 126 || status == 127) {
		page_put(f, "Failed: the command ended with status %u: a program was not found or cannot be executed.",
			 status);
	} else if (status > 128 && status < 128 + 65) {
		page_put(f, "Failed: the command ended with status %u: signal %u (%s).", status, status - 128,
			 strsignal((int)status - 128));
	} else if (status) {
		page_put(f, "Failed: the command ended with status %u.", status);
	} else if (!holds) {
		report_put_condition(f, conditions);
	} else if (page_count(conditions)) {
		page_put(f, "Passed: the command ended with status 0, and all conditions hold.");
	} else {
		fputs("Passed: the command ended with status 0.", f);
	}
	if (repeated)
		page_put(f, " Requests were repeated: %llu.", (unsigned long long)repeated);
	report_put_first(f, r, failures, !status && !r->timeout);
	return status || r->timeout || !holds ? REPORT_BAD :
	       failures || repeated	      ? REPORT_WARN :
						REPORT_GOOD;
}

static void report_put_nav(FILE *f)
{
	fputs("<nav>", f);
	for (size_t i = 0; i < ARRAY_SIZE(report_list); i++)
		fprintf(f, "<a href=\"#%s\">%s</a>\n", report_list[i].id, report_list[i].title);
	fputs("</nav>\n", f);
}

void report_write(FILE *f, const struct report *r)
{
	static const char *const tones[] = { "good", "bad", "warn" };
	struct page_section verdict = { .id = NULL };
	enum report_tone tone = REPORT_GOOD;
	struct page page;

	page_begin(&page, f, r->ran ? "ruse run: report" : "ruse: report");
	fprintf(f, "<h1>%s</h1>\n", r->ran ? "Report of ruse run" : "Report of what runs now");
	/* The class of the box depends on the sentence in it. */
	if (page_open(&verdict)) {
		tone = report_verdict(verdict.f, r);
		fclose(verdict.f);
		fprintf(f, "<p class=\"verdict %s\" id=\"verdict\">%s</p>\n", tones[tone], verdict.text ? verdict.text : "");
		free(verdict.text);
	}
	report_put_nav(f);
	for (size_t i = 0; i < ARRAY_SIZE(report_list); i++) {
		const struct report_part *part = &report_list[i];
		struct page_section s = {
			.id = part->id, .title = part->title, .empty = part->empty,
		};
		size_t n;

		if (!page_open(&s))
			continue;
		n = part->write(s.f, r);
		s.count = part->counts ? n : 0;
		page_close(&page, &s);
	}
	page_end(&page);
}
