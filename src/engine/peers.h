/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of peers: which link leads to a destination, and which destinations have none.
 *
 * A look-up asks rused and connects to a process, so its result is kept. A link is kept until its
 * peer is dead. That there is no link is kept for a short time, because a program may start at any
 * moment. The caller says how its kind of destination is looked up (struct peers_ops). The table
 * knows neither rused nor the clock. The caller holds the engine lock.
 */
#ifndef RUSE_ENGINE_PEERS_H
#define RUSE_ENGINE_PEERS_H

#include "link/link.h"

struct ib_path;

#define PEERS_MAX 256u	/* entries; power of two */
/* Entries that a key may have: a set. So a program with few peers does not look one up again for another. */
#define PEERS_SET 4u

/*
 * A destination without a link is left alone for this time, plus ten times the duration of the
 * look-up, of which at most this time counts. After a failure, look-ups for datagrams wait at most
 * this long: all of them together take about a tenth of the program's time.
 */
#define PEERS_AGAIN (20 * NS_MS)

/* How long a look-up waits for a peer that is slow to answer: at RTR of a QP, which fails then, */
#define PEERS_WAIT_CONNECT (3 * NS_S)
/* and at a doorbell with a datagram, see peers_wait(). It is long, because many programs never repeat their first. */
#define PEERS_WAIT_DATAGRAM NS_S

/* A destination. All bytes of a key are compared, so one that is unused is 0. */
struct peer_key {
	uint64_t addr[2];	/* a GID, or LIDs and more; 0: the block alone tells which process it is */
	uint32_t dev;		/* index of the sending device; 0: any */
	uint32_t block;		/* block of the destination QP number */
};

struct peer {
	struct peer_key key;
	struct link *link;	/* a reference; NULL: no process has the block of QP numbers, or it does not answer */
	struct ib_path *path;	/* on InfiniBand ports */
	ns_t until;		/* link is NULL: when the destination is looked up again */
	bool failed;		/* the look-up failed: it is not known whether there is a link */
};

struct peers {
	struct peer peer[PEERS_MAX];	/* sets, by the hash of the key; the latest of a set is its first */
};

struct peers_ops {
	ns_t (*now)(void);
	/*
	 * Set p->link, which gets a reference, and p->path for p->key. Wait for at most `wait` ns.
	 * 0; 0 and p->link is NULL: no process has the block; or -errno: unknown.
	 */
	int (*look_up)(struct peer *p, ns_t wait, void *arg);
};

/*
 * Look the destination up and store the result. Returns look_up()'s result; *peer is the entry, valid
 * until the next call.
 */
int peers_look_up(struct peers *t, const struct peer_key *key, const struct peers_ops *ops,
		  ns_t wait, void *arg, const struct peer **peer);
/* Forget a link whose peer is dead, so that what it has mapped is not kept until the places are needed. */
void peers_drop(struct peers *t, const struct link *l);
/* Forget everything, and drop the references. */
void peers_forget(struct peers *t);

/* The set of this key. */
static inline struct peer *peers_set(struct peers *t, const struct peer_key *k)
{
	uint64_t h = k->addr[0] ^ k->addr[1] ^ k->dev ^ (uint64_t)k->block << 32;

	return &t->peer[h * 0x9e3779b97f4a7c15ull >> 56 & (PEERS_MAX - PEERS_SET)];
}

static inline bool peer_is(const struct peer *p, const struct peer_key *k)
{
	return p->key.addr[0] == k->addr[0] && p->key.addr[1] == k->addr[1] &&
	       p->key.dev == k->dev && p->key.block == k->block;
}

/* The entry of this key, or NULL. */
static inline struct peer *peers_find(struct peers *t, const struct peer_key *k)
{
	struct peer *p = peers_set(t, k);

	for (uint32_t i = 0; i < PEERS_SET; i++)
		if (likely(peer_is(&p[i], k)))
			return &p[i];
	return NULL;
}

/* How long a look-up for a datagram to this destination may wait. */
static inline ns_t peers_wait(struct peers *t, const struct peer_key *key)
{
	const struct peer *p = peers_find(t, key);

	return p && p->failed ? PEERS_AGAIN : PEERS_WAIT_DATAGRAM;
}

/* What is known of the destination: an entry, perhaps without a link. NULL: look it up. */
static inline const struct peer *peers_known(struct peers *t, const struct peer_key *key, ns_t now)
{
	const struct peer *p = peers_find(t, key);

	if (unlikely(!p))
		return NULL;
	return (likely(p->link) ? !p->link->dead : now < p->until) ? p : NULL;
}

#endif
