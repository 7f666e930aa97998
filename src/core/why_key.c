/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/why_key.h"

void key_ended(struct rdev *dev, uint32_t key, bool window)
{
	struct fail_log *h = &dev->fails;
	uint32_t i = h->nkeys++ % DEV_KEY_HISTORY;

	h->key[i].key = key;
	h->key[i].window = window;
	h->key[i].at = rdev_now(dev);
}

/* No region or window has this key. Was it valid earlier? */
static void key_why_none(const struct rdev *dev, uint32_t key, struct why *why)
{
	const struct fail_log *h = &dev->fails;
	uint32_t n = min(h->nkeys, DEV_KEY_HISTORY), index = key >> 8;
	ns_t now = rdev_now(dev);

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t k = (h->nkeys - i) % DEV_KEY_HISTORY;

		if (h->key[k].key != key)
			continue;
		if (h->key[k].window)
			why_set(why, KEY_INVALIDATED, key, now - h->key[k].at);
		else
			why_set(why, KEY_DEAD, key, now - h->key[k].at);
		return;
	}
	if (index <= DEV_MAX_KEY_INDEX && dev->keys[index].key)
		why_set(why, KEY_OLD, key, dev->keys[index].key);
	else
		why_set(why, KEY_NONE, key);
}

void key_why(const struct rdev *dev, uint32_t pd, uint32_t qpn, uint32_t key, uint64_t va,
	     uint64_t len, uint32_t access, struct why *why)
{
	const struct key_card *c = &dev->keys[min(key >> 8, (uint32_t)DEV_MAX_KEY_INDEX)];
	void *addr;

	switch (mr_check(dev, pd, qpn, key, va, len, access, &addr)) {
	case MR_OK:
	case MR_BAD_KEY:
		key_why_none(dev, key, why);
		return;
	case MR_BAD_PD:
		if (c->pd != pd)
			why_set(why, KEY_PD, key, c->pd, pd);
		else
			why_set(why, KEY_QP, key, c->qpn, qpn);
		return;
	case MR_BAD_ACCESS:
		if (!c->access)
			why_set(why, KEY_UNBOUND, key);
		else
			why_set(why, KEY_ACCESS, key, c->access & ~KEY_LOCAL, access);
		return;
	case MR_BAD_RANGE:
		why_set(why, KEY_RANGE, va, va + len, c->iova, c->iova + c->length, key);
		return;
	}
}

enum key_fault key_fault(const struct rdev *dev, uint32_t pd, uint32_t qpn, uint32_t key,
			 uint64_t va, uint64_t len, uint32_t access)
{
	void *addr;

	switch (mr_check(dev, pd, qpn, key, va, len, access, &addr)) {
	case MR_BAD_PD:
		return KEY_FAULT_PD;
	case MR_BAD_ACCESS:
		return KEY_FAULT_ACCESS;
	case MR_BAD_RANGE:
		return KEY_FAULT_RANGE;
	case MR_OK:
	case MR_BAD_KEY:
		break;
	}
	return KEY_FAULT_UNKNOWN;
}
