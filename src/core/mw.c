/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A memory window has a record (struct key_card) by which remote accesses are checked, as an MR has. It is called the
 * window's card. The card of a bound window describes a part of the MR with the window's access rights. The card of an
 * unbound window has a key and a PD but no rights and no length: the index stays in use, and every
 * access is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/pool.h"
#include "base/rand.h"
#include "core/check.h"
#include "core/core_internal.h"
#include "core/mw.h"
#include "core/why_key.h"

#define REMOTE_WRITES (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)
#define ZERO_BASED IB_UVERBS_ACCESS_ZERO_BASED
/* Rights that a window can grant. Other bits, such as LOCAL_WRITE, are ignored. */
#define MW_GRANTS (REMOTE_WRITES | IB_UVERBS_ACCESS_REMOTE_READ)

static struct rdev *mw_dev(const struct mw *mw)
{
	return mw->pd->uctx->dev;
}

/* Writes the card of an unbound window. True: it was bound, so peers may have read the old card and still access the memory. */
static bool mw_withdraw(struct mw *mw)
{
	bool bound = mw->mr;

	key_card_write(&mw_dev(mw)->keys[mw->index],
		       &(struct key_card){ .key = mw->rkey, .pd = mw->pd->id });
	smp_mb();
	if (bound)
		mw->mr->usecnt--;
	mw->mr = NULL;
	mw->qpn = 0;
	return bound;
}

/* For a work request: its completion tells the program that peers access the memory no more, so this waits for them. */
static void mw_unbind(struct mw *mw)
{
	struct rdev *dev = mw_dev(mw);

	if (mw_withdraw(mw) && dev->ops->quiesce)
		dev->ops->quiesce(dev);
}

/* For a command: the wait follows it (rdev_ops.withdrawn). */
static void mw_unbind_command(struct mw *mw)
{
	struct rdev *dev = mw_dev(mw);

	if (mw_withdraw(mw) && dev->ops->withdrawn)
		dev->ops->withdrawn(dev);
}

int mw_alloc(struct pd *pd, enum mw_type type, struct mw **out)
{
	struct rdev *dev = pd->uctx->dev;
	const struct like *like = dev->like;
	struct mw *mw;
	int64_t id;
	int err;

	if (like_lacks(like, LIKE_NO_MW))
		return rdev_refuse(dev, like_errno(like->e_mws), DEV_LACKS, LIKE_NO_MW);
	if (type != MW_TYPE_1 && type != MW_TYPE_2)
		return rdev_refuse(dev, -EINVAL, MW_TYPE, type);
	err = rdev_full(pd->uctx, RDEV_MW, like->max_mw, like->e_mws);
	if (err)
		return err;
	mw = pool_zalloc(sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	id = key_alloc(dev, &dev->mws, mw);
	if (id < 0) {
		pool_free(mw, sizeof(*mw));
		return -ENOMEM;
	}
	mw->pd = pd;
	mw->type = (uint8_t)type;
	mw->index = (uint32_t)id;
	mw->rkey = mw->index << 8 | (rand_u32() & 0xff);
	key_card_write(&dev->keys[id], &(struct key_card){ .key = mw->rkey, .pd = pd->id });
	pd->usecnt++;
	pd->uctx->nmw++;
	*out = mw;
	return 0;
}

int mw_dealloc(struct mw *mw)
{
	struct pd *pd = mw->pd;

	if (unlikely(check_ops))
		check_ops->mw_gone(mw_dev(mw), mw->rkey);
	mw_unbind_command(mw);
	key_ended(mw_dev(mw), mw->rkey, true);
	key_card_write(&mw_dev(mw)->keys[mw->index], &(struct key_card){ 0 });
	idtable_remove(&mw_dev(mw)->mws, mw->index);
	pd->usecnt--;
	pd->uctx->nmw--;
	pool_free(mw, sizeof(*mw));
	return 0;
}

/* The checks of IBA 10.6.7.2, in the kernel's order. mr is NULL for length 0. */
static enum mw_fault mw_bind_check(const struct qp *qp, const struct mw *mw, const struct mr *mr,
				   const struct key_card *card, const struct mw_bind *b)
{
	if (mw->type == MW_TYPE_1) {
		/* o10-36.2.2: zero-based addresses are for type 2 only */
		if (b->access & ZERO_BASED)
			return MW_TYPE;
	} else if (mw->mr) {	/* o10-37.2.30 */
		return MW_BOUND;
	} else if (!mr) {	/* o10-37.2.40: length 0 */
		return MW_TYPE;
	}
	/* C10-72: QP, window and MR have the same PD */
	if (qp->pd != mw->pd)
		return MW_QP_PD;
	if (!mr)
		return MW_OK;
	if (mr->pd != mw->pd)
		return MW_MR_PD;
	if (card->access & ZERO_BASED)
		return MW_MR_ZERO;
	/* C10-73: the MR allows binding */
	if (!(card->access & IB_UVERBS_ACCESS_MW_BIND))
		return MW_MR_BIND;
	/* C10-74: remote write needs local write */
	if (b->access & REMOTE_WRITES && !(card->access & IB_UVERBS_ACCESS_LOCAL_WRITE))
		return MW_MR_WRITE;
	/* C10-75: the window is within the MR */
	return b->addr >= card->iova && b->length <= card->length &&
	       b->addr - card->iova <= card->length - b->length ? MW_OK : MW_RANGE;
}

enum mw_fault mw_bind(struct qp *qp, const struct mw_bind *b)
{
	struct rdev *dev = qp->dev;
	struct mw *mw = idtable_find(&dev->mws, b->mw_rkey >> 8);
	const struct key_card *card = NULL;
	enum mw_fault fault;
	struct mr *mr = NULL;

	if (!mw || mw->rkey != b->mw_rkey)
		return MW_NO_WINDOW;
	if (b->length) {
		mr = idtable_find(&dev->mrs, b->mr_lkey >> 8);
		if (!mr || mr->lkey != b->mr_lkey)
			return MW_NO_REGION;
		card = &dev->keys[mr->index];
	}
	fault = mw_bind_check(qp, mw, mr, card, b);
	if (fault != MW_OK)
		return fault;
	key_ended(dev, mw->rkey, true);
	mw->rkey = (mw->rkey & ~0xffu) | (b->rkey & 0xff);
	mw_unbind(mw);
	if (!mr)
		return MW_OK;
	mw->mr = mr;
	mr->usecnt++;
	mw->qpn = mw->type == MW_TYPE_2 ? qp->qpn : 0;
	key_card_write(&dev->keys[mw->index], &(struct key_card){
		.key = mw->rkey, .pd = mw->pd->id, .qpn = mw->qpn,
		.access = b->access & MW_GRANTS, .length = b->length,
		.start = card->start + (b->addr - card->iova),
		.shared = card->shared ? card->shared + (b->addr - card->iova) : 0,
		.iova = b->access & ZERO_BASED ? 0 : b->addr });
	return MW_OK;
}

enum mw_fault mw_invalidate(struct qp *qp, uint32_t rkey)
{
	struct mw *mw = idtable_find(&qp->dev->mws, rkey >> 8);

	if (!mw || mw->rkey != rkey)
		return MW_NO_WINDOW;
	if (mw->type != MW_TYPE_2)	/* o10-37.2.26 */
		return MW_TYPE;
	if (mw->pd != qp->pd)
		return MW_QP_PD;
	if (mw->mr && mw->qpn != qp->qpn)	/* C11-26 */
		return MW_OTHER_QP;
	mw_unbind(mw);
	return MW_OK;
}

void mw_qp_gone(struct qp *qp)
{
	struct mw *mw;

	if (likely(!qp->dev->mws.count))
		return;
	for (uint32_t i = 0; (mw = idtable_next(&qp->dev->mws, &i)); i++)
		if (mw->mr && mw->qpn == qp->qpn)
			mw_unbind_command(mw);
}
