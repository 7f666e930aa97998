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
 * Unregister (false) or register (true) the descriptors of the kept files as the engine's own
 * (own_fd()). own_reset() closes all registered descriptors. inherit_own(false) is therefore called
 * before it, and inherit_own(true) after it.
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
/* Close the descriptors that inherit_keep() has kept, so that the files cannot be taken over. Without the engine lock. */
void inherit_drop(void);
extern bool inherit_pending;	/* descriptors and objects of the parent are kept, to be taken over */

/*
 * lease.c: lease the block of QP numbers of a dead parent and create QP cards (queue/card.h) for it.
 * 0 or -errno; -EBUSY: rused has not noticed the death yet.
 */
int inherit_lease(struct rdev *dev, uint32_t block, struct qp_card **cards);

#endif
