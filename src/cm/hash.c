/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "cm/hash_internal.h"

void cm_hash_init(struct cm_hash *h, uint32_t secret)
{
	memset(h, 0, sizeof(*h));
	h->bucket = h->few;
	h->size = CM_HASH_MIN;
	h->secret = secret;
}

void cm_hash_fini(struct cm_hash *h)
{
	BUG_ON(h->count);
	if (h->bucket != h->few)
		free(h->bucket);
	cm_hash_init(h, h->secret);
}

/* Two rounds of a 64-bit finalizer (splitmix64's constants). */
uint32_t cm_hash_of(const struct cm_hash *h, uint64_t a, uint64_t b)
{
	uint64_t x = a ^ ((uint64_t)h->secret << 32 | h->secret);
	int i;

	for (i = 0; i < 2; i++) {
		x ^= x >> 30;
		x *= 0xbf58476d1ce4e5b9ull;
		x ^= x >> 27;
		x *= 0x94d049bb133111ebull;
		x ^= x >> 31;
		x += b;
	}
	return (uint32_t)(x ^ x >> 32);
}

static void link_node(struct cm_hash *h, struct cm_node *n)
{
	struct cm_node **head = &h->bucket[n->hash & (h->size - 1)];

	n->next = *head;
	n->pprev = head;
	if (n->next)
		n->next->pprev = &n->next;
	*head = n;
}

static void hash_resize(struct cm_hash *h, uint32_t size)
{
	struct cm_node **old = h->bucket, **bucket = h->few, *n;
	uint32_t i, old_size = h->size;

	if (size > CM_HASH_MIN) {
		bucket = calloc(size, sizeof(struct cm_node *));
		if (!bucket)
			return;
	} else {
		memset(h->few, 0, sizeof(h->few));
	}
	h->bucket = bucket;
	h->size = size;
	for (i = 0; i < old_size; i++) {
		while ((n = old[i])) {
			old[i] = n->next;
			link_node(h, n);
		}
	}
	if (old != h->few)
		free(old);
}

void cm_hash_add(struct cm_hash *h, struct cm_node *n, uint32_t hash)
{
	if (h->count >= h->size && h->size < 1u << 24)
		hash_resize(h, h->size * 2);
	n->hash = hash;
	link_node(h, n);
	h->count++;
}

void cm_hash_del(struct cm_hash *h, struct cm_node *n)
{
	if (!n->pprev)
		return;
	*n->pprev = n->next;
	if (n->next)
		n->next->pprev = n->pprev;
	n->pprev = NULL;
	h->count--;
	if (h->size > CM_HASH_MIN && h->count < h->size / 8)
		hash_resize(h, h->size / 2);
}
