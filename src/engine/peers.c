/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/peers.h"

int peers_look_up(struct peers *t, const struct peer_key *key, const struct peers_ops *ops,
		  ns_t wait, void *arg, const struct peer **peer)
{
	struct peer *p = peers_slot(t, key), fresh = { .key = *key };
	ns_t began = ops->now(), end;
	int ret = ops->look_up(&fresh, wait, arg);

	end = ops->now();
	fresh.failed = ret != 0;
	fresh.until = end + PEERS_AGAIN + 10 * min(end - began, PEERS_AGAIN);
	/* Not before the look-up, which may have changed this entry. */
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
