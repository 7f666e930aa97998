/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device.h"
#include "core/qp.h"
#include "daemon/reports/answer.h"
#include "daemon/reports/blame.h"
#include "daemon/reports/counts.h"
#include "daemon/reports/evidence.h"
#include "daemon/reports/explain.h"
#include "daemon/reports/res.h"
#include "daemon/reports/runs.h"
#include "daemon/state/process.h"
#include "shake/kinds.h"

#define RUN_LISTED 256u		/* ended processes of a run that are listed; later ones are in the total only */
#define RUN_LEAKS 16u		/* objects of a process that are named */
#define RUN_ERRORS 64		/* reasons of a run that are named */
#define RUN_FINDINGS 64		/* findings of `ruse run --check` that are listed */
#define RUN_DECISIONS 256	/* decisions of `ruse run --shake` that are listed */

/* The counts of a process and of a run: all are uint64_t, so they are added as an array. */
#define RUN_COUNTS(X)                                        \
	X(devices) X(connections) X(served)                  \
	X(recvs) X(recv_bytes) X(packets_received)           \
	X(retries) X(rnr) X(faults) X(errors) X(leaked) \
	X(findings) X(hints)

struct run_counts {
#define X(name) uint64_t name;
	RUN_COUNTS(X)
#undef X
	uint64_t qps[PROC_QP_TYPES];
	uint64_t traffic[TRAFFIC_LINKS][TRAFFIC_OPS][2];
};

struct run {
	struct list_head node;
	uint64_t id;
	const void *owner;
	uint64_t processes, unlisted;
	uint64_t faults;	/* *runs.faults when it began */
	struct run_counts total;	/* of ended processes, as all that follows */
	struct json_object *listed;	/* array */
	struct json_object *errors;	/* by id */
	struct json_object *findings;	/* array */
	struct json_object *decisions;	/* array */
	struct json_object *first;	/* the first failure; NULL: none */
	uint64_t first_at;	/* its time, host clock */
};

void runs_init(struct runs *rs)
{
	list_init(&rs->list);
}

static struct run *run_find(const struct runs *rs, uint64_t id)
{
	struct run *run;

	list_for_each_entry(run, &rs->list, node)
		if (id && run->id == id)
			return run;
	return NULL;
}

static void run_clear(struct run *run)
{
	json_object_put(run->listed);
	json_object_put(run->errors);
	json_object_put(run->findings);
	json_object_put(run->decisions);
	json_object_put(run->first);
}

static void run_free(struct run *run)
{
	list_del(&run->node);
	run_clear(run);
	free(run);
}

void runs_fini(struct runs *rs)
{
	while (!list_empty(&rs->list))
		run_free(list_first_entry(&rs->list, struct run, node));
}

int runs_begin(struct runs *rs, uint64_t id, const void *owner)
{
	struct run *run;

	if (!id)
		return -EINVAL;
	list_for_each_entry(run, &rs->list, node)
		if ((run->id == id) != (run->owner == owner))
			return run->id == id ? -EEXIST : -EBUSY;
	if (run_find(rs, id))
		return 0;
	run = calloc(1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	run->id = id;
	run->owner = owner;
	run->faults = rs->faults ? *rs->faults : 0;
	run->listed = json_object_new_array();
	run->errors = json_object_new_object();
	run->findings = json_object_new_array();
	run->decisions = json_object_new_array();
	list_add_tail(&run->node, &rs->list);
	if (run->listed && run->errors && run->findings && run->decisions)
		return 0;
	run_free(run);
	return -ENOMEM;
}

void runs_end(struct runs *rs, const void *owner)
{
	struct run *run, *next;

	list_for_each_entry_safe(run, next, &rs->list, node)
		if (run->owner == owner)
			run_free(run);
}

static void run_add(struct run_counts *to, const struct run_counts *from)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

/* The counters of the devices. With direct placement a device of the peer is among them (struct proc_page). */
static void run_count_traffic(struct run_counts *c, const struct proc_page *p)
{
	for (int i = 0; i < PROC_MAX_DEVS; i++) {
		const uint64_t *n = p->dev[i].counter;

		for (int l = 0; l < TRAFFIC_LINKS; l++)
			for (int op = 0; op < TRAFFIC_OPS; op++)
				for (int k = 0; k < 2; k++)
					c->traffic[l][op][k] += n[CNT_TRAFFIC(l, op) + k];
		c->recvs += n[CNT_RDMA_RECVS];
		c->recv_bytes += n[CNT_RECV_BYTES];
		c->packets_received += n[CNT_RCVD_PKTS];
		c->retries += n[CNT_COMP_RETRY] + n[CNT_RCV_SEQ_ERR];
		c->rnr += n[CNT_RCV_RNR];
	}
}

static void run_count(struct run_counts *c, const struct proc_page *p)
{
	*c = (struct run_counts){ .devices = p->life.contexts,
				  .connections = p->life.connections,
				  .served = p->life.served };
	for (int i = 0; i < PROC_QP_TYPES; i++)
		c->qps[i] = p->life.qps[i];
	run_count_traffic(c, p);
	for (int i = 0; i < FAULT_MAX_RULES; i++)
		c->faults += p->fault[i].acted;
}

static struct json_object *run_leak(const struct res_rec *rec)
{
	static const char *const names[RES_KINDS] = {
		[RES_CTX] = "context", [RES_PD] = "PD", [RES_CQ] = "CQ",
		[RES_MR] = "MR", [RES_QP] = "QP", [RES_SRQ] = "SRQ",
	};
	static const char *const types[] = { [QPT_RC] = "RC", [QPT_UC] = "UC", [QPT_UD] = "UD" };
	struct json_object *o = json_object_new_object();

	answer_str(o, "object", names[rec->kind]);
	switch (rec->kind) {
	case RES_QP:
		answer_u64(o, "number", rec->qp.lqpn);
		answer_str(o, "type", rec->type < ARRAY_SIZE(types) && types[rec->type] ?
					      types[rec->type] : "other");
		answer_str(o, "state", qp_state_name(rec->state));
		break;
	case RES_MR:
		answer_u64(o, "number", rec->mr.rkey);
		answer_u64(o, "bytes", rec->mr.length);
		break;
	case RES_SRQ:
		answer_u64(o, "number", rec->srq.srqn);
		break;
	}
	return o;
}

struct run_leaks {
	uint64_t n, contexts;
	struct json_object *list;
};

static bool run_leaked(void *arg, const struct process *pr, uint32_t slot,
		       const struct res_rec *rec)
{
	struct run_leaks *leaks = arg;

	if (rec->kind == RES_CTX)
		leaks->contexts++;
	if (leaks->n++ < RUN_LEAKS)
		json_object_array_add(leaks->list, run_leak(rec));
	return true;
}

/*
 * What a process has left. Contexts with nothing in them are no leak: librdmacm opens a device when it is first used,
 * and never closes it, so every program of rdma_cm ends with one.
 */
static struct run_leaks run_leaks(const struct process *pr)
{
	struct run_leaks leaks = { .list = json_object_new_array() };

	res_each(pr, &leaks, run_leaked);
	if (leaks.n == leaks.contexts) {
		leaks.n = 0;
		json_object_put(leaks.list);
		leaks.list = json_object_new_array();
	}
	return leaks;
}

static bool run_state(void *arg, const struct process *pr, uint32_t slot, const struct res_rec *rec)
{
	uint64_t *states = arg;

	(void)pr;
	(void)slot;
	if (rec->kind == RES_QP && rec->state < QPS_COUNT)
		states[rec->state]++;
	return true;
}

/* How many QPs a process has in each state; states without a QP are left out. */
static struct json_object *run_states(const struct process *pr)
{
	struct json_object *list = json_object_new_array(), *row;
	uint64_t states[QPS_COUNT] = { 0 };

	res_each(pr, states, run_state);
	for (uint32_t i = 0; i < QPS_COUNT; i++) {
		if (!states[i])
			continue;
		row = json_object_new_object();
		answer_str(row, "state", qp_state_name(i));
		answer_u64(row, "qps", states[i]);
		json_object_array_add(list, row);
	}
	return list;
}

/* Adds a failure to those of the run, by its id. */
static void run_add_error(struct run *run, const struct process *pr, const struct why_rec *r)
{
	const struct why_row *row = why_row(r->why.id);
	char name[WHY_NAME_LEN], text[512];
	struct json_object *o, *n;

	why_name(r->why.id, name);
	if (json_object_object_get_ex(run->errors, name, &o)) {
		json_object_object_get_ex(o, "count", &n);
		json_object_set_uint64(n, json_object_get_uint64(n) + r->count);
		return;
	}
	if (json_object_object_length(run->errors) == RUN_ERRORS)
		return;
	why_text(&r->why, text, sizeof(text));
	o = json_object_new_object();
	answer_str(o, "id", name);
	answer_str(o, "name", row ? row->name : "UNKNOWN");
	answer_str(o, "text", text);
	answer_u64(o, "count", r->count);
	answer_u64(o, "pid", (uint64_t)pr->pid);
	answer_str(o, "comm", pr->comm);
	json_object_object_add(run->errors, name, o);
}

/* A process's log of failures, and what is needed to tell one of them. */
struct run_log {
	const struct process *pr;
	const struct why_log *log;
	const struct host_page *page;
	const struct blame *blame;
	ns_t now;
};

static struct json_object *run_failure(const struct run_log *l, const struct why_rec *r)
{
	struct json_object *o = explain_failure(l->log, r, l->page, l->blame, l->now);

	answer_u64(o, "pid", (uint64_t)l->pr->pid);
	answer_str(o, "comm", l->pr->comm);
	return o;
}

/* A decision of `ruse run --shake`: its reason has the kind, the event and the object, the place is that of the process. */
static void run_add_decision(struct run *run, const struct run_log *l, const struct why_rec *r)
{
	int kind = shake_kind_of(r->why.id);
	char name[WHY_NAME_LEN], text[512], point[96];
	struct json_object *o;

	if (kind < 0 || json_object_array_length(run->decisions) >= RUN_DECISIONS)
		return;
	why_name(r->why.id, name);
	why_text(&r->why, text, sizeof(text));
	snprintf(point, sizeof(point), "%s@%s.%u.%u", shake_rows[kind].name, r->call,
		 (uint32_t)r->why.arg[5], (uint32_t)r->why.arg[0]);
	o = json_object_new_object();
	answer_str(o, "id", name);
	answer_str(o, "text", text);
	answer_str(o, "point", point);
	answer_str(o, "place", r->call);
	answer_u64(o, "pid", (uint64_t)l->pr->pid);
	answer_u64(o, "at_ns", r->first);
	answer_u64(o, "count", r->count);
	json_object_array_add(run->decisions, o);
}

static void run_add_failure(struct run *run, const struct run_log *l, const struct why_rec *r)
{
	const struct why_row *row = why_row(r->why.id);

	if (row && row->kind == WHY_KIND_SHAKE)
		run_add_decision(run, l, r);
	if (row && (row->kind == WHY_KIND_CHECK || row->kind == WHY_KIND_HINT) &&
	    json_object_array_length(run->findings) < RUN_FINDINGS)
		json_object_array_add(run->findings, run_failure(l, r));
	if (!why_error(r))
		return;
	run_add_error(run, l->pr, r);
	if (run->first && run->first_at <= r->first)
		return;
	json_object_put(run->first);
	run->first_at = r->first;
	run->first = run_failure(l, r);
}

/* Adds the failures and findings in the process's log to the run, and their numbers to its counts. */
static void run_add_failures(struct run *run, const struct process *pr, struct run_counts *c,
			     const struct host_page *page, const struct blame *blame, ns_t now)
{
	struct why_log *log = malloc(sizeof(*log));
	struct run_log l = { pr, log, page, blame, now };
	uint32_t head, pos;
	struct why_rec r;

	if (log && evidence_log(pr->page_fd, log)) {
		c->errors = log->errors;
		c->findings = log->findings;
		c->hints = log->hints;
		for (pos = why_log_from(log, &head); pos != head; pos++)
			if (why_log_get(log, pos, &r))
				run_add_failure(run, &l, &r);
	}
	free(log);
}

static void run_put_counts(struct json_object *o, const struct run_counts *c)
{
	static const char *const types[PROC_QP_TYPES] = { "RC", "UC", "UD" };
	struct json_object *qps = json_object_new_object();

#define X(name) answer_u64(o, #name, c->name);
	RUN_COUNTS(X)
#undef X
	for (int i = 0; i < PROC_QP_TYPES; i++)
		answer_u64(qps, types[i], c->qps[i]);
	json_object_object_add(o, "qps", qps);
	json_object_object_add(o, "traffic", counts_traffic(c->traffic));
}

static void run_add_process(struct run *run, const struct process *pr, const struct host_page *page,
			    const struct blame *blame, bool running, ns_t now)
{
	struct run_leaks leaks = { 0 };
	struct json_object *o;
	struct run_counts c = { 0 };
	struct proc_page p;

	if (!process_page(pr, &p))
		run_count(&c, &p);
	run_add_failures(run, pr, &c, page, blame, now);
	if (running)
		leaks.list = json_object_new_array();
	else
		leaks = run_leaks(pr);
	c.leaked = leaks.n;
	run_add(&run->total, &c);
	run->processes++;
	if (!running && json_object_array_length(run->listed) >= RUN_LISTED) {
		run->unlisted++;
		json_object_put(leaks.list);
		return;
	}
	o = json_object_new_object();
	answer_u64(o, "pid", (uint64_t)pr->pid);
	answer_str(o, "comm", pr->comm);
	json_object_object_add(o, "running", json_object_new_boolean(running));
	run_put_counts(o, &c);
	if (running)
		json_object_object_add(o, "states", run_states(pr));
	json_object_object_add(o, "leaks", leaks.list);
	json_object_array_add(run->listed, o);
}

void runs_process_gone(struct runs *rs, const struct processes *ps, const struct process *pr,
		       const struct host_page *page, ns_t now)
{
	struct run *run = run_find(rs, pr->run);

	if (!run || pr->page_fd < 0)
		return;
	if (rs->blame)
		blame_look(rs->blame, ps);
	run_add_process(run, pr, page, rs->blame, false, now);
}

/* A copy to which the processes that run are added. False: no memory. */
static bool run_copy(struct run *to, const struct run *from)
{
	*to = *from;
	to->listed = to->errors = to->findings = to->first = to->decisions = NULL;
	return !json_object_deep_copy(from->listed, &to->listed, NULL) &&
	       !json_object_deep_copy(from->findings, &to->findings, NULL) &&
	       !json_object_deep_copy(from->errors, &to->errors, NULL) &&
	       !json_object_deep_copy(from->decisions, &to->decisions, NULL) &&
	       (!from->first || !json_object_deep_copy(from->first, &to->first, NULL));
}

static char *run_answer(struct run *run)
{
	struct json_object *o = json_object_new_object(), *total = json_object_new_object();
	struct json_object *errors = json_object_new_array();
	struct json_object_iter error;
	char *text;

	json_object_object_add(o, "known", json_object_new_boolean(run->processes != 0));
	answer_u64(o, "unlisted", run->unlisted);
	json_object_object_add(o, "processes", json_object_get(run->listed));
	answer_u64(total, "processes", run->processes);
	run_put_counts(total, &run->total);
	json_object_object_add(o, "total", total);
	json_object_object_foreachC(run->errors, error)
		json_object_array_add(errors, json_object_get(error.val));
	json_object_object_add(o, "errors", errors);
	json_object_object_add(o, "findings", json_object_get(run->findings));
	json_object_object_add(o, "decisions", json_object_get(run->decisions));
	json_object_object_add(o, "first", json_object_get(run->first));
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

char *runs_text(const struct runs *rs, const struct processes *ps, const struct host_page *page,
		uint64_t id, ns_t now)
{
	const struct run *run = run_find(rs, id);
	const struct process *pr;
	char *text = NULL;
	struct run copy;

	if (!run)
		return NULL;
	if (run_copy(&copy, run)) {
		if (rs->blame)
			blame_look(rs->blame, ps);
		list_for_each_entry(pr, &ps->list, node)
			if (pr->run == id && pr->page_fd >= 0)
				run_add_process(&copy, pr, page, rs->blame, true, now);
		/* Which process they concern is not known: those of other runs at the same time are among them. */
		copy.total.faults += rs->faults ? *rs->faults - run->faults : 0;
		text = run_answer(&copy);
	}
	run_clear(&copy);
	return text;
}
