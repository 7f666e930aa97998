/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "core/why_key.h"
#include "wire/be.h"

void key_ended(struct rdev *dev, uint32_t key, bool window)
{
	struct fail_log *h = &dev->fails;
	uint32_t i = h->nkeys++ % DEV_KEY_HISTORY;

	h->key[i].key = key;
	h->key[i].window = window;
	h->key[i].at = rdev_now(dev);
}

/* Position in the history of the latest key with this value that has ended; DEV_KEY_HISTORY: none is remembered. */
static uint32_t key_find_ended(const struct rdev *dev, uint32_t key)
{
	const struct fail_log *h = &dev->fails;
	uint32_t n = min(h->nkeys, DEV_KEY_HISTORY);

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t k = (h->nkeys - i) % DEV_KEY_HISTORY;

		if (h->key[k].key == key)
			return k;
	}
	return DEV_KEY_HISTORY;
}

/* The key of the card that this key would have; 0: none. */
static uint32_t key_of_card(const struct rdev *dev, uint32_t key)
{
	return key_card_of(dev, key)->key;
}

/* No region or window has this key. Was it valid earlier? */
static void key_why_none(const struct rdev *dev, uint32_t key, struct why *why)
{
	const struct fail_log *h = &dev->fails;
	uint32_t k = key_find_ended(dev, key), other;
	uint8_t bytes[4];

	put_le32(bytes, key);
	other = get_be32(bytes);
	if (k < DEV_KEY_HISTORY && h->key[k].window)
		why_set(why, KEY_INVALIDATED, key, rdev_now(dev) - h->key[k].at);
	else if (k < DEV_KEY_HISTORY)
		why_set(why, KEY_DEAD, key, rdev_now(dev) - h->key[k].at);
	else if (key_of_card(dev, key))
		why_set(why, KEY_OLD, key, key_of_card(dev, key));
	else
		why_set(why, KEY_NONE, key, !key ? 2 : other && key_of_card(dev, other) == other);
}

void key_why(const struct rdev *dev, uint32_t pd, uint32_t qpn, uint32_t key, uint64_t va,
	     uint64_t len, uint32_t access, struct why *why)
{
	const struct key_card *c = key_card_of(dev, key);
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
		why_set(why, KEY_RANGE, va, len, c->iova, c->length, key);
		return;
	}
}

void key_why_local(const struct rdev *dev, uint32_t pd, uint32_t index, bool recv, uint32_t key,
		   uint64_t va, uint64_t len, uint32_t access, struct why *why)
{
	const struct key_card *c = key_card_of(dev, key);
	uint32_t ended = key_find_ended(dev, key);
	bool region = c->access & KEY_LOCAL;	/* not a window, whose key is no local key */
	void *addr;

	switch (region ? mr_check(dev, pd, 0, key, va, len, access, &addr) : MR_BAD_KEY) {
	case MR_OK:
	case MR_BAD_KEY:
		if (ended < DEV_KEY_HISTORY)
			why_make(why, recv ? WHY_RECV_DEAD : WHY_LOCAL_DEAD,
				 WHY_VALUES(index, key, va, len,
					    rdev_now(dev) - dev->fails.key[ended].at));
		else
			why_make(why, recv ? WHY_RECV_KEY : WHY_LOCAL_KEY,
				 WHY_VALUES(index, key, va, len));
		return;
	case MR_BAD_PD:
		why_make(why, recv ? WHY_RECV_PD : WHY_LOCAL_PD,
			 WHY_VALUES(index, key, c->pd, pd));
		return;
	case MR_BAD_ACCESS:
		why_make(why, recv ? WHY_RECV_ACCESS : WHY_LOCAL_ACCESS,
			 WHY_VALUES(index, key, c->access & ~KEY_LOCAL));
		return;
	case MR_BAD_RANGE:
		why_make(why, recv ? WHY_RECV_RANGE : WHY_LOCAL_RANGE,
			 WHY_VALUES(index, va, len, c->iova, c->length, key));
		return;
	}
}
