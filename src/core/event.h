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

/* event_type of a record of an async event file (enum ib_event_type of the kernel). */
enum ib_event_type {
	IB_EVENT_CQ_ERR,
	IB_EVENT_QP_FATAL,
	IB_EVENT_QP_REQ_ERR,
	IB_EVENT_QP_ACCESS_ERR,
	IB_EVENT_COMM_EST,
	IB_EVENT_SQ_DRAINED,
	IB_EVENT_PATH_MIG,
	IB_EVENT_PATH_MIG_ERR,
	IB_EVENT_DEVICE_FATAL,
	IB_EVENT_PORT_ACTIVE,
	IB_EVENT_PORT_ERR,
	IB_EVENT_LID_CHANGE,
	IB_EVENT_PKEY_CHANGE,
	IB_EVENT_SM_CHANGE,
	IB_EVENT_SRQ_ERR,
	IB_EVENT_SRQ_LIMIT_REACHED,
	IB_EVENT_QP_LAST_WQE_REACHED,
	IB_EVENT_CLIENT_REREGISTER,
	IB_EVENT_GID_CHANGE,
	IB_EVENT_WQ_FATAL
};

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
	struct list_head spare;	/* struct event, to be used again: raising allocates nothing in steady state */
	uint32_t refs;		/* descriptor, context default, objects that report here */
	bool is_async;		/* 16-byte records, else 8-byte */
	bool gone;		/* device removed: read gives EIO, poll POLLERR */
	void *owner;		/* struct uverbs_file it belongs to; checked for FD attributes */
	int fd;			/* the host's */
	uint32_t generation;	/* the host's */
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

/* Queues an event of the object; type is enum ib_event_type, ignored for completion channels. Nothing when the file is gone. */
void event_raise(struct event_source *s, uint32_t type);
/* The same for events without an object (port events): element is the port number. */
void event_raise_port(struct event_file *f, uint64_t element, uint32_t type);
/*
 * Takes the oldest record into buf: 8 or 16 (the bytes), -EAGAIN when empty,
 * -EIO when empty and the device is gone, -EINVAL buffer too small (the record
 * stays). buf is ours, not the program's. The descriptor's count is the
 * caller's to take down, before or after.
 */
int event_read(struct event_file *f, void *buf, size_t size);

#endif
