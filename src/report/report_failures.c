/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What has failed, why, where and what to do; and what hangs. */
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"
#include "report/page.h"
#include "report/report_parts.h"
#include "why/why.h"

#define FAILURE_FRAMES 32	/* of a stack */

typedef unsigned long long ull;

/* A failure or a wait. */
struct failure_ref {
	struct json_object *p, *e;
	uint64_t age;
	size_t at;		/* its place in the answer */
};

static int failure_older(const void *a, const void *b)
{
	const struct failure_ref *x = a, *y = b;

	if (x->age != y->age)
		return x->age > y->age ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Puts the elements of a list of each process into refs, but not those with a member `but` that is true. Returns how many. */
static size_t failures_find(struct json_object *o, const char *list, const char *but,
			    struct failure_ref *refs)
{
	struct json_object *ps = page_list(o, "processes"), *p, *all, *e;
	size_t n = 0;

	for (size_t i = 0; i < page_count(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		all = page_list(p, list);
		for (size_t k = 0; k < page_count(all); k++) {
			e = json_object_array_get_idx(all, k);
			if (page_bool(e, but))
				continue;
			if (refs)
				refs[n] = (struct failure_ref){ p, e, page_u64(e, "first_ns"), n };
			n++;
		}
	}
	return n;
}

/* Calls fn for each, the oldest first. */
static size_t failures_each(struct json_object *o, const char *list, const char *but, void *arg,
			    report_fn fn)
{
	size_t n = failures_find(o, list, but, NULL);
	struct failure_ref *refs = n ? malloc(n * sizeof(*refs)) : NULL;

	if (!refs)
		return n;
	failures_find(o, list, but, refs);
	qsort(refs, n, sizeof(*refs), failure_older);
	for (size_t i = 0; i < n && fn(arg, refs[i].p, refs[i].e); i++)
		;
	free(refs);
	return n;
}

size_t report_each_failure(const struct report *r, void *arg, report_fn fn)
{
	return failures_each(r->failures, "failures", "orderly", arg, fn);
}

size_t report_each_wait(const struct report *r, void *arg, report_fn fn)
{
	return failures_each(r->stuck, "waits", "idle", arg, fn);
}

static bool failure_is_silent(struct json_object *p)
{
	return page_has(p, "answers") && !page_bool(p, "answers");
}

size_t report_silent(const struct report *r)
{
	struct json_object *ps = page_list(r->stuck, "processes");
	size_t n = 0;

	for (size_t i = 0; i < page_count(ps); i++)
		n += failure_is_silent(json_object_array_get_idx(ps, i));
	return n;
}

static void failure_put_stack(FILE *f, struct json_object *failure)
{
	struct json_object *stack = page_list(failure, "stack"), *frame;
	size_t n = page_count(stack);

	if (!n)
		return;
	fputs("<pre>", f);
	for (size_t i = 0; i < n && i < FAILURE_FRAMES; i++) {
		frame = json_object_array_get_idx(stack, i);
		page_put(f, "at %s", page_has(frame, "function") ? page_string(frame, "function") : "?");
		if (page_has(frame, "file"))
			page_put(f, " (%s:%llu)\n", page_string(frame, "file"), (ull)page_u64(frame, "line"));
		else
			page_put(f, " (%s+0x%llx)\n", page_string(frame, "module"), (ull)page_u64(frame, "offset"));
	}
	if (n > FAILURE_FRAMES)
		fprintf(f, "and %zu more\n", n - FAILURE_FRAMES);
	fputs("</pre>\n", f);
}

static void failure_put_rules(FILE *f, struct json_object *failure)
{
	struct json_object *rules = page_list(failure, "rules"), *rule;

	for (size_t i = 0; i < page_count(rules) && i < 16; i++) {
		rule = json_object_array_get_idx(rules, i);
		fputs("<p class=\"warn\">", f);
		page_put(f, "rule %llu of ruse fault on this host, %s", (ull)page_u64(rule, "id"),
			 page_string(rule, "rule"));
		if (page_u64(rule, "acted"))
			fprintf(f, ", has acted %llu times", (ull)page_u64(rule, "acted"));
		fputs(page_bool(rule, "deleted") ? "; it has been deleted since" : "", f);
		fputs("</p>\n", f);
	}
}

static void failure_put_line(FILE *f, const char *title, const char *text)
{
	if (!*text)
		return;
	fprintf(f, "<p><span class=\"dim\">%s:</span> ", title);
	page_text(f, text);
	fputs("</p>\n", f);
}

/* What the table of reasons says of an id. */
static void failure_put_reason(FILE *f, const char *id)
{
	const struct why_row *row = why_row(why_parse(id));

	if (!row)
		return;
	failure_put_line(f, "rule", row->means);
	failure_put_line(f, "usual mistake", row->mistake);
	failure_put_line(f, "remedy", row->remedy);
}

struct failure_list {
	FILE *f;
	const struct report *r;
	size_t n;
};

static void failure_put_when(FILE *f, const struct report *r, struct json_object *failure)
{
	uint64_t ago = page_u64(failure, "first_ns"), count = page_u64(failure, "count");
	uint64_t at = r->failures_at > ago ? r->failures_at - ago : 0;
	char clock[32], span[32];

	if (!at)
		return;
	fputs("<p class=\"dim\">", f);
	page_put(f, "at %s", page_clock(at, clock));
	if (r->ran && at >= r->begin)
		page_put(f, ", %s after the begin", page_time(at - r->begin, span));
	if (count > 1)
		page_put(f, "; %llu times within %s", (ull)count, page_time(ago - page_u64(failure, "last_ns"), span));
	fputs("</p>\n", f);
}

static bool failure_put(void *arg, struct json_object *p, struct json_object *failure)
{
	struct failure_list *l = arg;
	FILE *f = l->f;

	if (l->n++ == REPORT_FAILURES)
		return false;
	fputs("<div class=\"item\">\n<h3>", f);
	page_put(f, "%s %s", page_string(failure, "id"), page_string(failure, "name"));
	fputs("</h3>\n<p>", f);
	page_put(f, "%s (pid %llu)", page_string(p, "comm"), (ull)page_u64(p, "pid"));
	if (page_has(failure, "what"))
		page_put(f, ": %s", page_string(failure, "what"));
	fputs("</p>\n<p><strong>", f);
	page_text(f, page_string(failure, "text"));
	fputs("</strong></p>\n", f);
	if (page_has(failure, "whose")) {
		fputs("<p>", f);
		page_put(f, "found by the peer, QP 0x%06llx", (ull)page_u64(failure, "peer_qpn"));
		fputs("</p>\n", f);
	}
	failure_put_rules(f, failure);
	failure_put_reason(f, page_string(failure, "id"));
	failure_put_stack(f, failure);
	failure_put_when(f, l->r, failure);
	fputs("</div>\n", f);
	return true;
}

static void failures_put_more(FILE *f, size_t n)
{
	if (n > REPORT_FAILURES)
		fprintf(f, "<p class=\"dim\">and %zu more</p>\n", n - REPORT_FAILURES);
}

size_t report_failures(FILE *f, const struct report *r)
{
	struct failure_list l = { f, r, 0 };
	size_t n = report_each_failure(r, &l, failure_put);

	failures_put_more(f, n);
	return n;
}

/* What waits: a QP, a thread, an id of rdma_cm, an event channel or a MAD. */
static void failure_put_waiting(FILE *f, struct json_object *w)
{
	char span[32];

	if (page_has(w, "qpn"))
		page_put(f, "%s QP 0x%06llx %s", page_string(w, "device"), (ull)page_u64(w, "qpn"), page_string(w, "part"));
	else if (page_has(w, "thread"))
		page_put(f, "thread %llu", (ull)page_u64(w, "thread"));
	else if (page_has(w, "cm_id"))
		page_put(f, "rdma_cm id %llu", (ull)page_u64(w, "cm_id"));
	else
		page_put(f, "%s %s", page_string(w, "device"), page_string(w, "part"));
	if (page_has(w, "wr_id"))
		page_put(f, ", work request %llu", (ull)page_u64(w, "wr_id"));
	page_put(f, ", waits for %s or longer", page_time(page_u64(w, "waited_ns"), span));
}

static bool failure_put_wait(void *arg, struct json_object *p, struct json_object *w)
{
	struct failure_list *l = arg;
	struct json_object *beside = page_list(w, "failures"), *e;
	FILE *f = l->f;

	if (l->n++ == REPORT_FAILURES)
		return false;
	fputs("<div class=\"item warn\">\n<h3>", f);
	page_put(f, "%s %s", page_string(w, "id"), page_string(w, "name"));
	fputs("</h3>\n<p>", f);
	page_put(f, "%s (pid %llu): ", page_string(p, "comm"), (ull)page_u64(p, "pid"));
	failure_put_waiting(f, w);
	fputs("</p>\n<p><strong>", f);
	page_text(f, page_string(w, "text"));
	fputs("</strong></p>\n", f);
	failure_put_line(f, "remedy", page_string(w, "remedy"));
	for (size_t i = 0; i < page_count(beside) && i < 16; i++) {
		e = json_object_array_get_idx(beside, i);
		fputs("<p class=\"bad\">", f);
		page_put(f, "QP 0x%06llx of pid %llu: %s: %s", (ull)page_u64(e, "qpn"), (ull)page_u64(e, "pid"),
			 page_string(e, "id"), page_string(e, "text"));
		fputs("</p>\n", f);
	}
	fputs("</div>\n", f);
	return true;
}

static const char *failure_state(char letter)
{
	switch (letter) {
	case 'T':
		return "it is stopped by a signal";
	case 't':
		return "it is stopped by a debugger or tracer";
	case 'D':
		return "it is in an uninterruptible wait in the kernel";
	case 'Z':
	case 'X':
		return "it has ended";
	default:
		return "its progress thread does not run";
	}
}

size_t report_hangs(FILE *f, const struct report *r)
{
	struct json_object *ps = page_list(r->stuck, "processes"), *p;
	struct failure_list l = { f, r, 0 };
	size_t silent = report_silent(r), n;

	for (size_t i = 0, shown = 0; i < page_count(ps) && shown < REPORT_FAILURES; i++) {
		p = json_object_array_get_idx(ps, i);
		if (!failure_is_silent(p))
			continue;
		shown++;
		fputs("<div class=\"item warn\"><p>", f);
		page_put(f, "%s (pid %llu) does not answer: %s", page_string(p, "comm"), (ull)page_u64(p, "pid"),
			 failure_state(*page_string(p, "state")));
		fputs("</p></div>\n", f);
	}
	failures_put_more(f, silent);
	n = report_each_wait(r, &l, failure_put_wait);
	failures_put_more(f, n);
	return n + silent;
}
