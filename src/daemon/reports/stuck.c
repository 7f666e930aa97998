/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the tables that processes write when rused asks (ipc/stuck.h). rused waits for no process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/reports/answer.h"
#include "daemon/reports/blame.h"
#include "daemon/reports/evidence.h"
#include "daemon/reports/stuck.h"
#include "daemon/state/process.h"
#include "umads/umads.h"

static const char *const stuck_parts[] = { "send", "receive", "completion", "destroy", "traffic" };
_Static_assert(ARRAY_SIZE(stuck_parts) == STUCK_PARTS, "a word for each part");

static struct json_object *stuck_wait(const struct why *why, const char *part, uint64_t since,
				      bool idle, ns_t now)
{
	struct json_object *o = json_object_new_object(), *args = json_object_new_array();
	const struct why_row *row = why_row(why->id);
	char name[WHY_NAME_LEN], text[512];

	why_name(why->id, name);
	why_text(why, text, sizeof(text));
	answer_str(o, "id", name);
	answer_str(o, "name", row ? row->name : "UNKNOWN");
	answer_str(o, "text", text);
	answer_str(o, "remedy", row ? row->remedy : "");
	answer_u64(o, "waited_ns", since < (uint64_t)now ? (uint64_t)now - since : 0);
	answer_str(o, "part", part);
	json_object_object_add(o, "idle", json_object_new_boolean(idle));
	for (int i = 0; i < WHY_ARGS; i++)
		json_object_array_add(args, json_object_new_uint64(why->arg[i]));
	json_object_object_add(o, "args", args);
	return o;
}

static struct json_object *stuck_qp_wait(const struct stuck *s, const struct stuck_rec *r, ns_t now)
{
	const struct why_rec rec = { .why = r->why, .qpn = r->qpn, .peer_qpn = r->peer_qpn,
				     .last = (uint64_t)now };
	struct json_object *o;

	o = stuck_wait(&r->why, r->part < STUCK_PARTS ? stuck_parts[r->part] : "unknown", r->since,
		       r->flags & STUCK_IDLE, now);
	if (r->part == STUCK_ACK) {
		answer_u64(o, "thread", r->qpn);
		return o;
	}
	answer_str(o, "device", answer_device(s->page, r->dev));
	answer_u64(o, "qpn", r->qpn);
	if (r->peer_qpn)
		answer_u64(o, "peer_qpn", r->peer_qpn);
	if (r->flags & STUCK_HAS_WR)
		answer_u64(o, "wr_id", r->wr_id);
	if (s->blame)
		blame_put(s->blame, o, &rec, now);
	return o;
}

/* Where the waits go that rused itself knows. */
struct stuck_own {
	struct json_object *waits;
	ns_t now;
};

static void stuck_cm_wait(void *arg, const struct rdma_wait *w, int64_t id, const char *dev)
{
	const struct stuck_own *s = arg;
	struct json_object *o = stuck_wait(&w->why, "rdma_cm", (uint64_t)w->since, w->idle, s->now);

	if (dev)
		answer_str(o, "device", dev);
	if (id >= 0)
		answer_u64(o, "cm_id", (uint64_t)id);
	json_object_array_add(s->waits, o);
}

static void stuck_mad_wait(void *arg, const struct why *why, ns_t since, const char *dev)
{
	const struct stuck_own *s = arg;
	struct json_object *o = stuck_wait(why, "MAD", (uint64_t)since, false, s->now);

	answer_str(o, "device", dev);
	json_object_array_add(s->waits, o);
}

static struct json_object *stuck_process(const struct stuck *s, const struct process *pr,
					 const struct stuck_table *t, ns_t now)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	struct stuck_own own = { a, now };
	uint64_t contexts = 0;
	char state[2] = { process_state(pr->pid), '\0' };

	answer_u64(o, "pid", (uint64_t)pr->pid);
	answer_str(o, "comm", pr->comm);
	answer_u64(o, "proc", pr->proc);
	answer_str(o, "state", state);
	answer_u64(o, "answered", t ? t->answered : 0);
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		contexts += pr->nctx[i];
	answer_u64(o, "contexts", contexts);
	for (uint32_t i = 0; t && i < t->n; i++)
		json_object_array_add(a, stuck_qp_wait(s, &t->rec[i], now));
	s->cm(s->cm_ctx, pr->pid, stuck_cm_wait, &own);
	umads_stuck(s->umads, pr->pid, stuck_mad_wait, &own);
	json_object_object_add(o, "waits", a);
	return o;
}

char *stuck_text(const struct stuck *s, ns_t now)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	struct stuck_table *t = malloc(sizeof(*t));
	const struct process *pr;
	char *text;

	if (s->blame)
		blame_look(s->blame, s->processes);
	answer_u64(o, "asked", s->page->stuck_asked);
	list_for_each_entry(pr, &s->processes->list, node) {
		bool has = pr->proc && t && evidence_stuck(pr->page_fd, t);

		if (pr->proc)
			json_object_array_add(a, stuck_process(s, pr, has ? t : NULL, now));
	}
	free(t);
	json_object_object_add(o, "processes", a);
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}
