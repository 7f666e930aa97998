/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls that destroy an object while events of it are not acknowledged. To acknowledge them later, from another thread, is lawful,
 * so this is an error only if the call still waits LOOKS * LOOK_NS later, or when the process ends.
 *
 * The stack of the call is taken when it is noted (core/acks.h), in its thread. Another thread looks whether it sleeps.
 */
#include "base/pool.h"
#include "check/check.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/python.h"
#include "engine/stuck.h"
#include "verbs/verbs.h"

#define LOOK_NS (100 * NS_MS)
#define LOOKS 20u
#define MISSES 3u

ns_t checkacks_due = NS_NEVER;

static struct checkacks_call {
	struct explain_frames stack;
	uint32_t pending;	/* 1: it may wait; written by its thread, and cleared with the engine lock */
	uint32_t looks;		/* that have found it waiting, in succession */
	uint32_t misses;	/* before them: it may not wait yet */
	bool waits;		/* in this look */
	struct why why;
} calls[ACKS_MAX];
static char *python;	/* the lines of each call; NULL: the program is none of Python */

/* Are events unacknowledged now? Of rdma_cm it is not known. */
static bool checkacks_open(const struct acks *a)
{
	enum acks_kind kind = (enum acks_kind)a->kind;

	if (kind == ACKS_CM_ID || kind == ACKS_CM_MIGRATE)
		return true;
	return verbs_acked(kind, a->object, false) != a->read ||
	       (kind == ACKS_CQ && verbs_acked(kind, a->object, true) != a->async);
}

static void checkacks_noted(uint32_t i)
{
	struct checkacks_call *c = &calls[i];

	WRITE_ONCE(c->pending, 0u);
	if (!checkacks_open(&acks_latest[i]))
		return;
	checks_walk(&c->stack, python ? python + i * PYTHON_SIZE : NULL);
	c->looks = c->misses = 0;
	smp_store_release(&c->pending, 1u);
	WRITE_ONCE(checkacks_due, (ns_t)0);
	progress_kick();
}

static void checkacks_waits(uint32_t tid, const struct why *why)
{
	for (uint32_t i = 0; i < ACKS_MAX; i++)
		if (smp_load_acquire(&calls[i].pending) && READ_ONCE(acks_latest[i].tid) == tid) {
			calls[i].waits = true;
			calls[i].why = *why;
		}
}

static void checkacks_tell(struct checkacks_call *c)
{
	struct check_found f = { .posted = checks_site_of(&c->stack) };
	const uint64_t *arg = c->why.arg;

	WRITE_ONCE(c->pending, 0u);
	if (c->why.id == WHY_WAIT_ACK)
		why_set(&f.why, CHECK_ACK, arg[0], arg[1], arg[2]);
	else
		why_set(&f.why, CHECK_ACK_CM, arg[0], arg[1]);
	checks_tell(&f);
}

/* A call that was found waiting before still does, or not. */
static void checkacks_judge(struct checkacks_call *c, bool ending)
{
	if (!c->waits && (c->looks || ++c->misses == MISSES))
		WRITE_ONCE(c->pending, 0u);
	else if (c->waits && (++c->looks == LOOKS || (ending && c->looks > 1)))
		checkacks_tell(c);
}

void checkacks_look(ns_t now, bool ending)
{
	uint32_t pending = 0;

	WRITE_ONCE(checkacks_due, NS_NEVER);
	for (uint32_t i = 0; i < ACKS_MAX; i++)
		calls[i].waits = false;
	stuck_acks(checkacks_waits);
	for (uint32_t i = 0; i < ACKS_MAX; i++) {
		struct checkacks_call *c = &calls[i];

		if (!smp_load_acquire(&c->pending))
			continue;
		checkacks_judge(c, ending);
		pending += READ_ONCE(c->pending);
	}
	if (pending)
		WRITE_ONCE(checkacks_due, now + LOOK_NS);
}

void checkacks_begin(void)
{
	if (python_able() && !python)
		python = pool_alloc(ACKS_MAX * PYTHON_SIZE);
	acks_noted = checkacks_noted;
}
