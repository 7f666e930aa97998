/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_ENGINE_INHERIT_H
#define RUSE_ENGINE_INHERIT_H

#include <stdbool.h>
#include <stdint.h>

struct rdev;
struct qp_card;

/*
 * inherit.c: what a forked child takes over after its parent's death. inherit_keep() moves the
 * devices and files out of the child's copy of the engine, which must be consistent.
 */
void inherit_keep(void);
/*
 * Called before and after own_reset(), which must not close the kept descriptors: first false,
 * then true.
 */
void inherit_own(bool own);
/*
 * Take over if the parent is dead. The first call waits up to 100 ms for that. Without the
 * engine lock.
 */
void inherit_try(void);
/* If f contains nothing but PDs, make all such files the child's own. Without the engine lock. */
void inherit_adopt(struct uverbs_file *f);
/* inherit_try() without waiting, for every poll of the program. */
void inherit_poll(void);
/* Give up what was kept. Without the engine lock. */
void inherit_drop(void);
extern bool inherit_pending;	/* something is kept */

/*
 * qps.c: lease a dead parent's block and create cards for it. -EBUSY: rused has not noticed
 * the death yet.
 */
int lease_inherit(struct rdev *dev, uint32_t block, struct qp_card **cards);

#endif
