/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * key: a new region gets the index of the key that has ended last, with another low byte, or an index that does not follow the one
 * before. A key that is valid is never given: core/mr.c begins its search for a free index where this says.
 */
#include "core/limits.h"
#include "shake/shake_internal.h"

static struct {
	uint32_t regions;	/* so far */
	uint32_t gone;		/* the key that has ended last; 0: none, or its index is in use again */
	uint32_t event;		/* of the decision, while `wanted` is not 0 */
	uint32_t wanted;	/* the index that was asked for */
	uint64_t bits;
} keys;

void keys_begin(void)
{
	keys.regions = keys.gone = keys.wanted = 0;
}

/* The first region has none before it. */
uint32_t keys_index(void)
{
	uint32_t event = keys.regions++;

	keys.wanted = 0;
	if (!event || !points_decide(SHAKE_KEY, 0, event, &keys.bits))
		return 0;
	keys.event = event;
	if (keys.gone && keys.bits & 1)
		keys.wanted = keys.gone >> 8;
	else
		keys.wanted = 1 + (uint32_t)(keys.bits >> 32) % DEV_MAX_KEY_INDEX;
	return keys.wanted;
}

uint32_t keys_new(struct rdev *dev, uint32_t key)
{
	bool again = keys.gone && keys.wanted == keys.gone >> 8;
	bool taken = keys.wanted && (!again || key >> 8 == keys.wanted);
	struct why why;

	keys.wanted = 0;
	if (taken && again) {
		key = (key & ~0xffu) | ((keys.gone + 1 + (uint32_t)(keys.bits >> 8) % 255) & 0xff);
		why_set(&why, SHAKE_KEY_AGAIN, keys.event, 0, keys.gone, key);
	}
	/* Decisions before this one let the search begin there: the same key is not given at once. */
	if (key == keys.gone)
		key = (key & ~0xffu) | ((key + 1) & 0xff);
	if (key >> 8 == keys.gone >> 8)		/* its index is in use */
		keys.gone = 0;
	if (!taken)
		return key;
	if (!again)
		why_set(&why, SHAKE_KEY_JUMPS, keys.event, 0, 0, key);
	shake_tell(dev, 0, &why, 0, keys.event);
	return key;
}

void keys_gone(uint32_t key)
{
	keys.gone = key;
}
