/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entering and leaving the engine, for the files of engine/. Inline parts of engine.c for the
 * paths that every message takes.
 */
#ifndef RUSE_ENGINE_ENTER_H
#define RUSE_ENGINE_ENTER_H

#include "engine/engine_internal.h"

/*
 * False: this thread holds the lock already. engine_unlock() does the work of doorbells that
 * found the lock held.
 */
static inline bool engine_lock(void)
{
	return elock_enter(&engine.lock);
}

void engine_unlock_again(void);
static inline void engine_unlock(void)
{
	if (likely(!READ_ONCE(engine.lock.again))) {
		elock_leave(&engine.lock);
		if (likely(!READ_ONCE(engine.lock.again)) || !elock_try(&engine.lock))
			return;
	}
	engine_unlock_again();
}

/* Is this process a forked child with a copy of its parent's engine? */
extern uint32_t *engine_alive;
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

/*
 * True if the file still belongs to the parent process, which opened it before a fork. If the parent
 * is dead, this process first takes the file over, and the result is false. For engine_close().
 */
bool engine_abandoned_by(struct uverbs_file *f);
static inline bool engine_abandoned(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	engine_check_fork();
	return unlikely(ef->generation != engine.generation) && engine_abandoned_by(f);
}

/*
 * Like engine_abandoned(), for write() and ioctl(), which answer EIO if it is true. The parent's file
 * that contains nothing but PDs becomes the child's own here (inherit_adopt()); the result is false.
 */
bool engine_stale_left(struct uverbs_file *f);
static inline bool engine_stale(struct uverbs_file *f)
{
	return unlikely(engine_abandoned(f)) && engine_stale_left(f);
}

#endif
