/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Uverbs files and event files: open, close, write, ioctl, event reads and mmap. Also fills
 * proc_page.ctx, the counts of objects that rused reads for `ruse status`.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/pool.h"
#include "base/sys.h"
#include "core/umem.h"
#include "core/umem_mask.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/faults.h"
#include "engine/qps.h"
#include "engine/wire.h"
#include "engine/res.h"
#include "engine/rings.h"

/* Tell rused of the context and reserve an entry of proc_page.ctx for its counts. If all are in use, it has none. */
int efile_announce(struct efile *ef)
{
	struct ipc_context c = { .dev_index = ef->edev->dev.index, .opened = 1 };
	struct rused_msg m = { .q = { IPC_REQ(IPC_CONTEXT, &c) }, .locked = true };
	int ret = rused_ask(&m);

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
	const struct host_page *copy;
	const struct host_dev *hd;
	struct efile *ef;
	int ret, fd;

	ret = attach_locked();
	if (ret)
		return ret;
	ef = pool_zalloc(sizeof(*ef));
	if (!ef)
		return -ENOMEM;
	ret = -EPROTO;
	copy = host_page_copy();
	if (!copy)
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
	ret = uverbs_open(&ef->uctx, &engine_uverbs_ops, &efile_event_ops, &ef->uf);
	if (ret) {
		sys_close(fd);
		goto rings;
	}
	res_ctx(&ef->uctx, false);
	engine.proc_page->life.contexts++;
	list_add_tail(&ef->entry, &engine.files);
	*f = ef->uf;
	return fd;
rings:
	rings_fini(ef);
free:
	pool_free(ef, sizeof(*ef));
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
	struct rused_msg m = { .q = { IPC_REQ(IPC_CONTEXT, &c) }, .locked = true };
	struct quiet q;

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
	rused_tell(&m);
	rings_fini(ef);
	pool_free(ef, sizeof(*ef));
	q = quiet_command();
	engine_unlock();
	if (unlikely(q.withdrawn))
		quiet_wait(q);
}

void *engine_map(struct uverbs_file *f, size_t len, uint64_t offset)
{
	return ring_view(uverbs_ucontext(f)->host, len, offset);
}

HOT __flatten ssize_t engine_write(struct uverbs_file *f, const void *buf, size_t count)
{
	struct quiet q = { 0 };
	ssize_t ret;

	if (unlikely(engine_stale(f))) {
		checks_forked();
		return -EIO;
	}
	if (unlikely(!engine_lock()))
		return (ssize_t)count;	/* doorbell in a signal handler: the lock's owner runs it */
	ret = engine.failed ? -EIO : uverbs_write(f, buf, count);
	wire_flush();
	if (unlikely(engine.withdrawn))
		q = quiet_command();
	engine_unlock();
	if (unlikely(q.withdrawn))
		quiet_wait(q);
	return ret;
}

/* Write the context's object counts to proc_page.ctx, where rused reads them for `ruse status`. */
static void page_context(const struct efile *ef)
{
	const struct ucontext *u = &ef->uctx;

	if (ef->slot >= 0)
		engine.proc_page->ctx[ef->slot] = (struct proc_ctx){ u->dev->index, u->npd, u->nmr,
			u->ncq, u->nqp, u->nah, u->nsrq, u->nmw };
}

int engine_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg)
{
	struct quiet q;
	int ret;

	if (engine_stale(f)) {
		checks_forked();
		return -EIO;
	}
	if (!engine_lock())
		return -EDEADLK;
	/* What the program does after a command is under the rules that were there before it. */
	if (likely(engine.host_page))
		faults_look();
	ret = engine.failed ? -EIO : uverbs_ioctl(f, cmd, arg);
	page_context(uverbs_ucontext(f)->host);
	wire_flush();
	q = quiet_command();
	engine_unlock();
	if (unlikely(q.withdrawn))
		quiet_wait(q);
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

/* Takes an event after the wait. Bytes or -errno; -EAGAIN: the event has vanished with its object. */
static ssize_t event_take(struct event_file *ev, void *buf, size_t count)
{
	char record[16];
	ssize_t ret;

	if (event_stale(ev))
		return -EIO;
	if (!engine_lock())
		return -EDEADLK;
	ret = event_read(ev, record, min(count, sizeof(record)));
	/* The event is still there, or the device is gone and every later read must wake up, too. */
	if (ret == -EINVAL || ret == -EIO)
		efile_event_raise(ev);
	else
		efile_event_more(ev);
	engine_unlock();
	if (ret > 0 && umem_copy(buf, record, ret))
		return -EFAULT;
	return ret;
}

/*
 * For the program this is read(), which a handler may leave by siglongjmp(), for a timeout. So none runs after the wait. The
 * two signals of guarded copies keep their mask.
 */
ssize_t engine_event_read(struct event_file *ev, int fd, void *buf, size_t count)
{
	uint64_t v, mask;
	ssize_t ret;

	if (event_stale(ev))
		return -EIO;
	do {
		ret = engine.host->event_wait(fd, &v, sizeof(v));
		if (ret <= 0)	/* 0: the other end is closed */
			return ret ? ret : -EIO;
		mask = umem_mask_change(SIG_BLOCK, ~UMEM_SIGNALS);
		ret = event_take(ev, buf, count);
		umem_mask_change(SIG_SETMASK, mask);
	} while (ret == -EAGAIN);
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
	if (engine.run)
		qp_count_served();
	if (engine.loop && engine.loop->tx_segs)
		page_link(engine.loop, engine.proc, 0, &fill);
	if (engine.ep)
		shm_for_each(engine.ep, page_link, &fill);
	wire_for_each(page_wire, &fill);
	while (fill.n < PROC_MAX_LINKS && engine.proc_page->link[fill.n].kind)
		engine.proc_page->link[fill.n++].kind = 0;
}
