/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Uverbs files and event files: open, close, write, ioctl, event reads and mmap. Also fills
 * proc_page.ctx, the counts of objects that rused reads for `ruse status`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include "base/fds.h"
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "engine/wire.h"
#include "engine/res.h"
#include "engine/rings.h"

static void efile_event_raise(struct event_file *f)
{
	uint64_t one = 1;

	if (f->fd >= 0)
		sys_write(f->fd, &one, sizeof(one));
}

/*
 * Take n from the eventfd's count, because n events were removed unread. The count may already be
 * lower, since a reader that wakes up decrements it before it takes the event. RWF_NOWAIT makes the
 * read fail then instead of waiting.
 */
static void efile_event_lower(struct event_file *f, uint32_t n)
{
	uint64_t v;
	struct iovec iov = { &v, sizeof(v) };

	while (f->fd >= 0 && n--)
		if (sys_call(SYS_preadv2, f->fd, &iov, 1, -1L, -1L, RWF_NOWAIT) < 0)
			return;
}

static const struct event_file_ops event_ops = {
	.raise = efile_event_raise,
	.lower = efile_event_lower,
};

/*
 * The program gets one descriptor and the engine keeps a dup, because the program may close,
 * dup or replace its own.
 */
int efile_event_install(struct uverbs_file *f, struct event_file *ev)
{
	int fd = fds_event(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	int ret;

	if (fd < 0)
		return fd;
	ev->fd = own_dup(fd);
	if (ev->fd < 0) {
		ret = ev->fd;
		goto fail;
	}
	ev->generation = engine.generation;
	ret = engine.host->event_install(ev, fd, ev->is_async);
	if (!ret)
		return fd;
	own_close(ev->fd);
	ev->fd = -1;
fail:
	sys_close(fd);
	return ret;
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

/* Tell rused of the context and reserve an entry of proc_page.ctx for its counts. If all are in use, it has none. */
int efile_announce(struct efile *ef)
{
	struct ipc_context c = { .dev_index = ef->edev->dev.index, .opened = 1 };
	size_t rsize = 0;
	int ret = rused_call(IPC_CONTEXT, &c, sizeof(c), NULL, &rsize);

	if (ret)
		return ret;
	ef->slot = -1;
	for (int i = 0; i < PROC_MAX_CTX && ef->slot < 0; i++)
		if (!engine.proc_page->ctx[i].dev_index)
			ef->slot = i;
	if (ef->slot >= 0)
		engine.proc_page->ctx[ef->slot] = (struct proc_ctx){ .dev_index = c.dev_index };
	return 0;
}

static int efile_open(uint32_t minor, bool cloexec, struct uverbs_file **f)
{
	struct host_page *copy = NULL;
	const struct host_dev *hd;
	struct efile *ef;
	int ret, fd;

	ret = attach_locked();
	if (ret)
		return ret;
	ef = calloc(1, sizeof(*ef));
	copy = malloc(sizeof(*copy));
	if (!ef || !copy) {
		ret = -ENOMEM;
		goto free;
	}
	ret = host_page_read(engine.host_page, copy);
	if (ret)
		goto free;
	hd = host_dev_by_minor(copy, minor);
	ret = hd ? edev_get(hd, &ef->edev) : -ENOENT;
	if (ret)
		goto free;
	ret = progress_start();
	if (ret)
		goto free;
	ret = rings_init(ef);
	if (ret)
		goto free;
	ef->uctx.dev = &ef->edev->dev;
	ef->uctx.ops = &ring_ops;
	ef->uctx.host = ef;
	ef->generation = engine.generation;
	ret = efile_announce(ef);
	if (ret)
		goto rings;
	/* The program keeps the low number; the engine's descriptor moves to a high one. */
	fd = ef->memfd;
	ef->memfd = own_dup(fd);
	if (ef->memfd < 0) {
		ret = ef->memfd;
		ef->memfd = fd;
		goto rings;
	}
	if (!cloexec)
		sys_fcntl(fd, F_SETFD, 0);
	ret = uverbs_open(&ef->uctx, &uverbs_host_ops, &event_ops, &ef->uf);
	if (ret) {
		sys_close(fd);
		goto rings;
	}
	res_ctx(&ef->uctx, false);
	list_add_tail(&ef->entry, &engine.files);
	free(copy);
	*f = ef->uf;
	return fd;
rings:
	rings_fini(ef);
free:
	free(copy);
	free(ef);
	return ret;
}

int engine_open(uint32_t minor, bool cloexec, struct uverbs_file **f)
{
	int ret;

	engine_check_fork();
	if (unlikely(inherit_pending)) {
		/*
		 * The engine cannot hold the parent's devices and new ones at once. Take over if
		 * the parent is dead; otherwise drop the parent's devices.
		 */
		inherit_try();
		inherit_drop();
	}
	if (!engine_lock())
		return -EDEADLK;
	ret = engine.failed ? -EIO : efile_open(minor, cloexec, f);
	if (ret == -ENOMEM || ret == -EAGAIN)
		attach_tell(ret);
	engine_unlock();
	return ret;
}

void engine_close(struct uverbs_file *f)
{
	struct efile *ef = uverbs_ucontext(f)->host;
	struct ipc_context c = { .dev_index = ef->edev->dev.index };

	if (engine_abandoned(f)) {
		inherit_drop();
		return;
	}
	if (!engine_lock())
		return;
	list_del(&ef->entry);
	uverbs_close(f);
	res_ctx(&ef->uctx, true);
	if (ef->slot >= 0)
		engine.proc_page->ctx[ef->slot].dev_index = 0;
	/*
	 * Without a connection nothing is sent: rused forgets the contexts of a process whose
	 * connection ends.
	 */
	rused_tell(IPC_CONTEXT, &c, sizeof(c));
	rings_fini(ef);
	free(ef);
	engine_unlock();
}

void *engine_map(struct uverbs_file *f, size_t len, uint64_t offset)
{
	return ring_view(uverbs_ucontext(f)->host, len, offset);
}

HOT __flatten ssize_t engine_write(struct uverbs_file *f, const void *buf, size_t count)
{
	ssize_t ret;

	if (unlikely(engine_stale(f)))
		return -EIO;
	if (unlikely(!engine_lock()))
		return (ssize_t)count;	/* doorbell in a signal handler: the lock's owner runs it */
	ret = engine.failed ? -EIO : uverbs_write(f, buf, count);
	wire_flush();
	engine_unlock();
	return ret;
}

/* Write the context's object counts to proc_page.ctx, where rused reads them for `ruse status`. */
static void page_context(const struct efile *ef)
{
	const struct ucontext *u = &ef->uctx;

	if (ef->slot >= 0)
		engine.proc_page->ctx[ef->slot] = (struct proc_ctx){ u->dev->index, u->npd, u->nmr,
			u->ncq, u->nqp, u->nah };
}

int engine_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg)
{
	int ret;

	if (engine_stale(f))
		return -EIO;
	if (!engine_lock())
		return -EDEADLK;
	ret = engine.failed ? -EIO : uverbs_ioctl(f, cmd, arg);
	page_context(uverbs_ucontext(f)->host);
	wire_flush();
	engine_unlock();
	return ret;
}

static bool event_stale(const struct event_file *ev)
{
	engine_check_fork();
	if (likely(ev->generation == engine.generation))
		return false;
	inherit_try();
	return ev->generation != engine.generation;
}

ssize_t engine_event_read(struct event_file *ev, int fd, void *buf, size_t count)
{
	char record[16];
	uint64_t v;
	ssize_t ret;

	if (event_stale(ev))
		return -EIO;
	if (count < (ev->is_async ? 16 : 8))
		return -EINVAL;
	do {
		ret = engine.host->event_wait(fd, &v, sizeof(v));
		if (ret < 0)
			return ret;
		if (event_stale(ev))
			return -EIO;
		if (!engine_lock())
			return -EDEADLK;
		ret = event_read(ev, record, sizeof(record));
		if (ret == -EIO)	/* the device is gone: every later read must wake up too */
			efile_event_raise(ev);
		engine_unlock();
		/* -EAGAIN: the count belonged to an event that vanished with its object. */
	} while (ret == -EAGAIN);
	if (ret > 0 && umem_copy(buf, record, ret))
		return -EFAULT;
	return ret;
}

void engine_event_close(struct event_file *ev)
{
	if (event_stale(ev) || !engine_lock())
		return;
	own_close(ev->fd);
	ev->fd = -1;
	event_file_put(ev);
	engine_unlock();
}

struct page_fill {
	uint32_t n;
};

static void page_link(struct link *l, uint32_t proc, uint32_t flags, void *arg)
{
	struct page_fill *fill = arg;
	struct proc_link *pl;

	if (fill->n == PROC_MAX_LINKS)
		return;
	pl = &engine.proc_page->link[fill->n++];
	*pl = (struct proc_link){ .kind = l == engine.loop ? 1 : wire_peer(l) ? 3 : 2,
		.peer_proc = proc,
		.flags = flags | l->dead, .tx_segs = l->tx_segs, .tx_bytes = l->tx_bytes,
		.rx_segs = l->rx_segs, .rx_bytes = l->rx_bytes };
	if (wire_peer(l))
		memcpy(pl->gid, wire_peer(l), sizeof(pl->gid));
}

static void page_wire(struct link *l, void *arg)
{
	page_link(l, 0, 0, arg);
}

/*
 * Update what `ruse status` shows of this process. Called by the progress thread, at most a
 * few times a second.
 */
void own_page_update(void)
{
	struct page_fill fill = { 0 };
	struct efile *ef;

	list_for_each_entry(ef, &engine.files, entry)
		page_context(ef);
	if (engine.loop && engine.loop->tx_segs)
		page_link(engine.loop, engine.proc, 0, &fill);
	if (engine.ep)
		shm_for_each(engine.ep, page_link, &fill);
	wire_for_each(page_wire, &fill);
	while (fill.n < PROC_MAX_LINKS && engine.proc_page->link[fill.n].kind)
		engine.proc_page->link[fill.n++].kind = 0;
}
