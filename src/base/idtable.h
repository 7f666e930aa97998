/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table from small integers to pointers: object handles and queue-pair
 * indices. Lookup is two loads. The caller locks.
 */
#ifndef RUSE_BASE_IDTABLE_H
#define RUSE_BASE_IDTABLE_H

#include "base/util.h"

struct idtable {
	void **slot;	/* NULL = free */
	uint32_t size;	/* slots allocated */
	uint32_t limit;	/* ids stay below; set at init */
	uint32_t count;	/* slots in use */
	uint32_t hint;	/* no id below is free (lowest-free search starts here) */
	uint32_t next;	/* where the cyclic search goes on */
};

void idtable_init(struct idtable *t, uint32_t limit);
/* Frees the slots. The table must be empty: a leaked object is a bug (BUG_ON). */
void idtable_fini(struct idtable *t);
/* Stores ptr (not NULL) at the lowest free id. Returns the id, -ENOMEM, or -ENOSPC at the limit. */
int64_t idtable_alloc(struct idtable *t, void *ptr);
/* The same from the id after the last one given, wrapping around to min. Ids stay in [min, limit). */
int64_t idtable_alloc_cyclic(struct idtable *t, uint32_t min, void *ptr);
/* Puts ptr at this id, which must be free: 0, -EBUSY, -ENOMEM, -ENOSPC beyond the limit. */
int idtable_insert(struct idtable *t, uint32_t id, void *ptr);
/* Frees the id and returns what was there (NULL: nothing). */
void *idtable_remove(struct idtable *t, uint32_t id);
/* Lowest id >= *id in use; sets *id. NULL at the end. */
void *idtable_next(const struct idtable *t, uint32_t *id);

static inline void *idtable_find(const struct idtable *t, uint32_t id)
{
	return likely(id < t->size) ? t->slot[id] : NULL;
}

#endif
