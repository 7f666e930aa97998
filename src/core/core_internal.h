/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_CORE_INTERNAL_H
#define RUSE_CORE_INTERNAL_H

#include "core/device.h"
#include "queue/card.h"

/* Asks the kernel about mappings once, at open, so that the first REG_MR does not pay for building /proc/self. */
void mr_warm(void);

/* Id with a free card, 1..DEV_MAX_KEY_INDEX, in dev->mrs or dev->mws; -ENOMEM, -ENOSPC. */
int64_t key_alloc(struct rdev *dev, struct idtable *table, void *obj);
void key_card_write(struct key_card *c, const struct key_card *new);

#endif
