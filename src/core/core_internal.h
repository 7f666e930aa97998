/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_CORE_INTERNAL_H
#define RUSE_CORE_INTERNAL_H

#include "core/device.h"
#include "queue/card.h"

/*
 * Queries the kernel about a mapping once, when the device is opened. The first access to
 * /proc/self is slow; this keeps that time out of the first REG_MR.
 */
void mr_warm(void);

/*
 * Stores obj in table, which is dev->mrs or dev->mws, at an index in 1..DEV_MAX_KEY_INDEX whose key
 * card (struct key_card, the key's description for peers) is free. Returns the index, -ENOMEM, or
 * -ENOSPC if there is no such index.
 */
int64_t key_alloc(struct rdev *dev, struct idtable *table, void *obj);
/* Replaces the contents of *c, the record of an MR or window, which peers on this host may read at the same time. */
void key_card_write(struct key_card *c, const struct key_card *new);

#endif
