/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way into the engine and out of it, for its own files; of engine.c, but for what each message runs through. */
#ifndef RUSE_ENGINE_ENTER_H
#define RUSE_ENGINE_ENTER_H

#include "engine/engine_internal.h"

/* False = this thread holds the lock already. engine_unlock() does what interrupted callers left to do. */
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

/* Are we a forked child with its parent's engine? */
extern uint32_t *engine_alive;
static inline bool engine_is_copy(void)
{
	return engine_alive && !READ_ONCE(*engine_alive);
}

/* Then it gets its own. */
void engine_forked(void);
static inline void engine_check_fork(void)
{
	if (unlikely(engine_is_copy()))
		engine_forked();
}

/* Opened before a fork by our parent, and not going to be used. */
bool engine_abandoned_by(struct uverbs_file *f);
static inline bool engine_abandoned(struct uverbs_file *f)
{
	const struct efile *ef = uverbs_ucontext(f)->host;

	engine_check_fork();
	return unlikely(ef->generation != engine.generation) && engine_abandoned_by(f);
}

/* The same of one that is: answers EIO. What can be made ours by using it is so now. */
bool engine_stale_left(struct uverbs_file *f);
static inline bool engine_stale(struct uverbs_file *f)
{
	return unlikely(engine_abandoned(f)) && engine_stale_left(f);
}

#endif
