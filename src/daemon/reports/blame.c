/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "daemon/reports/answer.h"
#include "daemon/reports/blame.h"
#include "daemon/state/process.h"
#include "wire/seg.h"

/* Actions by which a packet does not arrive, or late. */
#define BLAME_LOSE                                                                             \
	(1u << FAULT_DROP | 1u << FAULT_CORRUPT | 1u << FAULT_DELAY | 1u << FAULT_RATE | \
	 1u << FAULT_DOWN | 1u << FAULT_FREEZE | 1u << FAULT_HANG)

void blame_fini(struct blame *b)
{
	free(b->running);
}

static struct blame_rule *blame_find(const struct blame *b, uint32_t id)
{
	for (uint32_t i = 0; i < BLAME_RULES; i++)
		if (id && b->rule[i].rule.id == id)
			return (struct blame_rule *)&b->rule[i];
	return NULL;
}

/* A free entry, or that of the rule that was deleted first. There is one: at most FAULT_MAX_RULES exist. */
static struct blame_rule *blame_entry(struct blame *b)
{
	struct blame_rule *oldest = NULL;

	for (struct blame_rule *r = b->rule; r < b->rule + BLAME_RULES; r++) {
		if (!r->rule.id)
			return r;
		if (r->deleted && (!oldest || r->deleted < oldest->deleted))
			oldest = r;
	}
	return oldest;
}

void blame_rule_added(struct blame *b, const struct fault_rule *r, const char *text, ns_t now)
{
	struct blame_rule *e = blame_entry(b);

	if (!e)
		return;
	*e = (struct blame_rule){ .rule = *r, .added = now };
	strncpy(e->text, text, sizeof(e->text) - 1);
}

void blame_rule_deleted(struct blame *b, uint32_t id, bool acted, ns_t now)
{
	struct blame_rule *e = blame_find(b, id);

	if (e && acted)
		e->deleted = now;
	else if (e)
		e->rule.id = 0;
}

void blame_process_gone(struct blame *b, const struct process *pr)
{
	struct proc_page p;

	if (process_page(pr, &p))
		return;
	for (int i = 0; i < FAULT_ACTS; i++)
		if (blame_find(b, p.act[i].rule))
			b->ended[b->nended++ % BLAME_ENDED] = p.act[i];
}

static bool blame_room(struct blame *b)
{
	struct fault_act *more;

	if (b->nrunning < b->room)
		return true;
	more = realloc(b->running, (b->room + FAULT_ACTS) * sizeof(*more));
	if (!more)
		return false;
	b->running = more;
	b->room += FAULT_ACTS;
	return true;
}

void blame_look(struct blame *b, const struct processes *ps)
{
	const struct process *pr;
	struct proc_page p;
	bool any = false;

	b->nrunning = 0;
	for (uint32_t i = 0; i < BLAME_RULES; i++)
		any |= b->rule[i].rule.id;
	if (!any)
		return;
	list_for_each_entry(pr, &ps->list, node) {
		if (process_page(pr, &p))
			continue;
		for (int i = 0; i < FAULT_ACTS; i++)
			if (p.act[i].rule && blame_room(b))
				b->running[b->nrunning++] = p.act[i];
	}
}

/* The number of the rule that the reason itself names; 0: none. */
static uint64_t blame_number(const struct why *why)
{
	switch ((enum why_id)why->id) {
	case WHY_FAULT_RULE:
	case WHY_FAULT_CALL:
	case WHY_FAULT_STATUS:
	case WHY_FAULT_RECV:
	case WHY_REJ_FAULT:
	case WHY_CM_FAULT_LOST:
	case WHY_CM_FAULT_PEER:
	case WHY_ADDR_FAULT:
	case WHY_WAIT_CUT:
	case WHY_WAIT_HOLD:
		return why->arg[0];
	case WHY_FAULT_HANGS:
	case WHY_RNR_FAULT:
	case WHY_NAK_FAULT:
		return why->arg[1];
	case WHY_DROP_FAULT:
	case WHY_EVENT_PORT_FAULT:
		return why->arg[2];
	case WHY_WAIT_RNR_FAULT:
		return why->arg[5];
	default:
		return 0;
	}
}

/* Can a failure with this reason come from such a rule? */
static bool blame_fits(const struct fault_rule *r, enum why_id id)
{
	bool seq = r->action == FAULT_ERROR && r->error == AETH_NAK_PSN_SEQ;

	switch (id) {
	case WHY_RETRY_NEVER:
	case WHY_RETRY_LOST:
	case WHY_RETRY_PSN:
	/* The peer may have failed or ended because of the rule. */
	case WHY_RETRY_DEAD:
	case WHY_RETRY_NO_QP:
	case WHY_RETRY_STATE:
	case WHY_RETRY_FAILED:
	case WHY_WAIT_ANSWER:
	case WHY_WAIT_NO_TIMEOUT:
		return BLAME_LOSE >> r->action & 1 || seq;
	case WHY_DROP_PSN:
		return BLAME_LOSE >> r->action & 1 || r->action == FAULT_REORDER || seq;
	case WHY_DUPLICATE_FIRST:
		return r->action == FAULT_DUPLICATE || BLAME_LOSE >> r->action & 1;
	case WHY_RNR_RETRY:
	case WHY_RNR_USED:
	case WHY_RNR_UNUSED:
	case WHY_WAIT_RNR:
		return r->action == FAULT_RNR;
	default:
		return false;
	}
}

/*
 * Has the rule acted on packets of the QP, or of the peer's QP to it, before the failure? A packet from a wire does not name
 * the QP that has sent it. A connected QP has one peer; that a QP of another host has the same number is unlikely.
 */
static bool blame_about(const struct fault_act *a, const struct blame_rule *e,
			const struct why_rec *r)
{
	if (a->rule != e->rule.id || !r->qpn || a->last < (uint64_t)e->added || a->first > r->last)
		return false;
	return a->qpn == r->qpn ||
	       (a->qpn == r->peer_qpn && (a->peer_qpn == r->qpn || !a->peer_qpn));
}

static void blame_sum(const struct fault_act *acts, size_t n, const struct blame_rule *e,
		      const struct why_rec *r, struct fault_act *sum)
{
	for (const struct fault_act *a = acts; a < acts + n; a++) {
		if (!blame_about(a, e, r))
			continue;
		sum->first = sum->n ? min(sum->first, a->first) : a->first;
		sum->last = max(sum->last, a->last);
		sum->n += a->n;
	}
}

static uint64_t blame_ago(ns_t now, uint64_t then)
{
	return then < (uint64_t)now ? (uint64_t)now - then : 0;
}

static struct json_object *blame_json(const struct blame_rule *e, const struct fault_act *sum,
				      ns_t now)
{
	struct json_object *o = json_object_new_object();

	answer_u64(o, "id", e->rule.id);
	answer_str(o, "rule", e->text);
	answer_u64(o, "matched", sum->n);
	answer_u64(o, "acted", sum->n);
	if (sum->n) {
		answer_u64(o, "first_ns", blame_ago(now, sum->first));
		answer_u64(o, "last_ns", blame_ago(now, sum->last));
	}
	json_object_object_add(o, "deleted", json_object_new_boolean(e->deleted != 0));
	return o;
}

void blame_put(const struct blame *b, struct json_object *failure, const struct why_rec *r,
	       ns_t now)
{
	struct json_object *a = NULL;

	for (const struct blame_rule *e = b->rule; e < b->rule + BLAME_RULES; e++) {
		bool named = e->rule.id == blame_number(&r->why) && (uint64_t)e->added <= r->last;
		struct fault_act sum = { 0 };

		if (!e->rule.id || (!named && !blame_fits(&e->rule, (enum why_id)r->why.id)))
			continue;
		blame_sum(b->ended, min(b->nended, BLAME_ENDED), e, r, &sum);
		blame_sum(b->running, b->nrunning, e, r, &sum);
		if (!sum.n && !named)
			continue;
		if (!a)
			a = json_object_new_array();
		json_object_array_add(a, blame_json(e, &sum, now));
	}
	if (a)
		json_object_object_add(failure, "rules", a);
}
