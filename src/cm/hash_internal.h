/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hash table of nodes embedded in the objects. Adding never fails: without memory
 * for more buckets the chains get longer. The secret keeps peers, which choose some
 * of the keys, from making long chains.
 */
#ifndef RUSE_CM_HASH_INTERNAL_H
#define RUSE_CM_HASH_INTERNAL_H

#include "base/util.h"

struct cm_node {
	struct cm_node *next, **pprev;	/* pprev NULL: not in a hash table */
	uint32_t hash;
};

#define CM_HASH_MIN 16u

struct cm_hash {
	struct cm_node **bucket;
	uint32_t size, count;		/* buckets (a power of two), nodes */
	uint32_t secret;
	struct cm_node *few[CM_HASH_MIN]; /* buckets while size is CM_HASH_MIN */
};

void cm_hash_init(struct cm_hash *h, uint32_t secret);
/* h must be empty (BUG_ON). */
void cm_hash_fini(struct cm_hash *h);
uint32_t cm_hash_of(const struct cm_hash *h, uint64_t a, uint64_t b);
void cm_hash_add(struct cm_hash *h, struct cm_node *n, uint32_t hash);
/* Does nothing if the node is not in a hash table. */
void cm_hash_del(struct cm_hash *h, struct cm_node *n);

#define cm_hash_for_each(n, h, value)                                          \
	for (n = (h)->bucket[(value) & ((h)->size - 1)]; n; n = n->next)       \
		if (n->hash == (value))

#endif
