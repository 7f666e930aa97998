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
/* What is wrong with a local key: the numbers of the choices in RECV_KEY and LOCAL_KEY of why.def. */
enum key_fault { KEY_FAULT_UNKNOWN, KEY_FAULT_PD, KEY_FAULT_ACCESS, KEY_FAULT_RANGE };
enum key_fault key_fault(const struct rdev *dev, uint32_t pd, uint32_t qpn, uint32_t key,
			 uint64_t va, uint64_t len, uint32_t access);

#endif
