/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sections with drawings, and those that are lists. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"
#include "report/fabric.h"
#include "report/page.h"
#include "report/report_parts.h"
#include "report/rings.h"
#include "report/timeline.h"

#define LISTS_MARKS 256		/* failures in the timeline */

typedef unsigned long long ull;

struct lists_marks {
	const struct report *r;
	struct timeline_mark mark[LISTS_MARKS];
	size_t n;
};

static bool lists_mark(void *arg, struct json_object *p, struct json_object *failure)
{
	struct lists_marks *m = arg;
	uint64_t ago = page_u64(failure, "first_ns");

	m->mark[m->n++] = (struct timeline_mark){
		.pid = (int)page_u64(p, "pid"),
		.ns = m->r->failures_at > ago ? m->r->failures_at - ago : 0,
		.text = page_string(failure, "text"),
	};
	return m->n < LISTS_MARKS;
}

/* When the process was first seen, and by when it had ended. */
static void lists_span(FILE *f, const struct report *r, const struct timeline_track *k)
{
	const struct timeline *t = r->timeline;
	size_t first = 0, end = 0;
	char buf[32];

	while (first + 1 < t->samples && !k->points[first].there)
		first++;
	for (end = first; end < t->samples && k->points[end].there && k->points[end].running; end++)
		;
	page_cell(f, "%s", page_time(t->ns[first] > r->begin ? t->ns[first] - r->begin : 0, buf));
	if (end < t->samples)
		page_cell(f, "%s", page_time(t->ns[end] > r->begin ? t->ns[end] - r->begin : 0, buf));
	else
		page_cell(f, "runs");
}

/* The longest time in which nothing moved. */
static uint64_t lists_stall(const struct timeline *t, const struct timeline_track *k)
{
	uint64_t longest = 0, ns;
	size_t to;

	for (size_t i = 0; i<t->samples; i = to> i ? to : i + 1) {
		if (!timeline_stalls(t, k, i, &to))
			continue;
		ns = t->ns[to] - t->ns[i];
		longest = longest > ns ? longest : ns;
	}
	return longest;
}

static void lists_tracks(FILE *f, const struct report *r)
{
	static const char *const titles[] = { "process", "pid", "first seen at", "ended by",
					      "connections", "bytes", "repeated", "faults", "errors",
					      "longest stall", NULL };
	const struct timeline *t = r->timeline;
	char buf[32];

	page_table(f, titles);
	for (size_t i = 0; i < t->tracks; i++) {
		const struct timeline_track *k = &t->track[i];
		const struct timeline_point *last = &k->points[0];
		uint64_t stall = lists_stall(t, k);

		for (size_t n = 0; n < t->samples; n++)
			if (k->points[n].there)
				last = &k->points[n];
		page_row(f);
		page_cell(f, "%s", k->comm);
		page_cell(f, "%d", k->pid);
		lists_span(f, r, k);
		page_cell(f, "%u", last->connections);
		page_cell(f, "%s", page_bytes(last->bytes, buf));
		page_cell(f, "%u", last->retries);
		page_cell(f, "%u", last->faults);
		page_cell(f, "%u", last->errors);
		page_cell(f, "%s", stall ? page_time(stall, buf) : "none");
		fputs("</tr>\n", f);
	}
	page_table_end(f, t->untracked);
}

size_t report_timeline(FILE *f, const struct report *r)
{
	struct lists_marks *m = calloc(1, sizeof(*m));

	if (m && r->timeline && r->timeline->tracks) {
		m->r = r;
		report_each_failure(r, m, lists_mark);
		fputs("<p class=\"dim\">A line for each process. ", f);
		fputs(r->ran ? "<span class=\"good\">Green</span>: a QP is connected; <span class=\"bad\">red</span>: a QP has "
			       "failed; <span class=\"warn\">yellow</span>: nothing has moved for a second or longer; grey: no QP "
			       "is connected. Circles are failures, triangles faults, ticks repeated requests. " :
			       "Circles are failures. ", f);
		fputs("Bytes are those of all processes, sent and received.</p>\n<div class=\"box timeline\">\n", f);
		timeline_draw(f, r->timeline, m->mark, m->n, r->begin, r->end);
		fputs("</div>\n", f);
		lists_tracks(f, r);
	}
	free(m);
	return r->timeline ? r->timeline->tracks : 0;
}

/* The host of a fabric that has a GID: its ports have the GUIDs after that of the node. NULL: none. */
static const char *lists_host(struct json_object *fabric, const uint8_t *gid)
{
	struct json_object *nodes = page_list(fabric, "nodes"), *node;
	uint64_t port = 0, guid;

	for (int i = 8; gid && i < 16; i++)
		port = port << 8 | gid[i];
	for (size_t i = 0; port && i < page_count(nodes); i++) {
		node = json_object_array_get_idx(nodes, i);
		guid = strtoull(page_string(node, "guid"), NULL, 16);
		if (strcmp(page_string(node, "type"), "switch") && port >= guid &&
		    port - guid <= page_u64(node, "ports"))
			return page_string(node, "name");
	}
	return NULL;
}

struct lists_path {
	const struct report *r;
	const char *from, *to;
};

/* The ends of a connection, if both have sent. */
static bool lists_ends(void *arg, struct json_object *p, struct json_object *o)
{
	struct lists_path *path = arg;
	const struct rings *rings = path->r->rings;
	uint32_t qpn = (uint32_t)page_u64(o, "qpn"), peer = (uint32_t)page_u64(o, "peer_qpn");
	const struct ring *ring = rings ? rings_find(rings, qpn) : NULL;

	(void)p;
	if (!ring || !peer)
		return true;
	path->from = lists_host(path->r->fabric, ring_gid(ring, qpn));
	path->to = lists_host(path->r->fabric, ring_gid(ring, peer));
	return !path->from || !path->to;
}

/* The path of the first failure or wait of a connection whose ends are known. */
static struct lists_path lists_path(const struct report *r)
{
	struct lists_path path = { .r = r };

	report_each_failure(r, &path, lists_ends);
	if (!path.from || !path.to)
		report_each_wait(r, &path, lists_ends);
	return path;
}

/* Draws with the path, if both of its ends are known. 0 or as of fabric_draw(). *drawn: there is a drawing. */
static int lists_draw(FILE *f, struct json_object *fabric, const struct lists_path *path,
		      bool *drawn)
{
	struct fabric_drawing how = {
		.from = path ? path->from : NULL, .to = path ? path->to : NULL, .load = true,
	};
	struct page_section s = { .id = NULL };
	int rc;

	if (!page_open(&s))
		return -ENOMEM;
	rc = fabric_draw(s.f, fabric, &how);
	*drawn = !fclose(s.f) && s.size;
	if (*drawn)
		fprintf(f, "<div class=\"box\">\n%s</div>\n", s.text);
	free(s.text);
	return rc;
}

bool report_path(const struct report *r, const char **from, const char **to)
{
	struct lists_path path = lists_path(r);

	*from = path.from;
	*to = path.to;
	return path.from && path.to;
}

size_t report_fabric(FILE *f, const struct report *r)
{
	struct lists_path path;
	bool has, drawn = false;
	int rc;

	if (!r->fabric)
		return 0;
	path = lists_path(r);
	has = path.from && path.to;
	rc = lists_draw(f, r->fabric, has ? &path : NULL, &drawn);
	if (has) {
		fprintf(f, "<p%s>", rc ? " class=\"bad\"" : "");
		if (!rc)
			page_put(f, "The path from %s to %s is marked.", path.from, path.to);
		else if (rc == -EHOSTUNREACH)
			page_put(f, "The forwarding tables have no path from %s to %s.", path.from, path.to);
		else
			page_put(f, "The path from %s to %s cannot be drawn: %s.", path.from, path.to, strerror(-rc));
		fputs("</p>\n", f);
		if (!drawn)
			rc = lists_draw(f, r->fabric, NULL, &drawn);
	}
	if (!drawn) {
		fputs("<p class=\"bad\">", f);
		page_put(f, "The fabric cannot be drawn: %s.", strerror(-rc));
		fputs("</p>\n", f);
	}
	return 1;
}

/* What a run's processes have left when they ended. */
static size_t lists_leaks(FILE *f, const struct report *r)
{
	static const char *const titles[] = { "process", "pid", "object", "number", "", NULL };
	struct json_object *ps = page_list(r->run, "processes"), *p, *leaks, *e;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < page_count(ps); i++)
		all += page_u64(json_object_array_get_idx(ps, i), "leaked");
	if (!all)
		return 0;
	page_table(f, titles);
	for (size_t i = 0; i < page_count(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		leaks = page_list(p, "leaks");
		for (size_t k = 0; k < page_count(leaks) && n < PAGE_ROWS; k++, n++) {
			e = json_object_array_get_idx(leaks, k);
			page_row(f);
			page_cell(f, "%s", page_string(p, "comm"));
			page_cell(f, "%llu", (ull)page_u64(p, "pid"));
			page_cell(f, "%s", page_string(e, "object"));
			if (page_u64(e, "number"))
				page_cell(f, "0x%06llx", (ull)page_u64(e, "number"));
			else
				page_cell(f, " ");
			if (page_has(e, "bytes"))
				page_cell(f, "%llu bytes", (ull)page_u64(e, "bytes"));
			else
				page_cell(f, "%s %s", page_string(e, "type"), page_string(e, "state"));
			fputs("</tr>\n", f);
		}
	}
	page_table_end(f, all - n);
	return all;
}

/* What exists now. */
static size_t lists_contexts(FILE *f, const struct report *r)
{
	static const char *const titles[] = { "process", "pid", "device", "PDs", "MRs", "CQs", "QPs", NULL };
	struct json_object *ps = page_list(r->status, "processes"), *p, *contexts, *c;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < page_count(ps); i++)
		all += page_count(page_list(json_object_array_get_idx(ps, i), "contexts"));
	if (!all)
		return 0;
	page_table(f, titles);
	for (size_t i = 0; i < page_count(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		contexts = page_list(p, "contexts");
		for (size_t k = 0; k < page_count(contexts) && n < PAGE_ROWS; k++, n++) {
			c = json_object_array_get_idx(contexts, k);
			page_row(f);
			page_cell(f, "%s", page_string(p, "comm"));
			page_cell(f, "%llu", (ull)page_u64(p, "pid"));
			page_cell(f, "%s", page_string(c, "device"));
			page_cell(f, "%llu", (ull)page_u64(c, "pd"));
			page_cell(f, "%llu", (ull)page_u64(c, "mr"));
			page_cell(f, "%llu", (ull)page_u64(c, "cq"));
			page_cell(f, "%llu", (ull)page_u64(c, "qp"));
			fputs("</tr>\n", f);
		}
	}
	page_table_end(f, all - n);
	return all;
}

size_t report_objects(FILE *f, const struct report *r)
{
	return r->ran ? lists_leaks(f, r) : lists_contexts(f, r);
}

size_t report_log(FILE *f, const struct report *r)
{
	const char *line, *end;

	if (!r->log || !*r->log)
		return 0;
	fputs("<p class=\"dim\">The last lines of ", f);
	page_text(f, r->log_name);
	fputs(".</p>\n<pre>", f);
	for (line = r->log; *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		page_put(f, "%.*s", (int)(end - line < PAGE_TEXT ? end - line : PAGE_TEXT), line);
		fputc('\n', f);
	}
	fputs("</pre>\n", f);
	return 1;
}
