/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An event is in two lists: that of the file that delivers it, and that of the object it
 * belongs to. Reading the file and destroying the object each remove it from both.
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>
#include "base/log.h"
#include "base/pool.h"
#include "core/event.h"

struct event {
	struct list_head file_entry;	/* in event_file.events or .spare */
	struct list_head src_entry;	/* in event_source.events; an event without a source is in no such list */
	struct event_source *src;	/* NULL: an event of the device's port */
	struct ib_uverbs_async_event_desc desc;
};

/* The record of a completion channel equals the first 8 bytes of an async record. */
_Static_assert(sizeof(struct ib_uverbs_async_event_desc) == 16 &&
	       sizeof(struct ib_uverbs_comp_event_desc) == 8 &&
	       offsetof(struct ib_uverbs_async_event_desc, element) == 0,
	       "event records");

struct event_file *event_file_create(const struct event_file_ops *ops, bool is_async, void *owner)
{
	struct event_file *f = pool_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->ops = ops;
	f->is_async = is_async;
	f->owner = owner;
	f->fd = -1;
	f->refs = 1;
	list_init(&f->events);
	list_init(&f->spare);
	return f;
}

void event_file_get(struct event_file *f)
{
	f->refs++;
}

static void event_free_list(struct list_head *head)
{
	struct event *e, *n;

	list_for_each_entry_safe(e, n, head, file_entry) {
		list_del(&e->src_entry);
		pool_free(e, sizeof(*e));
	}
	list_init(head);
}

void event_file_put(struct event_file *f)
{
	if (BUG_ON(!f->refs) || --f->refs)
		return;
	event_free_list(&f->events);
	event_free_list(&f->spare);
	pool_free(f, sizeof(*f));
}

void event_source_init(struct event_source *s, struct event_file *file, uint64_t user_handle)
{
	struct event *e;

	s->file = file;
	s->reported = 0;
	s->user_handle = user_handle;
	list_init(&s->events);
	if (!file)
		return;
	event_file_get(file);
	/* Allocate an event in advance, so that the first completion does not have to. */
	e = pool_alloc(sizeof(*e));
	if (e) {
		list_init(&e->src_entry);
		list_add(&e->file_entry, &file->spare);
	}
}

uint32_t event_source_fini(struct event_source *s)
{
	struct event *e, *n;
	uint32_t dropped = 0;

	if (!s->file)
		return s->reported;
	list_for_each_entry_safe(e, n, &s->events, src_entry) {
		list_del(&e->src_entry);
		list_del(&e->file_entry);
		list_add(&e->file_entry, &s->file->spare);
		dropped++;
	}
	if (dropped)
		s->file->ops->lower(s->file, dropped);
	/* Free one spare event, since event_source_init() has added one. */
	if (!list_empty(&s->file->spare)) {
		e = list_first_entry(&s->file->spare, struct event, file_entry);
		list_del(&e->file_entry);
		pool_free(e, sizeof(*e));
	}
	event_file_put(s->file);
	s->file = NULL;
	return s->reported;
}

/* Queues an event. If there is no memory the event is lost, as in the kernel. */
static void event_queue(struct event_file *f, struct event_source *src, uint64_t element,
			uint32_t type)
{
	struct event *e;

	if (f->gone)
		return;
	if (list_empty(&f->spare)) {
		e = pool_alloc(sizeof(*e));
		if (!e) {
			log_err("out of memory: asynchronous event %u is lost", type);
			return;
		}
	} else {
		e = list_first_entry(&f->spare, struct event, file_entry);
		list_del(&e->file_entry);
	}
	memset(&e->desc, 0, sizeof(e->desc));
	e->desc.element = element;
	e->desc.event_type = type;
	e->src = src;
	list_add_tail(&e->file_entry, &f->events);
	list_init(&e->src_entry);
	if (src)
		list_add_tail(&e->src_entry, &src->events);
	f->ops->raise(f);
}

noinline void event_raise(struct event_source *s, uint32_t type)
{
	if (s->file)
		event_queue(s->file, s, s->user_handle, s->file->is_async ? type : 0);
}

void event_raise_port(struct event_file *f, uint64_t element, uint32_t type)
{
	event_queue(f, NULL, element, type);
}

int event_read(struct event_file *f, void *buf, size_t size)
{
	size_t len = f->is_async ? sizeof(struct ib_uverbs_async_event_desc) :
				   sizeof(struct ib_uverbs_comp_event_desc);
	struct event *e;

	if (list_empty(&f->events))
		return f->gone ? -EIO : -EAGAIN;
	if (size < len)
		return -EINVAL;
	e = list_first_entry(&f->events, struct event, file_entry);
	memcpy(buf, &e->desc, len);
	if (e->src)
		e->src->reported++;
	list_del(&e->src_entry);
	list_del(&e->file_entry);
	list_add(&e->file_entry, &f->spare);
	return (int)len;
}
