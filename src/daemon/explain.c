/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/answer.h"
#include "daemon/clients.h"
#include "daemon/explain.h"
#include "ipc/why_log.h"

struct explain_ended {
	struct list_head node;
	pid_t pid;
	uint32_t proc;
	char comm[16];
	ns_t at;
	struct why_log log;
};

void explain_init(struct explain *e)
{
	list_init(&e->ended);
	e->nended = 0;
	e->own = NULL;
}

static void explain_forget(struct explain *e, struct explain_ended *ended)
{
	list_del(&ended->node);
	e->nended--;
	free(ended);
}

void explain_fini(struct explain *e)
{
	while (!list_empty(&e->ended))
		explain_forget(e, list_first_entry(&e->ended, struct explain_ended, node));
	free(e->own);
}

void explain_drop(struct explain *e, const struct why *why, ns_t now)
{
	const struct why_rec r = { .why = *why, .last = now };

	if (!e->own)
		e->own = calloc(1, sizeof(*e->own));
	if (e->own)
		why_log_put(e->own, &r);
}

/* Reads the log with pread() and does not map it: a missing page is then an error instead of a SIGBUS. */
static bool explain_read(const struct client *c, struct why_log *log)
{
	return c->page_fd >= 0 &&
	       pread(c->page_fd, log, sizeof(*log), (off_t)WHY_OFFSET) == (ssize_t)sizeof(*log);
}

static uint64_t explain_stored(const struct why_log *log)
{
	uint32_t head, pos = why_log_from(log, &head);

	return head - pos;
}

void explain_client_gone(struct explain *e, const struct client *c, ns_t now)
{
	struct explain_ended *ended = malloc(sizeof(*ended));

	if (!ended)
		return;
	if (!explain_read(c, &ended->log) || !ended->log.head) {
		free(ended);
		return;
	}
	ended->pid = c->pid;
	ended->proc = c->proc;
	ended->at = now;
	memcpy(ended->comm, c->comm, sizeof(ended->comm));
	list_add_tail(&ended->node, &e->ended);
	if (++e->nended > EXPLAIN_ENDED)
		explain_forget(e, list_first_entry(&e->ended, struct explain_ended, node));
}

uint64_t explain_count(const struct explain *e, const struct clients *cs)
{
	const struct explain_ended *ended;
	const struct client *c;
	struct why_log log;
	uint64_t n = e->own ? explain_stored(e->own) : 0;

	list_for_each_entry(ended, &e->ended, node)
		n += explain_stored(&ended->log);
	list_for_each_entry(c, &cs->list, node)
		if (explain_read(c, &log))
			n += explain_stored(&log);
	return n;
}

/* A program that writes a wrong time into its log gets a wrong time. */
static uint64_t explain_ago(ns_t now, ns_t then)
{
	return then < now ? now - then : 0;
}

static const char *const explain_kinds[WHY_KINDS] = {
	"responder", "requester", "flush", "drop", "event", "command", "cm", "mad",
	"wait",
};

static struct json_object *explain_failure(const struct why_rec *r, const struct host_page *page,
					   ns_t now)
{
	struct json_object *o = json_object_new_object(), *args = json_object_new_array();
	const struct why_row *row = why_row(r->why.id);
	char name[WHY_NAME_LEN], text[512];

	why_name(r->why.id, name);
	why_text(&r->why, text, sizeof(text));
	answer_str(o, "id", name);
	answer_str(o, "name", row ? row->name : "UNKNOWN");
	answer_str(o, "kind", row ? explain_kinds[row->kind] : "unknown");
	answer_str(o, "text", text);
	answer_u64(o, "count", r->count);
	answer_u64(o, "first_ns", explain_ago(now, r->first));
	answer_u64(o, "last_ns", explain_ago(now, r->last));
	if (r->whose == WHY_PEER)
		answer_str(o, "whose", "peer");
	if (r->dev)
		answer_str(o, "device", answer_device(page, r->dev));
	if (r->qpn)
		answer_u64(o, "qpn", r->qpn);
	if (r->peer_qpn)
		answer_u64(o, "peer_qpn", r->peer_qpn);
	if (r->status) {
		answer_u64(o, "wr_id", r->wr_id);
		answer_u64(o, "status", r->status);
	}
	if (r->event)
		answer_u64(o, "event", r->event - 1);
	if (*r->call)
		answer_str(o, "call", r->call);
	if (r->error)
		answer_u64(o, "errno", r->error);
	for (int i = 0; i < WHY_ARGS; i++)
		json_object_array_add(args, json_object_new_uint64(r->why.arg[i]));
	json_object_object_add(o, "args", args);
	return o;
}

static struct json_object *explain_process(const struct why_log *log, pid_t pid, const char *comm,
					   uint32_t proc, const struct host_page *page, ns_t now)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	uint32_t head, pos = why_log_from(log, &head);
	struct why_rec r;

	answer_u64(o, "pid", (uint64_t)pid);
	answer_str(o, "comm", comm);
	answer_u64(o, "proc", proc);
	for (; pos != head; pos++)
		if (why_log_get(log, pos, &r))
			json_object_array_add(a, explain_failure(&r, page, now));
	json_object_object_add(o, "failures", a);
	return o;
}

char *explain_text(const struct explain *e, const struct clients *cs, const struct host_page *page,
		   ns_t now)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array(), *p;
	struct why_log *log = malloc(sizeof(*log));
	const struct explain_ended *ended;
	const struct client *c;
	char *text;

	list_for_each_entry(ended, &e->ended, node) {
		p = explain_process(&ended->log, ended->pid, ended->comm, ended->proc, page, now);
		answer_u64(p, "ended_ns", explain_ago(now, ended->at));
		json_object_array_add(a, p);
	}
	list_for_each_entry(c, &cs->list, node) {
		if (!c->proc || !log || !explain_read(c, log))
			continue;
		p = explain_process(log, c->pid, c->comm, c->proc, page, now);
		json_object_object_add(p, "ended_ns", NULL);
		json_object_array_add(a, p);
	}
	if (e->own) {
		p = explain_process(e->own, getpid(), "rused", 0, page, now);
		json_object_object_add(p, "ended_ns", NULL);
		json_object_array_add(a, p);
	}
	free(log);
	json_object_object_add(o, "processes", a);
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}
