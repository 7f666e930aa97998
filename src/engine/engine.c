/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one engine of a process: its state, its lock, fork, and its end. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "base/log.h"
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "engine/ucma_local.h"
#include "engine/wire.h"

struct engine engine;
__thread bool engine_thread_ready __attribute__((tls_model("initial-exec")));

/*
 * A page that the kernel zeroes in a forked child (MADV_WIPEONFORK), so that a
 * child is recognised even where no atfork handler ran (clone, vfork-like
 * libraries). NULL until the first attach: nothing to leave behind before.
 */
uint32_t *engine_alive;

static void alive_create(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	if (madvise(p, 4096, MADV_WIPEONFORK)) {
		munmap(p, 4096);	/* the atfork handlers remain */
		return;
	}
	*(uint32_t *)p = 1;
	engine_alive = p;
}

/*
 * A forked child leaves the engine it has a copy of: it belongs to the parent.
 * Files opened before the fork answer EIO (their generation is over) until the
 * parent is dead and they can be taken over (inherit.c); files that the child
 * opens get an engine of its own. whole: nobody was changing the copy.
 */
static void leave_parents_engine(bool whole)
{
	const struct engine_host *host = engine.host;
	uint32_t generation = engine.generation + 1;

	if (whole && engine.attached)
		inherit_keep();
	inherit_own(false);
	host->own_reset();
	inherit_own(true);
	memset(&engine, 0, sizeof(engine));
	engine.host = host;
	engine.generation = generation;
	if (engine_alive)
		*engine_alive = 1;
}

RARE void engine_forked(void)
{
	leave_parents_engine(!READ_ONCE(engine.lock.word));
}

RARE bool engine_abandoned_by(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	inherit_try();
	return ef->generation != engine.generation;
}

RARE bool engine_stale_left(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	inherit_adopt(f);
	return ef->generation != engine.generation;
}

/* A doorbell came from a signal handler meanwhile; the lock is held. */
RARE void engine_unlock_again(void)
{
	do {
		while (READ_ONCE(engine.lock.again)) {
			WRITE_ONCE(engine.lock.again, 0u);
			qp_work_all();
			qp_work_run(engine_now());
		}
		elock_leave(&engine.lock);
		/* A handler that ran between the check and the release has left its note: look once more. */
	} while (READ_ONCE(engine.lock.again) && elock_try(&engine.lock));
}

static void bug_in_program(const char *what, const char *file, int line)
{
	log_err("impossible state: %s (%s:%d); the device has failed", what, file, line);
	engine_fail(what);
}

void engine_setup(const struct engine_host *host)
{
	engine.host = host;
}

void engine_guard(void)
{
	if (!engine_alive)
		alive_create();
	bug_set_handler(bug_in_program);
}

void engine_fail(const char *why)
{
	struct efile *ef;

	if (engine.failed || !engine.attached)
		return;
	engine.failed = true;
	list_for_each_entry(ef, &engine.files, entry)
		uverbs_disassociate(ef->uf);
}

void engine_ending(void)
{
	if (!engine.attached || engine_is_copy() || !engine_lock())
		return;
	qp_settle_all();
	wire_settle();
	engine_unlock();
}

/*
 * The child's copy must not be one that somebody was changing. Where fork() is
 * called from a signal handler that interrupted the lock's owner it may be; the
 * child leaves it anyway. Forks of several threads are one at a time in libc.
 */
static bool fork_locked;

void engine_fork_prepare(void)
{
	engine_check_fork();
	fork_locked = engine.attached && engine_lock();
	if (!fork_locked)
		return;
	wire_flush();
	ucma_sync();
}

void engine_fork_parent(void)
{
	if (fork_locked)
		engine_unlock();
}

void engine_fork_child(void)
{
	if (engine.attached)
		leave_parents_engine(fork_locked);
}
