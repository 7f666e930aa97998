/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looking at the host page. rused answers a command that has changed the page when each process has applied the change
 * (daemon/state/holds.h). It compares host_page.changes with what the process has written to proc_page.applied, which
 * costs a process one store for each look of the progress thread.
 */
#include "engine/engine_internal.h"
#include "engine/events.h"
#include "engine/faults.h"
#include "shared/barrier.h"

/*
 * Not from malloc(): the progress thread calls this with the engine lock held, and an allocator of the program may wait
 * for a thread that waits for the lock.
 */
const struct host_page *host_page_copy(void)
{
	static struct host_page copy;

	return host_page_read(engine.host_page, &copy) ? NULL : &copy;
}

void page_look(void)
{
	const struct host_page *copy;

	/* Read before the content, so that the content is at least as new. */
	engine.changes = smp_load_acquire(&engine.host_page->changes);
	copy = host_page_copy();
	if (!copy)
		return;
	edev_refresh(copy);
	captures_refresh(copy);
	faults_look();
	events_look();
	smp_store_release(&engine.proc_page->applied,
			  PROC_APPLIED(engine.host_page->generation, engine.changes));
}

void page_look_changed(void)
{
	if (unlikely(READ_ONCE(engine.host_page->changes) != engine.changes))
		page_look();
}

void page_looks(bool thread)
{
	smp_store_mb(&engine.proc_page->applied, (uint64_t)(thread ? PROC_APPLIED_NONE : 0));
}
