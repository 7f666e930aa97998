/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "base/idtable.h"
#include "base/log.h"
#include "base/pool.h"

#define IDTABLE_MIN_SLOTS 16u

void idtable_init(struct idtable *t, uint32_t limit)
{
	memset(t, 0, sizeof(*t));
	t->limit = limit;
}

void idtable_fini(struct idtable *t)
{
	if (BUG_ON(t->count))
		return;
	pool_free(t->slot, t->size * sizeof(*t->slot));
	t->slot = NULL;
	t->size = t->hint = t->next = 0;
}

/* Grows the table to include this id, which is below the limit. */
static int idtable_grow(struct idtable *t, uint32_t id)
{
	uint64_t want = max(t->size, IDTABLE_MIN_SLOTS);
	void **slot;

	if (id < t->size)
		return 0;
	while (want <= id)
		want *= 2;
	want = min(want, (uint64_t)t->limit);
	slot = pool_grow(t->slot, t->size * sizeof(*slot), want * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	memset(slot + t->size, 0, (want - t->size) * sizeof(*slot));
	t->slot = slot;
	t->size = (uint32_t)want;
	return 0;
}

/* Lowest free id in [from, limit); limit if there is none. */
static uint32_t idtable_free_from(const struct idtable *t, uint32_t from)
{
	while (from < t->size && t->slot[from])
		from++;
	return min(from, t->limit);
}

static int64_t idtable_put(struct idtable *t, uint32_t id, void *ptr)
{
	int err = idtable_grow(t, id);

	if (err)
		return err;
	t->slot[id] = ptr;
	t->count++;
	if (id == t->hint)
		t->hint = id + 1;
	return id;
}

int64_t idtable_alloc(struct idtable *t, void *ptr)
{
	uint32_t id;

	if (BUG_ON(!ptr))
		return -ENOSPC;
	id = idtable_free_from(t, t->hint);
	if (id >= t->limit)
		return -ENOSPC;
	t->hint = id;
	return idtable_put(t, id, ptr);
}

int64_t idtable_alloc_cyclic(struct idtable *t, uint32_t min, void *ptr)
{
	uint32_t id;
	int64_t ret;

	if (BUG_ON(!ptr))
		return -ENOSPC;
	id = idtable_free_from(t, max(t->next, min));
	if (id >= t->limit)
		id = idtable_free_from(t, min);
	if (id >= t->limit)
		return -ENOSPC;
	ret = idtable_put(t, id, ptr);
	if (ret >= 0)
		t->next = id + 1;
	return ret;
}

void *idtable_remove(struct idtable *t, uint32_t id)
{
	void *ptr = idtable_find(t, id);

	if (!ptr)
		return NULL;
	t->slot[id] = NULL;
	t->count--;
	t->hint = min(t->hint, id);
	return ptr;
}

void *idtable_next(const struct idtable *t, uint32_t *id)
{
	for (; *id < t->size; ++*id)
		if (t->slot[*id])
			return t->slot[*id];
	return NULL;
}
