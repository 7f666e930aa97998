/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doubly linked circular list, with the names of the kernel's list.h. */
#ifndef RUSE_BASE_LIST_H
#define RUSE_BASE_LIST_H

#include "base/util.h"

struct list_head {
	struct list_head *next, *prev;
};

static inline void list_init(struct list_head *h)
{
	h->next = h->prev = h;
}

static inline void list_add_between(struct list_head *n, struct list_head *prev,
				    struct list_head *next)
{
	next->prev = n;
	n->next = next;
	n->prev = prev;
	prev->next = n;
}

static inline void list_add(struct list_head *n, struct list_head *h)
{
	list_add_between(n, h, h->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	list_add_between(n, h->prev, h);
}

/* Initialises the removed entry, so that deleting it twice is harmless. */
static inline void list_del(struct list_head *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	list_init(e);
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(h, type, member) list_entry((h)->next, type, member)

#define list_for_each_entry(pos, h, member)                                    \
	for (pos = list_entry((h)->next, __typeof__(*pos), member);            \
	     &pos->member != (h);                                              \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

#define list_for_each_entry_safe(pos, n, h, member)                            \
	for (pos = list_entry((h)->next, __typeof__(*pos), member),            \
	    n = list_entry(pos->member.next, __typeof__(*pos), member);        \
	     &pos->member != (h);                                              \
	     pos = n, n = list_entry(n->member.next, __typeof__(*n), member))

#endif
