/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions. Registration checks that the range is mapped with the protection that the access flags need,
 * and that its pages exist; each later access is guarded (umem.h). Memory of the arena is pinned (arena/arena.h), other
 * memory is not.
 *
 * The check asks the kernel (mr_maps.c). On older kernels msync() finds unmapped pages, and a fault of the first and the
 * last page checks the protection, and that they exist. Pages between them are not checked: a write to a read-only one
 * fails later.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "arena/arena.h"
#include "base/pool.h"
#include "base/rand.h"
#include "base/sys.h"
#include "core/check.h"
#include "core/core_internal.h"
#include "core/mr_internal.h"
#include "core/objects.h"
#include "core/shake.h"
#include "core/umem.h"
#include "core/why_key.h"

#define LOCAL_WRITE IB_UVERBS_ACCESS_LOCAL_WRITE
#define REMOTE_WRITE (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)
#define REMOTE_ANY (REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ | ACCESS_FLUSH_GLOBAL)
/* ib_access_writable() of the kernel. */
#define WRITABLE (LOCAL_WRITE | REMOTE_WRITE | IB_UVERBS_ACCESS_MW_BIND)

/* Checks that pages [start, end) are mapped, as mr_maps_check(). first and last: addresses of the first and last byte of the MR. */
static int mr_mapped(uint64_t start, uint64_t end, uint64_t first, uint64_t last, bool write,
		     enum mr_memory *memory)
{
	int err = mr_maps_check(start, end, write, memory);

	if (err != -EOPNOTSUPP)
		return err;
	if (sys_call(SYS_msync, start, end - start, MS_ASYNC) < 0)
		return -EFAULT;
	err = mr_probe(first, write);
	return err ? err : mr_probe(last, write);
}

/* Finds the first page of [start, end) that is not as mr_mapped() demands, by halving the range. */
static uint64_t mr_bad_page(uint64_t start, uint64_t end, bool write)
{
	enum mr_memory memory;

	while (end - start > PAGE) {
		uint64_t mid = start + (((end - start) / 2) & ~(PAGE - 1));

		mid = max(mid, start + PAGE);
		if (mr_mapped(start, mid, start, mid - 1, write, &memory))
			end = mid;
		else
			start = mid;
	}
	return start;
}

static noinline __cold int mr_refuse(struct rdev *dev, uint64_t start, uint64_t end,
				     uint64_t first, bool write)
{
	uint64_t page = mr_bad_page(start, end, write), at = max(page, first);
	bool mapped = sys_call(SYS_msync, page, PAGE, MS_ASYNC) >= 0;
	enum mr_memory memory;
	int kind;

	switch (mr_mapped(page, page + PAGE, page, page, write, &memory)) {
	case -EACCES:
		kind = write ? 1 : 2;
		break;
	case -ENODEV:
		kind = 4;
		break;
	default:
		kind = mapped ? 3 : 0;
	}
	return rdev_refuse(dev, -EFAULT, MR_UNMAPPED, at, at - first, kind);
}

static int mr_check_access(uint32_t access)
{
	if (access & REMOTE_WRITE && !(access & LOCAL_WRITE))
		return -EINVAL;
	return access & ~MR_ACCESS_KNOWN ? -EINVAL : 0;
}

/* The checks of the kernel's ib_umem_get(). *memory: may peers map the memory? */
static int mr_check_range(struct rdev *dev, uint64_t start, uint64_t length, uint32_t access,
			  enum mr_memory *memory)
{
	uint64_t last, end, page = start & ~(PAGE - 1);
	int err;

	*memory = MR_MEM_DEMAND;
	/* Implicit on-demand paging: the whole address space (IB_ODP_SUPPORT_IMPLICIT). */
	if (access & IB_UVERBS_ACCESS_ON_DEMAND && !start && length == UINT64_MAX)
		return 0;
	if (__builtin_add_overflow(start, length, &last) || ALIGN_UP(last, PAGE) < last)
		return rdev_refuse(dev, -EINVAL, MR_LENGTH, length, start, 1);
	end = ALIGN_UP(last, PAGE);
	if (end == page || (end - page) / PAGE > UINT32_MAX)
		return rdev_refuse(dev, -EINVAL, MR_LENGTH, length, start, end != page);
	/* On-demand paging: the range may be mapped after registration. */
	if (access & IB_UVERBS_ACCESS_ON_DEMAND)
		return 0;
	err = mr_mapped(page, end, start, length ? last - 1 : start, access & WRITABLE, memory);
	if (unlikely(err))
		return mr_refuse(dev, page, end, start, access & WRITABLE);
	if (!length)
		*memory = MR_MEM_DEMAND;
	return 0;
}

/* Peers read the record of an MR or window (struct key_card) without a lock that they would have to take. */
void key_card_write(struct key_card *c, const struct key_card *new)
{
	seqlock_write(&c->lock, &c->lock + 1, &new->lock + 1, sizeof(*c) - sizeof(c->lock));
}

/*
 * Each MR and memory window has a record that peers on this host read (struct key_card). The index of a key selects it in
 * an array that all devices of the process share: an index is free only if no MR or window of any device uses it.
 */
int64_t key_alloc(struct rdev *dev, struct idtable *table, void *obj)
{
	uint32_t tries;
	int64_t id;

	for (tries = 0; tries < DEV_MAX_KEY_INDEX; tries++) {
		id = idtable_alloc_cyclic(table, 1, obj);
		if (id < 0)
			return id;
		if (id >= dev->nkeys && dev->ops->key_room(dev, (uint32_t)id)) {
			idtable_remove(table, (uint32_t)id);
			return -ENOMEM;
		}
		if (!dev->keys[id].key)
			return id;
		idtable_remove(table, (uint32_t)id);
	}
	return -ENOSPC;
}

/* What the device is like: ib_check_mr_access() of the kernel, and the driver's limit. */
static int mr_check_like(struct rdev *dev, uint64_t length, uint32_t access)
{
	const struct like *l = dev->like;

	if (access & IB_UVERBS_ACCESS_ON_DEMAND && !(l->odp_general & LIKE_ODP_SUPPORT))
		return rdev_refuse(dev, -EINVAL, DEV_LACKS, LIKE_NO_ODP);
	if (length > l->max_mr_size)
		return rdev_refuse(dev, like_errno(l->e_mr_size), MR_SIZE, length, l->max_mr_size);
	return 0;
}

static int mr_check_change(const struct mr_change *c, enum mr_memory *memory)
{
	int err;

	if ((c->start ^ c->iova) & (PAGE - 1))
		return -EINVAL;
	err = mr_check_access(c->access);
	if (!err)
		err = mr_check_like(c->pd->uctx->dev, c->length, c->access);
	if (!err)
		err = mr_check_range(c->pd->uctx->dev, c->start, c->length, c->access, memory);
	/* Refuse an iova range that wraps around: key_card_check() could not check accesses to it. */
	if (!err && c->iova + c->length < c->iova)
		err = -EINVAL;
	return err;
}

/* A record for the pin, if all of the memory is in the arena; else NULL. 0 or -ENOMEM. */
static int mr_pin_alloc(const struct mr_change *c, enum mr_memory memory, struct mr_pin **pin)
{
	*pin = memory == MR_MEM_SHARED ? pool_zalloc(sizeof(**pin)) : NULL;
	if (memory != MR_MEM_SHARED)
		return 0;
	if (!*pin)
		return -ENOMEM;
	(*pin)->off = c->start - arena_base;
	(*pin)->len = c->length;
	return 0;
}

/* Pins the memory of the MR. Returns key_card.shared. */
static uint64_t mr_pin(struct rdev *dev, const struct mr_pin *pin)
{
	if (!pin)
		return 0;
	if (dev->ops->publish)
		dev->ops->publish(dev);
	arena_pin(pin->off, pin->len);
	return pin->off + 1;
}

static void mr_pin_free(struct mr_pin *pin)
{
	list_del(&pin->entry);
	pool_free(pin, sizeof(*pin));
}

/* The list is in the order of the withdrawals: if a peer may still use one, it may use those after it. */
void mr_ended_unpin(struct rdev *dev)
{
	while (!list_empty(&dev->ended)) {
		struct mr_pin *pin = list_first_entry(&dev->ended, struct mr_pin, entry);

		if (dev->ops->quiet && !dev->ops->quiet(dev, pin->since))
			return;
		arena_unpin(pin->off, pin->len);
		mr_pin_free(pin);
	}
}

void mr_ended_forget(struct rdev *dev)
{
	while (!list_empty(&dev->ended))
		mr_pin_free(list_first_entry(&dev->ended, struct mr_pin, entry));
}

/*
 * Ends the pin of a card that was valid until now. A peer that has read the card before it was withdrawn may still
 * access the memory itself (direct placement). The barrier orders the withdrawal before the look at these peers. While
 * one is within its access, stopped perhaps, the pages stay pinned: it will go on there.
 */
static void mr_unpin(struct rdev *dev, const struct key_card *card, struct mr_pin *pin)
{
	uint64_t since = 0;

	smp_mb();
	/* Peers have no access without a right of this kind. */
	if (card->access & (REMOTE_ANY | IB_UVERBS_ACCESS_MW_BIND) && dev->ops->withdrawn)
		since = dev->ops->withdrawn(dev);
	if (pin) {
		pin->since = since;
		if (since)
			list_add_tail(&pin->entry, &dev->ended);
		else
			list_add(&pin->entry, &dev->ended);
		/* A child has taken the MR over, but not the pin of its parent. */
		if (!card->shared)
			mr_pin_free(pin);
	}
	mr_ended_unpin(dev);
}

/* Gives the MR new keys and writes its record for peers (struct key_card), which makes it accessible. */
static void mr_show(struct rdev *dev, struct mr *mr, const struct mr_change *c,
		    enum mr_memory memory, struct mr_pin *pin)
{
	mr->memory = memory;
	mr->pin = pin;
	mr->lkey = mr->index << 8 | (rand_u32() & 0xff);
	if (unlikely(shake_ops))
		mr->lkey = shake_ops->key(dev, mr->lkey);
	mr->rkey = c->access & REMOTE_ANY ? mr->lkey : 0;
	key_card_write(&dev->keys[mr->index], &(struct key_card){
		.key = mr->lkey, .pd = c->pd->id, .access = c->access | KEY_LOCAL,
		.start = c->start, .iova = c->iova, .length = c->length,
		.shared = mr_pin(dev, pin) });
	if (unlikely(check_ops))
		check_ops->key_new(dev, mr->index, &dev->keys[mr->index]);
}

int mr_create(struct pd *pd, uint64_t start, uint64_t length, uint64_t iova,
	      uint32_t access, struct mr **out)
{
	struct mr_change c = { pd, start, length, iova, access };
	struct rdev *dev = pd->uctx->dev;
	enum mr_memory memory;
	struct mr_pin *pin;
	uint32_t index;
	struct mr *mr;
	int64_t id;
	int err = mr_check_change(&c, &memory);

	if (!err)
		err = rdev_full(pd->uctx, RDEV_MR, dev->like->max_mr, dev->like->e_mrs);
	if (err)
		return err;
	mr = pool_zalloc(sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	/* key_alloc() begins its search here. */
	if (unlikely(shake_ops) && (index = shake_ops->key_index()))
		dev->mrs.next = index;
	id = key_alloc(dev, &dev->mrs, mr);
	if (id < 0)
		goto no_key;
	if (mr_pin_alloc(&c, memory, &pin))
		goto no_pin;
	mr->pd = pd;
	mr->index = (uint32_t)id;
	mr_show(dev, mr, &c, memory, pin);
	pd->usecnt++;
	pd->uctx->nmr++;
	*out = mr;
	return 0;

no_pin:
	idtable_remove(&dev->mrs, (uint32_t)id);
no_key:
	pool_free(mr, sizeof(*mr));
	return -ENOMEM;
}

void mr_change_init(struct mr_change *c, const struct mr *mr)
{
	const struct key_card *card = &mr->pd->uctx->dev->keys[mr->index];

	*c = (struct mr_change){ mr->pd, card->start, card->length, card->iova,
				 card->access & ~KEY_LOCAL };
}

int mr_rereg(struct mr *mr, const struct mr_change *c)
{
	struct rdev *dev = mr->pd->uctx->dev;
	struct key_card old = dev->keys[mr->index];
	struct mr_pin *old_pin = mr->pin, *pin;
	enum mr_memory memory;
	int err;

	if (mr->usecnt)
		return rdev_refuse(dev, -EINVAL, MR_BUSY, mr->usecnt, mr->lkey);
	err = mr_check_change(c, &memory);
	if (!err)
		err = mr_pin_alloc(c, memory, &pin);
	if (err)
		return err;
	if (unlikely(check_ops))
		check_ops->key_gone(mr->index);
	key_ended(dev, mr->lkey, false);
	mr_show(dev, mr, c, memory, pin);
	mr_unpin(dev, &old, old_pin);
	mr->pd->usecnt--;
	mr->pd = c->pd;
	mr->pd->usecnt++;
	return 0;
}

int mr_prefetch(const struct pd *pd, uint32_t lkey, uint64_t addr, uint64_t length,
		enum mr_advice advice, bool check)
{
	const struct rdev *dev = pd->uctx->dev;
	const struct mr *mr = idtable_find(&dev->mrs, lkey >> 8);
	bool write = advice == MR_PREFETCH_WRITE;
	uint64_t start, end;
	void *p;
	int err;

	if (!mr || mr->lkey != lkey)
		return -ENOENT;
	if (mr->pd != pd)
		return -EPERM;
	switch (mr_check(dev, pd->id, 0, lkey, addr, length,
			 KEY_LOCAL | (write ? LOCAL_WRITE : 0), &p)) {
	case MR_OK:
		break;
	case MR_BAD_ACCESS:
		return -EPERM;
	case MR_BAD_KEY:
	case MR_BAD_PD:
		return -ENOENT;
	case MR_BAD_RANGE:
		return -EFAULT;
	}
	if (check || advice == MR_PREFETCH_NO_FAULT || !length)
		return 0;
	start = (uint64_t)(uintptr_t)p & ~(PAGE - 1);
	end = ALIGN_UP((uint64_t)(uintptr_t)p + length, PAGE);
	/* Prefetching is optional: Linux before 5.14 returns EINVAL. */
	err = (int)sys_call(SYS_madvise, start, end - start,
			    write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	return err == -EINVAL ? 0 : err < 0 ? -EFAULT : 0;
}

int mr_destroy(struct mr *mr)
{
	struct pd *pd = mr->pd;
	struct rdev *dev = pd->uctx->dev;
	struct key_card old = dev->keys[mr->index];

	if (mr->usecnt)
		return -EINVAL;
	if (unlikely(check_ops))
		check_ops->key_gone(mr->index);
	key_ended(dev, mr->lkey, false);
	key_card_write(&dev->keys[mr->index], &(struct key_card){ 0 });
	if (unlikely(shake_ops))
		shake_ops->key_gone(mr->lkey);
	mr_unpin(dev, &old, mr->pin);
	idtable_remove(&dev->mrs, mr->index);
	pd->usecnt--;
	pd->uctx->nmr--;
	pool_free(mr, sizeof(*mr));
	return 0;
}
