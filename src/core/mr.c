/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions. Registration checks that the range is mapped with the protection that the access flags need; each
 * later access is guarded (umem.h). Memory of the arena is pinned (arena/arena.h), other memory is not.
 *
 * The check asks the kernel (mr_maps.c). On older kernels msync() finds unmapped pages, and an access to
 * the first and the last page checks the protection. For pages between them the protection is not
 * checked: a write to a read-only one fails later.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "arena/arena.h"
#include "base/rand.h"
#include "base/sys.h"
#include "core/core_internal.h"
#include "core/mr_internal.h"
#include "core/objects.h"
#include "core/umem.h"
#include "core/why_key.h"

#define LOCAL_WRITE IB_UVERBS_ACCESS_LOCAL_WRITE
#define REMOTE_WRITE (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)
#define REMOTE_ANY (REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ | ACCESS_FLUSH_GLOBAL)
/* ib_access_writable() of the kernel. */
#define WRITABLE (LOCAL_WRITE | REMOTE_WRITE | IB_UVERBS_ACCESS_MW_BIND)

/* Checks that the byte at addr can be read or, if write is set, written, by adding 0 to the word that contains it. */
static int mr_touch(uint64_t addr, bool write)
{
	uint64_t orig;
	uint8_t byte;

	if (write)
		return umem_fetch_add((uint64_t *)(uintptr_t)(addr & ~7ull), 0, &orig);
	return umem_copy(&byte, (void *)(uintptr_t)addr, 1);
}

/* Checks that pages [start, end) are mapped. first and last: addresses of the first and last byte of the MR. */
static int mr_mapped(uint64_t start, uint64_t end, uint64_t first, uint64_t last, bool write,
		     enum mr_memory *memory)
{
	int err = mr_maps_check(start, end, write, memory);

	if (err != -EOPNOTSUPP)
		return err;
	if (sys_call(SYS_msync, start, end - start, MS_ASYNC) < 0)
		return -EFAULT;
	err = mr_touch(first, write);
	return err ? err : mr_touch(last, write);
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

static noinline __cold int mr_refuse(struct rdev *dev, int err, uint64_t start, uint64_t end,
				     uint64_t first, bool write)
{
	uint64_t page = mr_bad_page(start, end, write), at = max(page, first);
	bool mapped = sys_call(SYS_msync, page, PAGE, MS_ASYNC) >= 0;

	return rdev_refuse(dev, err, MR_UNMAPPED, at, at - first, !mapped ? 0 : write ? 1 : 2);
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
		return mr_refuse(dev, err, page, end, start, access & WRITABLE);
	if (!length)
		*memory = MR_MEM_DEMAND;
	return 0;
}

/* Peers read the record of an MR or window (struct key_card) without a lock: seq is odd while the fields are inconsistent. */
void key_card_write(struct key_card *c, const struct key_card *new)
{
	uint32_t seq = c->seq;

	WRITE_ONCE(c->seq, seq + 1);
	smp_wmb();
	WRITE_ONCE(c->key, new->key);
	WRITE_ONCE(c->pd, new->pd);
	WRITE_ONCE(c->access, new->access);
	WRITE_ONCE(c->start, new->start);
	WRITE_ONCE(c->iova, new->iova);
	WRITE_ONCE(c->length, new->length);
	WRITE_ONCE(c->qpn, new->qpn);
	WRITE_ONCE(c->shared, new->shared);
	smp_store_release(&c->seq, seq + 2);
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
		if (id < 0 || !dev->keys[id].key)
			return id;
		idtable_remove(table, (uint32_t)id);
	}
	return -ENOSPC;
}

static int mr_check_change(const struct mr_change *c, enum mr_memory *memory)
{
	int err;

	if ((c->start ^ c->iova) & (PAGE - 1))
		return -EINVAL;
	err = mr_check_access(c->access);
	if (!err)
		err = mr_check_range(c->pd->uctx->dev, c->start, c->length, c->access, memory);
	/* Refuse an iova range that wraps around: key_card_check() could not check accesses to it. */
	if (!err && c->iova + c->length < c->iova)
		err = -EINVAL;
	return err;
}

/* Pins the memory of the MR if all of it is in the arena. Returns key_card.shared. */
static uint64_t mr_pin(const struct mr_change *c, enum mr_memory memory)
{
	uint64_t off;

	if (memory != MR_MEM_SHARED)
		return 0;
	off = c->start - arena_span().base;
	arena_pin(off, c->length);
	return off + 1;
}

/*
 * Ends the pin of a card that was valid until now. A peer that has read the card before it was withdrawn may still
 * access the memory itself (direct placement), so this waits until none does. The barrier orders the withdrawal before
 * that check. If a peer is stopped within its access, the pages stay pinned for ever: it will go on there.
 */
static void mr_unpin(struct rdev *dev, const struct key_card *card)
{
	smp_mb();
	if (dev->ops->quiesce && !dev->ops->quiesce(dev))
		return;
	if (card->shared)
		arena_unpin(card->shared - 1, card->length);
}

/* Gives the MR new keys and writes its record for peers (struct key_card), which makes it accessible. */
static void mr_show(struct rdev *dev, struct mr *mr, const struct mr_change *c,
		    enum mr_memory memory)
{
	mr->memory = memory;
	mr->lkey = mr->index << 8 | (rand_u32() & 0xff);
	mr->rkey = c->access & REMOTE_ANY ? mr->lkey : 0;
	key_card_write(&dev->keys[mr->index], &(struct key_card){
		.key = mr->lkey, .pd = c->pd->id, .access = c->access | KEY_LOCAL,
		.start = c->start, .iova = c->iova, .length = c->length,
		.shared = mr_pin(c, memory) });
}

int mr_create(struct pd *pd, uint64_t start, uint64_t length, uint64_t iova,
	      uint32_t access, struct mr **out)
{
	struct mr_change c = { pd, start, length, iova, access };
	struct rdev *dev = pd->uctx->dev;
	enum mr_memory memory;
	struct mr *mr;
	int64_t id;
	int err = mr_check_change(&c, &memory);

	if (err)
		return err;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	id = key_alloc(dev, &dev->mrs, mr);
	if (id < 0) {
		free(mr);
		return -ENOMEM;
	}
	mr->pd = pd;
	mr->index = (uint32_t)id;
	mr_show(dev, mr, &c, memory);
	pd->usecnt++;
	pd->uctx->nmr++;
	*out = mr;
	return 0;
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
	enum mr_memory memory;
	int err;

	if (mr->usecnt)
		return rdev_refuse(dev, -EINVAL, MR_BUSY, mr->usecnt, mr->lkey);
	err = mr_check_change(c, &memory);
	if (err)
		return err;
	key_ended(dev, mr->lkey, false);
	mr_show(dev, mr, c, memory);
	mr_unpin(dev, &old);
	mr->pd->usecnt--;
	mr->pd = c->pd;
	mr->pd->usecnt++;
	return 0;
}

/* From <linux/mman.h> of Linux 5.14. Older kernels return EINVAL: prefetching is optional. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

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
	key_ended(dev, mr->lkey, false);
	key_card_write(&dev->keys[mr->index], &(struct key_card){ 0 });
	mr_unpin(dev, &old);
	idtable_remove(&dev->mrs, mr->index);
	pd->usecnt--;
	pd->uctx->nmr--;
	free(mr);
	return 0;
}
