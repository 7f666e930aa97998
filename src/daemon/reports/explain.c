/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/reports/answer.h"
#include "daemon/reports/blame.h"
#include "daemon/reports/evidence.h"
#include "daemon/reports/explain.h"
#include "daemon/reports/res.h"
#include "daemon/state/process.h"
#include "ipc/ipc.h"

#define EXPLAIN_NEW IPC_FAILURES_NAME ".new"	/* while it is written */

struct explain_ended {
	struct list_head node;
	struct explain_program p;
	struct why_log log;
};

void explain_init(struct explain *e)
{
	list_init(&e->ended);
	e->nended = 0;
	e->own = NULL;
	e->newest = (struct explain_program){ 0 };
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

static uint64_t explain_stored(const struct why_log *log)
{
	uint32_t head, pos = why_log_from(log, &head);

	return head - pos;
}

static struct explain_program explain_running(const struct process *pr)
{
	struct explain_program p = { .pid = pr->pid, .proc = pr->proc, .since = pr->since };

	memcpy(p.comm, pr->comm, sizeof(p.comm));
	return p;
}

void explain_process_gone(struct explain *e, const struct process *pr, ns_t now)
{
	struct explain_program p = explain_running(pr);
	struct explain_ended *ended;

	p.at = now;
	if (p.proc && (!e->newest.proc || p.since >= e->newest.since))
		e->newest = p;
	ended = malloc(sizeof(*ended));
	if (!ended)
		return;
	if (!evidence_log(pr->page_fd, &ended->log) || !ended->log.head) {
		free(ended);
		return;
	}
	ended->p = p;
	list_add_tail(&ended->node, &e->ended);
	if (++e->nended > EXPLAIN_ENDED)
		explain_forget(e, list_first_entry(&e->ended, struct explain_ended, node));
}

/* The failures in a log, without what is none. */
static uint64_t explain_failures(const struct why_log *log)
{
	uint32_t head, pos = why_log_from(log, &head);
	struct why_rec r;
	uint64_t n = 0;

	for (; pos != head; pos++)
		n += why_log_get(log, pos, &r) && !why_orderly(&r);
	return n;
}

/* The sum of what `count` says of each log. */
static uint64_t explain_sum(const struct explain *e, const struct processes *ps,
			    uint64_t (*count)(const struct why_log *))
{
	const struct explain_ended *ended;
	const struct process *pr;
	struct why_log log;
	uint64_t n = e->own ? count(e->own) : 0;

	list_for_each_entry(ended, &e->ended, node)
		n += count(&ended->log);
	list_for_each_entry(pr, &ps->list, node)
		if (evidence_log(pr->page_fd, &log))
			n += count(&log);
	return n;
}

uint64_t explain_count(const struct explain *e, const struct processes *ps)
{
	return explain_sum(e, ps, explain_failures);
}

/* A program that writes a wrong time into its log gets a wrong time. */
static uint64_t explain_ago(ns_t now, ns_t then)
{
	return then < now ? now - then : 0;
}

static const char *const explain_kinds[WHY_KINDS] = {
	"responder", "requester", "flush", "drop", "event", "command", "cm", "mad",
	"check", "hint", "shake", "wait",
};

/* A frame of a Python program: three words between tabs. NULL: it is another line. */
static struct json_object *explain_python_frame(char *line)
{
	char *number = *line == '\t' ? strchr(line + 1, '\t') : NULL;
	char *function = number ? strchr(number + 1, '\t') : NULL;
	struct json_object *frame = function ? json_object_new_object() : NULL;

	if (!frame)
		return NULL;
	*number = *function = '\0';
	answer_str(frame, "function", function + 1);
	answer_str(frame, "file", line + 1);
	answer_u64(frame, "line", strtoull(number + 1, NULL, 10));
	return frame;
}

/* A frame of a file. NULL: it is another line. */
static struct json_object *explain_file_frame(char *line)
{
	char *space = *line == '\t' ? NULL : strrchr(line, ' ');
	struct json_object *frame = space ? json_object_new_object() : NULL;

	if (!frame)
		return NULL;
	*space = '\0';
	answer_str(frame, "module", line);
	answer_u64(frame, "offset", strtoull(space + 1, NULL, 16));
	return frame;
}

/* The stack of the call, if the program runs with RUSE_EXPLAIN=1. It is text of the program: only whole lines are used. */
static void explain_put_stack(struct json_object *o, const struct why_log *log,
			      const struct why_rec *r)
{
	char text[WHY_STACK_SIZE], *line = text, *end;
	struct json_object *stack, *frame;

	if (!why_log_get_stack(log, r, text))
		return;
	stack = json_object_new_array();
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		frame = explain_python_frame(line) ?: explain_file_frame(line);
		if (frame)
			json_object_array_add(stack, frame);
	}
	json_object_object_add(o, "stack", stack);
}

struct json_object *explain_failure(const struct why_log *log, const struct why_rec *r,
				    const struct host_page *page, const struct blame *blame,
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
	json_object_object_add(o, "orderly", json_object_new_boolean(why_orderly(r)));
	if (r->whose == WHY_PEER)
		answer_str(o, "whose", "peer");
	if (r->dev)
		answer_str(o, "device", answer_device(page, r->dev));
	if (r->qpn)
		answer_u64(o, "qpn", r->qpn);
	if (r->peer_qpn)
		answer_u64(o, "peer_qpn", r->peer_qpn);
	if (r->status || (row && (row->kind == WHY_KIND_CHECK || row->kind == WHY_KIND_HINT)))
		answer_u64(o, "wr_id", r->wr_id);
	if (r->status)
		answer_u64(o, "status", r->status);
	if (r->event)
		answer_u64(o, "event", r->event - 1);
	if (*r->call)
		answer_str(o, "call", r->call);
	if (r->error)
		answer_u64(o, "errno", r->error);
	for (int i = 0; i < WHY_ARGS; i++)
		json_object_array_add(args, json_object_new_uint64(r->why.arg[i]));
	json_object_object_add(o, "args", args);
	if (blame)
		blame_put(blame, o, r, now);
	explain_put_stack(o, log, r);
	return o;
}

static void explain_put_program(struct json_object *o, const struct explain_program *p, ns_t now)
{
	answer_u64(o, "pid", (uint64_t)p->pid);
	answer_str(o, "comm", p->comm);
	answer_u64(o, "proc", p->proc);
	if (p->proc)
		answer_u64(o, "since_ns", explain_ago(now, p->since));
	if (p->at)
		answer_u64(o, "ended_ns", explain_ago(now, p->at));
	else
		json_object_object_add(o, "ended_ns", NULL);
}

/* A decision of `ruse run --shake` is no failure; runs.c lists it. */
static bool explain_shaken(const struct why_rec *r)
{
	return r->why.id >= WHY_SHAKE_FIRST && r->why.id <= WHY_SHAKE_LAST;
}

static struct json_object *explain_process(const struct why_log *log,
					   const struct explain_program *p,
					   const struct host_page *page, const struct blame *blame,
					   ns_t now)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	uint32_t head, pos = why_log_from(log, &head);
	struct why_rec r;

	explain_put_program(o, p, now);
	for (; pos != head; pos++)
		if (why_log_get(log, pos, &r) && !explain_shaken(&r))
			json_object_array_add(a, explain_failure(log, &r, page, blame, now));
	json_object_object_add(o, "failures", a);
	return o;
}

/* The process that was the last to connect, running or not; NULL: none. */
static struct json_object *explain_newest(const struct explain *e, const struct processes *ps,
					  ns_t now)
{
	struct explain_program p = e->newest;
	const struct process *pr;
	struct json_object *o;

	list_for_each_entry(pr, &ps->list, node)
		if (pr->proc && (!p.proc || pr->since >= p.since))
			p = explain_running(pr);
	if (!p.proc)
		return NULL;
	o = json_object_new_object();
	explain_put_program(o, &p, now);
	return o;
}

static bool explain_knows(const struct explain *e, const struct processes *ps, uint64_t number)
{
	const struct process *pr;

	if (e->newest.proc && (uint64_t)e->newest.pid == number)
		return true;
	list_for_each_entry(pr, &ps->list, node)
		if (pr->proc && ((uint64_t)pr->pid == number || res_has_qp(pr, number)))
			return true;
	return false;
}

char *explain_text(const struct explain *e, const struct processes *ps,
		   const struct host_page *page, uint64_t number, ns_t now)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	struct why_log *log = malloc(sizeof(*log));
	const struct explain_ended *ended;
	struct explain_program p;
	const struct process *pr;
	char *text;

	if (e->blame)
		blame_look(e->blame, ps);
	list_for_each_entry(ended, &e->ended, node)
		json_object_array_add(a, explain_process(&ended->log, &ended->p, page, e->blame,
							 now));
	list_for_each_entry(pr, &ps->list, node) {
		if (!pr->proc || !log || !evidence_log(pr->page_fd, log))
			continue;
		p = explain_running(pr);
		json_object_array_add(a, explain_process(log, &p, page, e->blame, now));
	}
	if (e->own) {
		p = (struct explain_program){ .pid = getpid(), .comm = "rused" };
		json_object_array_add(a, explain_process(e->own, &p, page, e->blame, now));
	}
	free(log);
	json_object_object_add(o, "newest", explain_newest(e, ps, now));
	json_object_object_add(o, "processes", a);
	if (number)
		json_object_object_add(o, "known",
				       json_object_new_boolean(explain_knows(e, ps, number)));
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

/* Writes the file beside the old one, which stays if that fails. 0 or -errno. */
static int explain_replace(int run, const char *text, size_t len)
{
	int fd = openat(run, EXPLAIN_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);
	int rc = fd < 0 ? -errno : 0;

	while (!rc && len) {
		ssize_t n = write(fd, text, len);

		if (n < 0)
			rc = -errno;
		text += max(n, (ssize_t)0);
		len -= (size_t)max(n, (ssize_t)0);
	}
	if (fd >= 0)
		close(fd);
	if (!rc && renameat(run, EXPLAIN_NEW, run, IPC_FAILURES_NAME))
		rc = -errno;
	if (rc)
		unlinkat(run, EXPLAIN_NEW, 0);
	return rc;
}

void explain_save(const struct explain *e, const struct processes *ps, const struct host_page *page,
		  ns_t now, int run)
{
	char *text = explain_sum(e, ps, explain_stored) ? explain_text(e, ps, page, 0, now) : NULL;
	int rc = text ? explain_replace(run, text, strlen(text)) : 0;

	/* After unlinkat(), as a full disk may now have room for the log. */
	if (rc)
		log_warn("cannot keep the failures in " IPC_FAILURES_NAME ": %s", strerror(-rc));
	free(text);
}

void explain_clear(int run)
{
	unlinkat(run, IPC_FAILURES_NAME, 0);
	unlinkat(run, EXPLAIN_NEW, 0);
}
