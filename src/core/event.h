/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event files: completion channels and async event files, as in the kernel's uverbs_main.c
 * and uverbs_std_types_async_fd.c. An event file is a queue of records for one descriptor.
 * The descriptor is an eventfd in semaphore mode and belongs to engine/. core/ calls raise()
 * and lower() of event_file_ops when its count must change.
 *
 * Rules (kernel 6.1): a read returns one record. Destroying an object drops its unread
 * events and reports how many of its events were read.
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
	/* An event was queued: adds 1 to the descriptor's count. */
	void (*raise)(struct event_file *f);
	/* n unread events were dropped: subtracts n from the count, without blocking. */
	void (*lower)(struct event_file *f, uint32_t n);
};

struct event_file {
	const struct event_file_ops *ops;
	struct list_head events;	/* struct event, oldest first */
	struct list_head spare;	/* unused struct event, kept so that raising an event rarely allocates memory */
	uint32_t refs;		/* references held by its descriptor, its uverbs file, the context and event sources */
	bool is_async;		/* async event file, with records of 16 bytes; false: completion channel, of 8 bytes */
	bool gone;		/* device removed: read gives EIO, poll POLLERR */
	void *owner;		/* its struct uverbs_file; a command of another uverbs file may not name this event file */
	int fd;			/* engine/: its end of the descriptor */
	bool pipe;		/* engine/: fd is the other end of a pipe; false: an eventfd */
	uint32_t unsaid;	/* engine/: unread events for which fd had no room */
	uint32_t generation;	/* engine/: engine.generation when it was made; in a forked child engine.generation differs */
};

/* Embedded in an object, once for each event file that it reports to. */
struct event_source {
	struct event_file *file;	/* holds a reference; NULL: events are not reported */
	struct list_head events;	/* unread events */
	uint32_t reported;		/* number of events that were read */
	uint64_t user_handle;		/* identifies the object in a record: element (async) or cq_handle (channel) */
};

struct event_file *event_file_create(const struct event_file_ops *ops, bool is_async, void *owner);
void event_file_get(struct event_file *f);
/* Drops a reference; the last one frees the file and its events. */
void event_file_put(struct event_file *f);

/* Takes a reference to file, which may be NULL. user_handle: identifies the object in records. */
void event_source_init(struct event_source *s, struct event_file *file, uint64_t user_handle);
/* Drops unread events and the reference; returns the number of events that were read. */
uint32_t event_source_fini(struct event_source *s);

/*
 * Queues an event of the object. type is an enum ib_event_type, ignored for a completion
 * channel. Without a file, or if its device is gone, nothing happens. Without memory the event is
 * lost and an error is logged.
 */
void event_raise(struct event_source *s, uint32_t type);
/* Queues a port event, which belongs to no object. element: the port number. If the device is gone, nothing happens. */
void event_raise_port(struct event_file *f, uint64_t element, uint32_t type);
/*
 * Moves the oldest record to buf. Returns its size (8 or 16 bytes), -EAGAIN if there is
 * none, -EIO if there is none and the device is gone, -EINVAL if size is too small (the
 * record stays). buf must not be memory of the program. The caller decrements the
 * descriptor's count.
 */
int event_read(struct event_file *f, void *buf, size_t size);

#endif
