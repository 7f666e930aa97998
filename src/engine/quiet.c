/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for peers within direct placements, and the ends of pins that had to wait for longer. */
#include <time.h>
#include "base/sys.h"
#include "core/objects.h"
#include "engine/engine_internal.h"

#define NAP_FIRST (20 * NS_US)
#define NAP_LAST (5 * NS_MS)
#define QUIET_LIMIT (2 * NS_S)

struct quiet quiet_command(void)
{
	struct quiet q = { engine.withdrawn, engine.generation };

	engine.withdrawn = 0;
	if (q.withdrawn && shm_quiet(engine.ep, q.withdrawn))
		q.withdrawn = 0;
	return q;
}

bool quiet_unpin(void)
{
	bool left = false;
	struct edev *e;

	list_for_each_entry(e, &engine.devs, entry) {
		mr_ended_unpin(&e->dev);
		left = left || !list_empty(&e->dev.ended);
	}
	return left;
}

void quiet_locked(uint64_t withdrawn)
{
	const struct timespec ts = { .tv_nsec = 2 * NAP_FIRST };
	ns_t end = 0;

	while (!shm_quiet(engine.ep, withdrawn)) {
		ns_t now = engine_now();

		if (!end)
			end = now + QUIET_LIMIT;
		if (now >= end) {
			shm_quiet_given_up(engine.ep, withdrawn);
			return;
		}
		sys_call(SYS_nanosleep, &ts, NULL);
	}
}

/* True: the wait is over. */
static bool quiet_look(const struct quiet *q, bool late)
{
	bool quiet;

	/* A signal handler may have forked, and this is the child: the parent's peers are not its own. */
	engine_check_fork();
	if (engine.generation != q->generation || !engine_lock())
		return true;
	quiet = shm_quiet(engine.ep, q->withdrawn);
	if (!quiet && late) {
		shm_quiet_given_up(engine.ep, q->withdrawn);
		/* From now on the progress thread looks. */
		progress_kick();
	} else if (quiet) {
		quiet_unpin();
	}
	engine_unlock();
	return quiet || late;
}

noinline __cold void quiet_wait(struct quiet q)
{
	ns_t end = engine_now() + QUIET_LIMIT, nap = NAP_FIRST;

	do {
		const struct timespec ts = { .tv_nsec = nap };

		sys_call(SYS_nanosleep, &ts, NULL);
		nap = min(nap * 2, (ns_t)NAP_LAST);
	} while (!quiet_look(&q, engine_now() >= end));
}
