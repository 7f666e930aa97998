/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a memory key was refused. */
#ifndef RUSE_CORE_WHY_KEY_H
#define RUSE_CORE_WHY_KEY_H

#include "core/objects.h"
#include "why/why.h"

/* To be called when a key ends: window: it is that of a memory window. */
void key_ended(struct rdev *dev, uint32_t key, bool window);
/*
 * The reason for which mr_check() with the same arguments has refused a remote key. If the key is valid, which is so
 * if it was changed since, the reason is WHY_KEY_NONE.
 */
void key_why(const struct rdev *dev, uint32_t pd, uint32_t qpn, uint32_t key, uint64_t va,
	     uint64_t len, uint32_t access, struct why *why);
/*
 * The same for the local key of an entry of a scatter/gather list. index: number of the entry; recv: the list is that
 * of a receive. If the key is valid, the reason is WHY_RECV_KEY or WHY_LOCAL_KEY.
 */
void key_why_local(const struct rdev *dev, uint32_t pd, uint32_t index, bool recv, uint32_t key,
		   uint64_t va, uint64_t len, uint32_t access, struct why *why);

#endif
