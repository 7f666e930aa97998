/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Set-up of the library. Loading it into a program creates no thread, no socket and no allocation, but the arena
 * (memory.c) if RUSE_MEMORY asks for it; the first use of an RDMA path or socket attaches to rused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "engine/engine.h"
#include "preload/counter.h"
#include "preload/heap.h"
#include "preload/last_thread.h"
#include "preload/preload.h"

static char rused_path[4096];

static struct engine_ops host = {
	.event_install = preload_event_install,
	.event_uninstall = preload_event_uninstall,
	.own_fd = fdtab_own,
	.own_reset = preload_own_reset,
	.program_fd = preload_program_fd,
	.event_lookup = preload_event_lookup,
	.event_wait = preload_event_wait,
	.is_uverbs = preload_is_uverbs,
	.sock_wait = preload_sock_wait,
	.ucma_get = preload_ucma_get,
	.ucma_put = preload_ucma_put,
	.thread_began = last_thread_progress,
	.heap_watch = heap_watch,
	.rused_path = rused_path,
};

/*
 * Called by the constructor, or earlier if another library's constructor uses RDMA first. Runs
 * once: a second run would undo the effects of attaching.
 */
static void set_up(void)
{
	static bool done;

	if (smp_load_acquire(&done))
		return;
	real_resolve();
	bug_set_handler(engine_fail);
	engine_setup(&host);
	smp_store_release(&done, true);
}

__attribute__((constructor)) static void preload_load(void)
{
	set_up();
	counter_begin();
	if (real_has_verbs())
		memory_open(true);
}

/*
 * rused is in the directory of libruse.so, in the build tree as after installation; $RUSE_RUSED
 * overrides.
 */
static void find_rused(void)
{
	const char *env = getenv("RUSE_RUSED");
	char path[sizeof(rused_path)] = "";

	if (env && *env) {
		snprintf(path, sizeof(path), "%s", env);
	} else {
		real_library_dir(path, sizeof(path) - sizeof("/rused"));
		if (path[0])
			memcpy(path + strlen(path), "/rused", sizeof("/rused"));
	}
	/* Two threads may get here; both write the same. */
	memcpy(rused_path, path, strlen(path) + 1);
}

int preload_attach(void)
{
	int ret;

	set_up();
	if (unlikely(!rused_path[0])) {
		log_init("ruse", STDERR_FILENO);
		find_rused();
	}
	ret = fork_setup();
	return ret ? ret : engine_attach();
}
