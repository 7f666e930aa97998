/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_ENGINE_INHERIT_H
#define RUSE_ENGINE_INHERIT_H

#include <stdbool.h>
#include <stdint.h>

struct rdev;
struct qp_card;

/*
 * inherit.c: what a forked child can take over once its parent is dead. The
 * child's copy of the engine is kept (it was whole), before it is forgotten.
 */
void inherit_keep(void);
/* Before and after own_reset(): descriptors that it must not close. */
void inherit_own(bool own);
/* Takes over if the parent is dead; waits a little for one that is about to end. Not under the lock. */
void inherit_try(void);
/* If f has nothing in it that two could use: it and its like are ours, apart from the parent's. */
void inherit_adopt(struct uverbs_file *f);
/* The same for every poll of the program: does not wait. */
void inherit_poll(void);
/* Whatever was kept will not be taken over. Not under the lock. */
void inherit_drop(void);
extern bool inherit_pending;	/* something was kept */

/* qps.c: the block that a dead parent had, and cards for it. -EBUSY: rused has not seen it die. */
int lease_inherit(struct rdev *dev, uint32_t block, struct qp_card **cards);

#endif
