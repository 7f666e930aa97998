/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of a process and their counts; and rules that are not about packets: the caller asks faults_strike() for each
 * call, work request or completion.
 */
#include <string.h>
#include "link/fault_int.h"

void faults_init(struct faults *f, const struct fault_ops *host, struct fault_count *counts,
		 struct fault_act *acts)
{
	memset(f, 0, sizeof(*f));
	f->host = host;
	f->count = counts;
	f->act = acts;
	list_init(&f->held);
}

/* Each rule has random numbers of its own, which depend only on the table's seed and the rule's index. */
static void fault_rule_seed(struct faults *f, uint32_t i)
{
	prng_seed(&f->state[i].prng, f->table.seed ^ (uint64_t)i << 32);
}

static void fault_rule_start(struct faults *f, uint32_t i)
{
	memset(&f->state[i], 0, sizeof(f->state[i]));
	fault_rule_seed(f, i);
	f->count[i] = (struct fault_count){ .id = f->table.rule[i].id };
}

void faults_set(struct faults *f, const struct fault_table *t, uint32_t proc)
{
	static uint32_t old[FAULT_MAX_RULES];
	bool reseeded = t->seeded != f->table.seeded || t->seed != f->table.seed;

	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++)
		old[i] = f->table.rule[i].id;
	f->table = *t;
	f->proc = proc;
	f->nrules = f->actions = 0;
	for (uint32_t i = 0; i < FAULT_MAX_RULES; i++) {
		uint32_t id = t->rule[i].id;

		if (!id || t->rule[i].action >= FAULT_NACTIONS) {
			f->table.rule[i].id = id = 0;
		} else {
			f->nrules = i + 1;
			f->actions |= 1u << t->rule[i].action;
		}
		if (id != old[i])
			fault_rule_start(f, i);
		else if (reseeded)
			fault_rule_seed(f, i);
	}
}

bool faults_acts(const struct fault_rule *r, struct fault_state *st)
{
	if (r->times && st->acted >= r->times)
		return false;
	switch ((enum fault_when)r->when) {
	case FAULT_ALWAYS:
		return true;
	case FAULT_CHANCE:
		return prng_below(&st->prng, FAULT_CERTAIN) < r->n;
	case FAULT_NTH:
		return st->matched >= r->n;
	case FAULT_EVERY:
		return r->n && !(st->matched % r->n);
	}
	return false;
}

/* The entry of the rule and these QPs, else the one to replace: a free one, or the oldest. */
static struct fault_act *fault_act_find(struct faults *f, uint32_t rule, uint32_t qpn,
					uint32_t peer_qpn)
{
	struct fault_act *found = f->act;

	for (struct fault_act *a = f->act; a < f->act + FAULT_ACTS; a++) {
		if (a->rule == rule && a->qpn == qpn && a->peer_qpn == peer_qpn)
			return a;
		if (a->last < found->last)
			found = a;
	}
	return found;
}

static noinline void fault_act_note(struct faults *f, uint32_t rule, uint64_t n, uint32_t qpn,
				    uint32_t peer_qpn)
{
	struct fault_act *a = fault_act_find(f, rule, qpn, peer_qpn);
	uint64_t now = (uint64_t)f->host->now();

	if (a->rule != rule || a->qpn != qpn || a->peer_qpn != peer_qpn)
		*a = (struct fault_act){ .rule = rule, .qpn = qpn, .peer_qpn = peer_qpn,
					 .first = now };
	a->n += n;
	a->last = now;
}

void faults_show(struct faults *f, uint32_t qpn, uint32_t peer_qpn)
{
	for (uint32_t i = 0; i < f->nrules; i++) {
		uint64_t acted = f->state[i].acted, more = acted - f->count[i].acted;

		f->count[i].matched = f->state[i].matched;
		f->count[i].acted = acted;
		f->acted += more;
		if (unlikely(more && f->act))
			fault_act_note(f, f->table.rule[i].id, more, qpn, peer_qpn);
	}
}

static bool fault_case_fits(const struct faults *f, const struct fault_rule *r,
			    const struct fault_case *c)
{
	uint32_t by = r->by;

	return r->call == c->call && (!(by & FAULT_BY_PROC) || r->proc == f->proc) &&
	       (!(by & FAULT_BY_DEV) || r->dev == c->dev) &&
	       (!(by & FAULT_BY_QP) || r->qpn == c->qpn) &&
	       (!(by & FAULT_BY_OP) || r->ops & c->ops) &&
	       (!(by & FAULT_BY_PORT) || r->port == c->port) &&
	       (!(by & FAULT_BY_PEER) || (c->peer && !memcmp(r->peer, c->peer, sizeof(r->peer)))) &&
	       (!r->dir || !c->dir || r->dir == c->dir) &&
	       (!(by & FAULT_BY_SERVICE) || c->services >> (r->service & 31) & 1);
}

bool faults_concern(const struct faults *f, const struct fault_case *c)
{
	for (uint32_t i = 0; i < f->nrules; i++) {
		const struct fault_rule *r = &f->table.rule[i];

		if (r->id && r->action == c->action && fault_case_fits(f, r, c))
			return true;
	}
	return false;
}

const struct fault_rule *faults_strike(struct faults *f, const struct fault_case *c)
{
	if (!(f->actions >> c->action & 1))
		return NULL;
	for (uint32_t i = 0; i < f->nrules; i++) {
		const struct fault_rule *r = &f->table.rule[i];
		struct fault_state *st = &f->state[i];

		if (!r->id || r->action != c->action || !fault_case_fits(f, r, c))
			continue;
		st->matched++;
		if (!faults_acts(r, st))
			continue;
		st->acted++;
		faults_show(f, c->qpn, 0);
		return r;
	}
	faults_show(f, c->qpn, 0);
	return NULL;
}
