/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entering and leaving the engine, for the files of engine/. Inline parts of engine.c for the
 * paths that every message takes.
 */
#ifndef RUSE_ENGINE_ENTER_H
#define RUSE_ENGINE_ENTER_H

#include "engine/engine_internal.h"

/*
 * Take the engine lock. False: this thread holds it already, so the caller is a signal handler that
 * interrupted the engine.
 */
static inline bool engine_lock(void)
{
	return elock_enter(&engine.lock);
}

void engine_unlock_again(void);
/*
 * Release the engine lock. Before that, transmit for doorbells that were rung in signal handlers
 * while the lock was held.
 */
static inline void engine_unlock(void)
{
	if (likely(!READ_ONCE(engine.lock.again))) {
		elock_leave(&engine.lock);
		if (likely(!READ_ONCE(engine.lock.again)) || !elock_try(&engine.lock))
			return;
	}
	engine_unlock_again();
}

extern uint32_t *engine_alive;
/* True if this process is a forked child that still has the copy of its parent's engine. */
static inline bool engine_is_copy(void)
{
	return engine_alive && !READ_ONCE(*engine_alive);
}

/* Give a forked child an engine of its own. */
void engine_forked(void);
static inline void engine_check_fork(void)
{
	if (unlikely(engine_is_copy()))
		engine_forked();
}

/* Slow path of engine_abandoned(). */
bool engine_abandoned_by(struct uverbs_file *f);
/*
 * True if the file was opened by the parent process before a fork and still belongs to it. If the
 * parent is dead, this process takes the file over first, and the result is false. engine_close()
 * uses this function; write() and ioctl() use engine_stale().
 */
static inline bool engine_abandoned(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	engine_check_fork();
	return unlikely(ef->generation != engine.generation) && engine_abandoned_by(f);
}

/* Slow path of engine_stale(). */
bool engine_stale_left(struct uverbs_file *f);
/*
 * Like engine_abandoned(), but a file of the living parent that contains nothing but PDs also
 * becomes the child's own (inherit_adopt()), and the result is false. If the result is true,
 * write() and ioctl() fail with EIO.
 */
static inline bool engine_stale(struct uverbs_file *f)
{
	return unlikely(engine_abandoned(f)) && engine_stale_left(f);
}

#endif
