/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event files: completion channels and async event files, as uverbs_main.c
 * and uverbs_std_types_async_fd.c have them. An event file is a queue of
 * records for one descriptor; the descriptor itself (an eventfd, semaphore
 * mode) belongs to the host, told through raise and lower.
 *
 * Rules (kernel 6.1): a read returns one record; unread events of an object
 * vanish when it is destroyed; destroy reports how many were read.
 */
#ifndef RUSE_CORE_EVENT_H
#define RUSE_CORE_EVENT_H

#include "base/list.h"

struct event_file;

struct event_file_ops {
	/* One more event can be read: make the descriptor one count more readable. */
	void (*raise)(struct event_file *f);
	/* n unread events vanished: take n counts back, without blocking. */
	void (*lower)(struct event_file *f, uint32_t n);
};

struct event_file {
	const struct event_file_ops *ops;
	struct list_head events;	/* struct event, oldest first */
	uint32_t refs;		/* descriptor, context default, objects that report here */
	bool is_async;		/* 16-byte records, else 8-byte */
	bool gone;		/* device removed: read gives EIO, poll POLLERR */
	void *owner;		/* struct uverbs_file it belongs to; checked for FD attributes */
	int fd;			/* the host's */
};

/* What an object carries for each file it reports to. */
struct event_source {
	struct event_file *file;	/* referenced; NULL = events are not reported */
	struct list_head events;	/* its unread events */
	uint32_t reported;		/* its events that were read */
	uint64_t user_handle;		/* element or cq_handle of the record */
};

struct event_file *event_file_create(const struct event_file_ops *ops, bool is_async, void *owner);
void event_file_get(struct event_file *f);
/* Frees at the last reference. */
void event_file_put(struct event_file *f);

/* file may be NULL. Takes a reference. */
void event_source_init(struct event_source *s, struct event_file *file, uint64_t user_handle);
/* Drops unread events; returns the number that were read. */
uint32_t event_source_fini(struct event_source *s);

/* Queues an event of the object; type is enum ib_event_type, ignored for completion channels. */
void event_raise(struct event_source *s, uint32_t type);
/* The same for events without an object (port events): element is the port number. */
void event_raise_port(struct event_file *f, uint64_t element, uint32_t type);
/* Takes the oldest record into buf: 8 or 16 (the bytes), -EAGAIN when empty, -EINVAL buffer too small, -EIO device gone. */
int event_read(struct event_file *f, void *buf, size_t size);

#endif
