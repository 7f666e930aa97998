/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A forked child takes over the open devices of its parent after the parent's death, as needed
 * by daemon() after open(). Until then all calls on them answer EIO, because two processes
 * cannot be one NIC.
 *
 * fork() has copied the objects. The child creates a new shared-memory endpoint, new cards (memory
 * in which peers see a QP or key, queue/card.h), a new process number in rused and a new progress
 * thread, and moves the objects there. Keys and QP numbers stay. The peers' links lead to the dead
 * process, so RC and UC QPs in RTR and later states enter ERR, as after a failed path.
 *
 * A file that contains nothing but PDs does not wait for the parent's death, because the
 * processes share nothing in use. The child gets a file of its own, with separate memory and
 * events, at the same descriptor. librdmacm keeps its devices open in this state between
 * connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <string.h>
#include <time.h>
#include "arena/arena.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/sys.h"
#include "core/cq.h"
#include "core/mcast.h"
#include "core/objects.h"
#include "core/shake.h"
#include "core/srq.h"
#include "engine/engine_internal.h"
#include "engine/hold.h"
#include "engine/res.h"
#include "engine/rings.h"
#include "engine/wire.h"
#include "xport/xport.h"

/*
 * The first call waits this long for the parent's death, once in the life of a child. The
 * parent of daemon() ends at once.
 */
#define WAIT_MS 100
/* rused may notice the parent's death later than this process: pause between two attempts. */
#define NAP (5 * NS_MS)
#define NAPS 200

bool inherit_pending;

/* What a child keeps of its parent, so not in struct engine, which it clears. */
static struct {
	struct list_head devs, files;
	int owner;		/* pidfd of the process that opened the files */
	bool waited;
} kept;

static void inherit_list(struct list_head *to, struct list_head *from)
{
	list_init(to);
	while (!list_empty(from)) {
		struct list_head *e = from->next;

		list_del(e);
		list_add_tail(e, to);
	}
}

void inherit_keep(void)
{
	/*
	 * A process that has opened nothing itself may still have files of its own parent to take
	 * over: keep those.
	 */
	if (list_empty(&engine.files) || engine.failed || engine.self < 0)
		return;
	inherit_list(&kept.devs, &engine.devs);
	inherit_list(&kept.files, &engine.files);
	kept.owner = engine.self;
	inherit_pending = true;
}

static void inherit_own_event(struct event_file *ev, void *ours)
{
	if (ev->fd >= 0)
		engine.host->own_fd(ev->fd, *(bool *)ours);
}

void inherit_own(bool ours)
{
	struct efile *ef;

	if (!inherit_pending)
		return;
	/* Every child waits once. */
	kept.waited = false;
	engine.host->own_fd(kept.owner, ours);
	list_for_each_entry(ef, &kept.files, entry) {
		engine.host->own_fd(ef->memfd, ours);
		uverbs_for_each_event(ef->uf, inherit_own_event, &ours);
	}
}

static void inherit_close_event(struct event_file *ev, void *arg)
{
	own_close(ev->fd);
	ev->fd = -1;
}

void inherit_drop(void)
{
	struct efile *ef;

	if (!inherit_pending || !engine_lock())
		return;
	inherit_pending = false;
	own_close(kept.owner);
	list_for_each_entry(ef, &kept.files, entry) {
		own_close(ef->memfd);
		uverbs_for_each_event(ef->uf, inherit_close_event, NULL);
	}
	engine_unlock();
}

/* Copy the old QP cards (struct qp_card) of dev->blocks[b] to the new ones, and let the QPs use the new ones. */
static void inherit_cards(struct rdev *dev, uint32_t b, struct qp_card *cards)
{
	struct qp *qp;

	for (uint32_t i = 0; (qp = idtable_next(&dev->blocks[b].qps, &i)); i++) {
		struct qp_card *c = &cards[i];

		*c = *qp->card;
		c->lock = 0;
		if (qp->card_own)
			pool_free(qp->card, sizeof(*qp->card));
		qp->card_own = false;
		qp->card = c;
	}
	dev->blocks[b].cards = cards;
}

static int inherit_blocks(struct rdev *dev)
{
	const struct timespec nap = { .tv_nsec = NAP };
	struct qp_card *cards;
	int ret = 0;

	for (uint32_t b = 0; b < dev->nblocks && !ret; b++) {
		uint32_t block = dev->blocks[b].block;

		if (engine.block_dev[block])
			continue;
		ret = inherit_lease(dev, block, &cards);
		for (int i = 0; ret == -EBUSY && i < NAPS; i++) {
			sys_call(SYS_nanosleep, &nap, NULL);
			ret = inherit_lease(dev, block, &cards);
		}
		if (!ret)
			inherit_cards(dev, b, cards);
	}
	return ret;
}

/* Room for the cards of the memory keys. 0 or -ENOMEM. */
static int inherit_key_room(const struct rdev *dev)
{
	const struct idtable *t[2] = { &dev->mrs, &dev->mws };

	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; idtable_next(t[k], &i); i++)
			if (shm_ep_key_room(engine.ep, i) <= i)
				return -ENOMEM;
	return 0;
}

/* The memory is that of the parent's arena no more, but private. */
static void inherit_key(struct key_card *to, const struct key_card *from)
{
	*to = *from;
	to->shared = 0;
}

static void inherit_keys(struct rdev *dev)
{
	struct key_card *to = shm_ep_keys(engine.ep);
	const struct idtable *t[2] = { &dev->mrs, &dev->mws };

	for (int k = 0; k < 2; k++)
		for (uint32_t i = 0; idtable_next(t[k], &i); i++)
			inherit_key(&to[i], &dev->keys[i]);
	dev->keys = to;
	dev->nkeys = shm_ep_key_room(engine.ep, 0);
}

/* Links, timers and lists of the QP belonged to the parent. */
static void inherit_qp(struct qp *qp)
{
	ns_t now = engine_now();

	qp->timer.pos = 0;
	list_init(&qp->work);
	list_init(&qp->err);
	if (qp_shaken(qp))
		shake_ops->forget(qp, false);
	qp->link = NULL;
	qp->peer_counter = qp->dev->counter;
	qp->resp.from = NULL;
	if (qp->type != QPT_UD && qp->state >= QPS_RTR)
		xp_error(qp, now);
	qp_rearm(qp, now);
}

static void inherit_dev(struct edev *e)
{
	struct rdev *dev = &e->dev;
	struct mcast_grp *g;
	struct qp *qp;

	mr_ended_forget(dev);
	inherit_keys(dev);
	edev_show(e);
	dev->holds = engine.faults.holds;
	list_add_tail(&e->entry, &engine.devs);
	for (uint32_t b = 0; b < dev->nblocks; b++)
		for (uint32_t i = 0; (qp = idtable_next(&dev->blocks[b].qps, &i)); i++)
			inherit_qp(qp);
	list_for_each_entry(g, &dev->mcgs, entry)
		dev->ops->mcast(dev, g->mgid, true);
}

/* Forget the object's record for `rdma res show`, which is in the parent's table (ipc/res.h). */
static void inherit_hide(struct uverbs_file *f, uint16_t kind, void *obj, void *arg)
{
	switch (kind) {
	case UVERBS_OBJECT_PD:
		((struct pd *)obj)->res = 0;
		break;
	case UVERBS_OBJECT_CQ:
		((struct cq *)obj)->res = 0;
		list_init(&((struct cq *)obj)->armed);
		hold_inherit(obj);
		break;
	case UVERBS_OBJECT_MR:
		((struct mr *)obj)->res = 0;
		break;
	case UVERBS_OBJECT_QP:
		((struct qp *)obj)->res = 0;
		((struct qp *)obj)->shown_state = NULL;
		break;
	case UVERBS_OBJECT_SRQ:
		((struct srq *)obj)->res = 0;
		break;
	}
}

static void inherit_show(struct uverbs_file *f, uint16_t kind, void *obj, void *arg)
{
	res_obj(f, kind, obj, false);
	if (kind == UVERBS_OBJECT_CQ)
		progress_watch_arm(obj);
}

static void inherit_event(struct event_file *ev, void *arg)
{
	ev->generation = engine.generation;
}

static int inherit_all(void)
{
	struct edev *e, *en;
	struct efile *ef, *fn;
	int ret = attach_locked();

	if (ret)
		return ret;
	list_for_each_entry(e, &kept.devs, entry) {
		ret = inherit_blocks(&e->dev);
		if (!ret)
			ret = inherit_key_room(&e->dev);
		if (ret)
			return ret;
	}
	/*
	 * The files are this process's own from here on. If rused is replaced meanwhile,
	 * attach_renew() tells the new one.
	 */
	inherit_pending = false;
	own_close(kept.owner);
	list_for_each_entry(ef, &kept.files, entry) {
		ef->uctx.res = 0;
		uverbs_for_each_obj(ef->uf, inherit_hide, NULL);
	}
	list_for_each_entry_safe(e, en, &kept.devs, entry) {
		list_del(&e->entry);
		inherit_dev(e);
	}
	list_for_each_entry_safe(ef, fn, &kept.files, entry) {
		list_del(&ef->entry);
		ef->slot = -1;
		efile_announce(ef);
		res_ctx(&ef->uctx, false);
		uverbs_for_each_obj(ef->uf, inherit_show, NULL);
		uverbs_for_each_event(ef->uf, inherit_event, NULL);
		ef->generation = engine.generation;
		list_add_tail(&ef->entry, &engine.files);
	}
	/*
	 * The parent may have added completions since the fork, without changing this process's
	 * cq_published. Change it, so that CQs found empty earlier are polled again (pollwrap.c).
	 */
	WRITE_ONCE(cq_published, cq_published + 1);
	return progress_start();
}

static bool inherit_owner_dead(int wait_ms)
{
	struct pollfd p = { .fd = kept.owner, .events = POLLIN };
	struct timespec ts = { .tv_nsec = wait_ms * NS_MS };

	return sys_call(SYS_ppoll, &p, 1L, &ts, NULL, 8L) == 1 && p.revents & POLLIN;
}

static void inherit_try_within(int wait_ms)
{
	int ret;

	if (!inherit_owner_dead(wait_ms) || !engine_lock())
		return;
	if (inherit_pending) {
		ret = inherit_all();
		if (ret)
			log_warn("engine: the files that the parent opened cannot be used in this child: %s",
				 strerrordesc_np(-ret));
		if (ret && inherit_pending && ret != -EBUSY) {
			engine_unlock();
			inherit_drop();
			return;
		}
		if (ret && !inherit_pending)
			engine_fail("no progress thread");
	}
	engine_unlock();
}

void inherit_try(void)
{
	int wait_ms = kept.waited ? 0 : WAIT_MS;

	if (!inherit_pending)
		return;
	kept.waited = true;
	inherit_try_within(wait_ms);
}

noinline __cold void inherit_poll(void)
{
	if (inherit_pending)
		inherit_try_within(0);
}

static void inherit_busy(struct uverbs_file *f, uint16_t kind, void *obj, void *busy)
{
	*(bool *)busy |= kind != UVERBS_OBJECT_PD;
}

static bool inherit_idle(struct uverbs_file *f)
{
	bool busy = false;

	uverbs_for_each_obj(f, inherit_busy, &busy);
	return !busy;
}

/* Replace each descriptor of the file in this process by a dup of fd. */
static void inherit_replace_fd(const void *file, int fd)
{
	for (int at = -1; (at = engine.host->program_fd(file, at + 1)) >= 0;) {
		long flags = sys_fcntl(at, F_GETFD, 0);

		if (flags >= 0)
			sys_call(SYS_dup3, fd, at, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	}
}

/* Give the event file a descriptor of its own. The parent reads its own copy of the unread events. */
static void inherit_adopt_event(struct event_file *ev, void *arg)
{
	int at = engine.host->program_fd(ev, 0), fd = efile_event_renew(ev);

	if (fd < 0)
		return;
	if (at >= 0)
		sys_fcntl(fd, F_SETFL, sys_fcntl(at, F_GETFL, 0));
	inherit_replace_fd(ev, fd);
	sys_close(fd);
}

/* Give a file with nothing but PDs memory of its own. 0, or -errno and the file is unchanged. */
static int inherit_adopt_file(struct efile *ef, const struct host_page *page)
{
	struct efile fresh = { .slot = -1 };
	const struct host_dev *hd = NULL;
	struct edev *edev;
	int ret, fd;

	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (page->dev[i].in_use && page->dev[i].index == ef->edev->dev.index)
			hd = &page->dev[i];
	ret = hd ? edev_get(hd, &edev) : -ENODEV;
	if (!ret)
		ret = rings_init(&fresh);
	if (ret)
		return ret;
	fd = own_dup(fresh.memfd);
	if (fd < 0) {
		rings_fini(&fresh);
		return fd;
	}
	rings_fini(ef);
	list_init(&ef->rings);
	inherit_replace_fd(ef->uf, fresh.memfd);
	sys_close(fresh.memfd);
	ef->memfd = fd;
	memcpy(ef->piece, fresh.piece, sizeof(ef->piece));
	ef->npieces = fresh.npieces;
	ef->base = fresh.base;
	ef->map_size = fresh.map_size;
	ef->file_size = fresh.file_size;
	ef->cursor = fresh.cursor;
	ef->used = 0;
	ef->ready = ef->ready_end = 0;
	ef->ring_bytes = ef->gone_bytes = 0;
	ef->edev = edev;
	ef->uctx.dev = &edev->dev;
	ef->uctx.res = 0;
	ef->slot = -1;
	ef->generation = engine.generation;
	list_del(&ef->entry);
	list_add_tail(&ef->entry, &engine.files);
	efile_announce(ef);
	res_ctx(&ef->uctx, false);
	uverbs_for_each_obj(ef->uf, inherit_hide, NULL);
	uverbs_for_each_obj(ef->uf, inherit_show, NULL);
	uverbs_for_each_event(ef->uf, inherit_adopt_event, NULL);
	return 0;
}

static int inherit_adopt_all(void)
{
	const struct host_page *page = NULL;
	struct efile *ef, *n;
	int ret = attach_locked();

	if (!ret)
		ret = progress_start();
	if (!ret)
		page = host_page_copy();
	if (!ret && !page)
		ret = -EPROTO;
	list_for_each_entry_safe(ef, n, &kept.files, entry)
		if (!ret && inherit_idle(ef->uf))
			ret = inherit_adopt_file(ef, page);
	return ret;
}

void inherit_adopt(struct uverbs_file *f)
{
	int ret;

	if (!inherit_pending || !inherit_idle(f) || !engine_lock())
		return;
	ret = inherit_adopt_all();
	engine_unlock();
	if (ret)
		log_warn("engine: cannot open a device again that the parent opened: %s",
			 strerrordesc_np(-ret));
	else
		inherit_drop();
}
