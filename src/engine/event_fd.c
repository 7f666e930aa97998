/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors of event files: completion channels and asynchronous events. The program has the read
 * end of a pipe, which answers poll, write, lseek, F_GETFL and O_ASYNC as the kernel's event files do.
 * The engine has the other end. A record of 8 bytes is in the pipe for each unread event; a reader
 * takes it before it takes the event.
 *
 * The engine's end is opened for reading and writing, through /proc: a write to it then never fails for
 * want of a reader, which would raise SIGPIPE. Where this is refused both have the same eventfd, which
 * is writable too.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include "base/fds.h"
#include "base/sys.h"
#include "engine/engine_internal.h"

#define EVENT_RECORD sizeof(uint64_t)

/* One record, and those that had no room before. */
void efile_event_raise(struct event_file *f)
{
	uint64_t one = 1;

	if (f->fd < 0)
		return;
	f->unsaid++;
	while (f->unsaid && sys_write(f->fd, &one, EVENT_RECORD) == EVENT_RECORD)
		f->unsaid--;
}

/* An event was read, so there may be room for the record of another one. */
void efile_event_more(struct event_file *f)
{
	if (likely(!f->unsaid))
		return;
	f->unsaid--;
	efile_event_raise(f);
}

/*
 * Take n records back, because n events were removed unread. There may be fewer, since a reader that
 * wakes up takes the record before it takes the event. The read fails then instead of waiting.
 */
static void efile_event_lower(struct event_file *f, uint32_t n)
{
	uint64_t v;
	struct iovec iov = { &v, sizeof(v) };
	uint32_t unsaid = min(n, f->unsaid);
	long ret = 1;

	f->unsaid -= unsaid;
	for (n -= unsaid; f->fd >= 0 && n && ret > 0; n--)
		ret = f->pipe ? sys_read(f->fd, &v, sizeof(v)) :
			sys_call(SYS_preadv2, f->fd, &iov, 1, -1L, -1L, RWF_NOWAIT);
}

const struct event_file_ops efile_event_ops = {
	.raise = efile_event_raise,
	.lower = efile_event_lower,
};

/* 0, or -errno and ev is unchanged. The program may close, dup or replace its end, *fd. */
static int event_fd_open(struct event_file *ev, int *fd)
{
	int ends[2], own;
	bool pipe = !fds_event_pipe(ends);

	if (!pipe) {
		ends[0] = fds_event(0, EFD_CLOEXEC | EFD_SEMAPHORE);
		if (ends[0] < 0)
			return ends[0];
	}
	own = own_dup(pipe ? ends[1] : ends[0]);
	if (pipe)
		sys_close(ends[1]);
	if (own < 0) {
		sys_close(ends[0]);
		return own;
	}
	ev->fd = own;
	ev->pipe = pipe;
	ev->unsaid = 0;
	ev->generation = engine.generation;
	*fd = ends[0];
	return 0;
}

int efile_event_install(struct uverbs_file *f, struct event_file *ev)
{
	int fd, ret = event_fd_open(ev, &fd);

	if (ret)
		return ret;
	ret = engine.host->event_install(ev, fd, ev->is_async);
	if (!ret)
		return fd;
	own_close(ev->fd);
	ev->fd = -1;
	sys_close(fd);
	return ret;
}

int efile_event_renew(struct event_file *ev)
{
	int fd, old = ev->fd, ret = event_fd_open(ev, &fd);

	if (ret)
		return ret;
	own_close(old);
	for (struct list_head *e = ev->events.next; e != &ev->events; e = e->next)
		efile_event_raise(ev);
	return fd;
}

void efile_event_uninstall(struct uverbs_file *f, struct event_file *ev, int fd)
{
	engine.host->event_uninstall(fd);
	sys_close(fd);
	own_close(ev->fd);
	ev->fd = -1;
	event_file_put(ev);
}

struct event_file *efile_event_lookup(struct uverbs_file *f, int fd)
{
	return engine.host->event_lookup(fd);
}
