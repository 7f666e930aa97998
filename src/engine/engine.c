/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine of a process: its state, its lock, fork, exit and failure. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "base/log.h"
#include "base/pool.h"
#include "base/sys.h"
#include "check/check.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/wire.h"

struct engine engine;

/*
 * A page that the kernel zeroes in a forked child (MADV_WIPEONFORK). It identifies a child
 * even if no atfork handler ran (clone(), libraries that fork like vfork()). NULL until the
 * first attach: until then the engine has no state that a child would have to discard.
 */
uint32_t *engine_alive;

static void engine_alive_create(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	if (madvise(p, 4096, MADV_WIPEONFORK)) {
		/* Without MADV_WIPEONFORK only the atfork handlers recognise a forked child. */
		munmap(p, 4096);
		return;
	}
	*(uint32_t *)p = 1;
	engine_alive = p;
}

/*
 * In a forked child: discard the copied engine, which belongs to the parent, and begin a new one
 * with the next engine.generation.
 *
 * Files opened before the fork carry the parent's generation, so calls on them fail with EIO. Once
 * the parent is dead, the child takes them over (inherit.c). Files that the child opens use the new
 * engine. If no thread was changing the engine at the fork, the copy is consistent, and its files may
 * be kept for taking over.
 */
noinline __cold void engine_forked(void)
{
	const struct engine_ops *host = engine.host;
	uint32_t generation = engine.generation + 1;

	if (engine.attached && elock_settled(&engine.lock))
		inherit_keep();
	else if (engine.attached)
		pool_forget();
	if (check_ops)
		check_forked();
	inherit_own(false);
	host->own_reset();
	inherit_own(true);
	memset(&engine, 0, sizeof(engine));
	engine.host = host;
	engine.generation = generation;
	if (engine_alive)
		*engine_alive = 1;
}

noinline __cold bool engine_abandoned_by(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	inherit_try();
	return ef->generation != engine.generation;
}

noinline __cold bool engine_stale_left(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	inherit_adopt(f);
	return ef->generation != engine.generation;
}

/*
 * Slow path of engine_unlock(): a doorbell from a signal handler found the lock held and set
 * lock.again.
 */
noinline __cold void engine_unlock_again(void)
{
	do {
		while (READ_ONCE(engine.lock.again)) {
			WRITE_ONCE(engine.lock.again, 0u);
			qp_work_all();
			qp_work_run(engine_now());
		}
		elock_leave(&engine.lock);
		/* A handler may have run between the check and the release: check again. */
	} while (READ_ONCE(engine.lock.again) && elock_try(&engine.lock));
}

void engine_setup(const struct engine_ops *host)
{
	engine.host = host;
}

const struct engine_ops *engine_caller(void)
{
	return engine.host;
}

uint32_t engine_process(void)
{
	engine_check_fork();
	return engine.generation;
}

void engine_guard(void)
{
	if (!engine_alive)
		engine_alive_create();
}

void engine_fail(const char *why)
{
	struct efile *ef;

	if (engine.failed || !engine.attached)
		return;
	engine.failed = true;
	page_looks(false);
	log_err("the RDMA devices of this program have failed: %s", why);
	list_for_each_entry(ef, &engine.files, entry)
		uverbs_disassociate(ef->uf);
}

void engine_ending(void)
{
	if (!engine.attached || engine_is_copy() || !engine_lock())
		return;
	qp_settle_all();
	wire_settle();
	drops_end(NULL);
	checks_ending();
	own_page_update();
	engine_unlock();
}

/*
 * The engine lock is not lent if the engine is unused, or if fork() was called in a signal handler that interrupted the owner
 * of the lock. libc holds no lock while it calls a handler, so several threads may be here at the same time.
 */
void engine_fork_prepare(void)
{
	const struct timespec nap = { .tv_nsec = 50 * NS_US };

	engine_check_fork();
	elock_forget();
	for (;;) {
		/* Another thread has just made the engine ready for its fork. */
		if (engine.attached && elock_borrow(&engine.lock))
			return;
		if (!engine.attached || !engine_lock())
			return;
		if (!engine.started || READ_ONCE(engine.thread_began)) {
			wire_flush();
			rused_sync();
			if (check_ops)
				check_forking();
			elock_lend(&engine.lock);
			return;
		}
		/* The start of a thread allocates memory, and ASan's allocator is not locked during a fork. */
		engine_unlock();
		sys_call(SYS_nanosleep, &nap, NULL);
	}
}

void engine_fork_parent(void)
{
	if (elock_return(&engine.lock))
		engine_unlock();
}

void engine_fork_child(void)
{
	/* A handler of the program that ran earlier may have used the engine: then it is this process's own already. */
	if (engine.attached && (!engine_alive || engine_is_copy()))
		engine_forked();
	elock_forget();
}
