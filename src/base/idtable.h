/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table from small integers to pointers, for object handles and QP indices. A lookup
 * is two loads. The caller serialises all calls.
 */
#ifndef RUSE_BASE_IDTABLE_H
#define RUSE_BASE_IDTABLE_H

#include "base/util.h"

struct idtable {
	void **slot;	/* NULL: free */
	uint32_t size;	/* number of slots allocated */
	uint32_t limit;	/* all ids are below this */
	uint32_t count;	/* number of slots in use */
	uint32_t hint;	/* all ids below this are in use: the search for a free one starts here */
	uint32_t next;	/* start of the cyclic search */
};

void idtable_init(struct idtable *t, uint32_t limit);
/* Frees the table, which must be empty (BUG_ON). */
void idtable_fini(struct idtable *t);
/* Stores ptr (not NULL) at the lowest free id. Returns the id, -ENOMEM, or -ENOSPC at the limit. */
int64_t idtable_alloc(struct idtable *t, void *ptr);
/*
 * Stores ptr (not NULL) at a free id in [min, limit). The search starts after the id that the last call
 * of this function returned, and continues from min at the limit. Returns as idtable_alloc().
 */
int64_t idtable_alloc_cyclic(struct idtable *t, uint32_t min, void *ptr);
/* Frees the id and returns its pointer; NULL if the id was free. */
void *idtable_remove(struct idtable *t, uint32_t id);
/* Finds the lowest id >= *id in use and sets *id. NULL: none. */
void *idtable_next(const struct idtable *t, uint32_t *id);

static inline void *idtable_find(const struct idtable *t, uint32_t id)
{
	return likely(id < t->size) ? t->slot[id] : NULL;
}

#endif
