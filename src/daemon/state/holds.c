/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <unistd.h>

#include "daemon/state/holds.h"
#include "shared/barrier.h"

/* True if the process need not look at the page any more, or cannot. Its page has any content. */
static bool hold_applied(const struct holds *hs, const struct hold *h, const struct process *pr)
{
	uint64_t applied;

	if (!pr->proc || pr->page_fd < 0 || pr == h->asker)
		return true;
	if (pread(pr->page_fd, &applied, sizeof(applied), offsetof(struct proc_page, applied)) !=
	    (ssize_t)sizeof(applied))
		return true;
	if (!applied)
		return true;
	return applied >> 32 == hs->page->generation &&
	       (int32_t)((uint32_t)applied - h->changes) >= 0;
}

static bool hold_stopped(const struct hold *h, const struct process *pr)
{
	char state = process_state(pr->pid);

	return state == 'T' || (state == 't' && h->waited >= HOLD_TRACED);
}

/* Returns whether the wait goes on. */
static bool hold_look(const struct holds *hs, const struct hold *h, struct hold_late *late,
		      uint32_t *nlate)
{
	const struct process *pr;
	bool waits = false;

	*nlate = 0;
	list_for_each_entry(pr, &hs->processes->list, node) {
		struct hold_late l = { .pid = pr->pid };

		if (hold_applied(hs, h, pr))
			continue;
		l.stopped = hold_stopped(h, pr);
		memcpy(l.comm, pr->comm, sizeof(l.comm));
		waits |= !l.stopped;
		if (*nlate < HOLD_NAMES)
			late[*nlate] = l;
		++*nlate;
	}
	return waits && h->waited < HOLD_LIMIT;
}

/* True: the wait is over, and done() was called, which may have freed h. */
static bool hold_step(struct holds *hs, struct hold *h, ns_t now)
{
	struct hold_late late[HOLD_NAMES];
	uint32_t nlate;

	if (now < h->next)
		return false;
	h->waited += min(now - h->looked, (ns_t)HOLD_STALL);
	h->looked = now;
	if (!hold_look(hs, h, late, &nlate)) {
		hold_cancel(h);
		h->done(h, late, nlate);
		return true;
	}
	h->next = now + max((ns_t)HOLD_FIRST, min(h->waited / 4, (ns_t)HOLD_LAST));
	return false;
}

static void holds_arm(struct holds *hs, ns_t next)
{
	if (!timer_set(hs->timers, &hs->timer, next))
		return;
	/* No memory for the timer. */
	while (!list_empty(&hs->list)) {
		struct hold *h = list_first_entry(&hs->list, struct hold, node);

		hold_cancel(h);
		h->done(h, NULL, 0);
	}
}

/* Looks for one wait that is over. done() may also have cancelled others. */
static bool holds_step(struct holds *hs, ns_t now)
{
	struct hold *h;

	list_for_each_entry(h, &hs->list, node)
		if (hold_step(hs, h, now))
			return true;
	return false;
}

static void holds_due(struct timer *t, ns_t now)
{
	struct holds *hs = container_of(t, struct holds, timer);
	ns_t next = NS_NEVER;
	struct hold *h;

	while (holds_step(hs, now))
		;
	list_for_each_entry(h, &hs->list, node)
		next = min(next, h->next);
	holds_arm(hs, next);
}

void holds_init(struct holds *hs, struct timer_heap *timers, const struct processes *processes,
		const struct host_page *page)
{
	*hs = (struct holds){ .timers = timers, .timer.fn = holds_due, .processes = processes, .page = page };
	list_init(&hs->list);
}

void holds_begin(struct holds *hs, struct hold *h, const struct process *asker, ns_t now)
{
	h->changes = hs->page->changes;
	h->looked = h->next = now;
	h->waited = 0;
	h->asker = asker;
	h->active = true;
	list_add_tail(&h->node, &hs->list);
	/* A process that is about to start its progress thread has set proc_page.applied or sees the change: page_looks(). */
	smp_mb();
	if (!hold_step(hs, h, now))
		holds_arm(hs, timer_armed(&hs->timer) ? min(h->next, hs->timer.when) : h->next);
}

void hold_cancel(struct hold *h)
{
	if (h->active)
		list_del(&h->node);
	h->active = false;
}
