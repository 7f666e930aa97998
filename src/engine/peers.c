/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "engine/peers.h"

/* The entry for this key, whose link may be dead: its own, or the place of the oldest of the set. It becomes the first. */
static struct peer *peers_place(struct peers *t, const struct peer_key *key)
{
	struct peer *set = peers_set(t, key), *p = peers_find(t, key), entry;

	if (!p)
		p = &set[PEERS_SET - 1];
	entry = *p;
	memmove(set + 1, set, (size_t)(p - set) * sizeof(*p));
	set[0] = entry;
	return set;
}

int peers_look_up(struct peers *t, const struct peer_key *key, const struct peers_ops *ops,
		  ns_t wait, void *arg, const struct peer **peer)
{
	struct peer *p, fresh = { .key = *key };
	ns_t began = ops->now(), end;
	int ret = ops->look_up(&fresh, wait, arg);

	end = ops->now();
	fresh.failed = ret != 0;
	fresh.until = end + PEERS_AGAIN + 10 * min(end - began, PEERS_AGAIN);
	/* Not before the look-up, which may have changed this set. */
	p = peers_place(t, key);
	if (p->link)
		link_put(p->link);
	*p = fresh;
	*peer = p;
	return ret;
}

void peers_drop(struct peers *t, const struct link *l)
{
	for (uint32_t i = 0; i < PEERS_MAX; i++) {
		struct peer *p = &t->peer[i];

		if (!l || p->link != l)
			continue;
		link_put(p->link);
		*p = (struct peer){ .link = NULL };
	}
}

void peers_forget(struct peers *t)
{
	for (uint32_t i = 0; i < PEERS_MAX; i++) {
		if (t->peer[i].link)
			link_put(t->peer[i].link);
		t->peer[i] = (struct peer){ .link = NULL };
	}
}
