/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: creation and destruction, with their numbers, rings and cards (struct qp_card,
 * responder state that peers on the same host use). A QP number consists of the number of a block,
 * a range that rused leases to the process, and an index, which also selects the QP's card among
 * those of the block. When all blocks are full another one is leased. States are in qp_state.c.
 */
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "base/pool.h"
#include "base/rand.h"
#include "core/credits.h"
#include "core/mcast.h"
#include "core/mw.h"
#include "core/shake.h"

#define SGE_SIZE ((uint32_t)sizeof(struct rxe_sge))

_Static_assert(sizeof(struct rxe_send_wqe) == 208 && sizeof(struct rxe_recv_wqe) == 40 &&
	       sizeof(struct rxe_sge) == 16, "work requests of the provider");

/* Checks in the order of kernel rxe_qp_chk_init(), and rounds the sizes as the device does. */
static int qp_check_init(struct ucontext *uctx, struct qp_init_attr *attr)
{
	struct rdev *dev = uctx->dev;
	struct like_excess x;

	/* The type is a number from the program. XRC, RAW_PACKET and unknown types are not supported. */
	if (attr->type != QPT_RC && attr->type != QPT_UC && attr->type != QPT_UD)
		return rdev_refuse(dev, -EOPNOTSUPP, QP_TYPE, attr->type);
	if (attr->type == QPT_UC && like_lacks(dev->like, LIKE_NO_UC))
		return rdev_refuse(dev, like_errno(dev->like->e_qp_type), DEV_LACKS, LIKE_NO_UC);
	if (!attr->recv_cq || !attr->send_cq)
		return -EINVAL;
	if (!like_qp(dev->like, attr, &x))
		return rdev_refuse(dev, x.err, QP_LIMIT, x.limit, x.value, x.max);
	return rdev_full(uctx, RDEV_QP, dev->like->max_qp, dev->like->e_qps);
}

/* Leases one more block of QP numbers. */
static int qp_block_add(struct rdev *dev)
{
	__typeof__(*dev->blocks) *b;
	struct qp_card *cards;
	uint32_t i;
	int block;

	/* Allocate the memory first: a leased block of numbers cannot be returned. */
	b = pool_alloc((dev->nblocks + 1) * sizeof(*b));
	if (!b)
		return -ENOMEM;
	block = dev->ops->lease_block(dev, &cards);
	/* rused must not lease a block twice, else two QPs have one number, nor block 0, which has QP0 and QP1. */
	for (i = 0; i < dev->nblocks && block >= 0; i++)
		if (BUG_ON(dev->blocks[i].block == block))
			block = -EIO;
	if (BUG_ON(block == 0 || block >= QPN_BLOCKS))
		block = -EIO;
	if (block < 0) {
		pool_free(b, (dev->nblocks + 1) * sizeof(*b));
		return block;
	}
	if (dev->nblocks)
		memcpy(b, dev->blocks, dev->nblocks * sizeof(*b));
	pool_free(dev->blocks, dev->nblocks * sizeof(*b));
	dev->blocks = b;
	b += dev->nblocks;
	b->block = (uint16_t)block;
	b->cards = cards;
	idtable_init(&b->qps, QPN_PER_BLOCK);
	b->qps.next = rand_u32() & (QPN_PER_BLOCK - 1);
	dev->nblocks++;
	return 0;
}

/* Gives the QP a number and the struct qp_card of that number. */
static int qpn_alloc(struct rdev *dev, struct qp *qp)
{
	int64_t index = -ENOSPC;
	uint32_t i, jump;
	int err;

	if (unlikely(shake_ops) && (jump = shake_ops->qpn()))
		for (i = 0; i < dev->nblocks; i++)
			dev->blocks[i].qps.next = jump & (QPN_PER_BLOCK - 1);
	for (i = 0; i < dev->nblocks && index == -ENOSPC; i++)
		index = idtable_alloc_cyclic(&dev->blocks[i].qps, 0, qp);
	if (index == -ENOSPC) {
		err = qp_block_add(dev);
		if (err)
			return err;
		i = dev->nblocks;
		index = idtable_alloc_cyclic(&dev->blocks[i - 1].qps, 0, qp);
	}
	if (index < 0)
		return (int)index;
	qp->qpn = (uint32_t)dev->blocks[i - 1].block << QPN_INDEX_BITS | (uint32_t)index;
	qp->card = &dev->blocks[i - 1].cards[index];
	return 0;
}

static void qpn_free(struct rdev *dev, struct qp *qp)
{
	uint32_t i;

	for (i = 0; i < dev->nblocks; i++)
		if (dev->blocks[i].block == qp->qpn >> QPN_INDEX_BITS)
			idtable_remove(&dev->blocks[i].qps, qp->qpn & (QPN_PER_BLOCK - 1));
}

/* Allocates the rings, of slots as kernel rxe 6.1 has. The provider takes the slot size from the ring. */
static int qp_rings_alloc(struct qp *qp)
{
	uint32_t payload = max(qp->max_send_sge * SGE_SIZE, qp->max_inline);
	struct ucontext *uctx = qp->uctx;
	int err;

	ring_layout(&qp->sq, qp->max_send_wr, (uint32_t)sizeof(struct rxe_send_wqe) + payload);
	if (!qp->srq)
		ring_layout(&qp->rq, qp->max_recv_wr,
			    (uint32_t)sizeof(struct rxe_recv_wqe) + qp->max_recv_sge * SGE_SIZE);
	/*
	 * Allocate the receive ring first, as the provider maps it first. The kernel places each
	 * mapping below the one before, while file offsets rise, so adjacent mappings are not
	 * contiguous in the file. In the other order they would be: the kernel would merge the
	 * two mappings and would have to split them when one ring is unmapped.
	 */
	err = qp->srq ? 0 : uctx->ops->ring_alloc(uctx, &qp->rq);
	if (err)
		return err;
	err = uctx->ops->ring_alloc(uctx, &qp->sq);
	if (err && !qp->srq)
		uctx->ops->ring_free(uctx, &qp->rq);
	return err;
}

static void qp_rings_free(struct qp *qp)
{
	if (!qp->srq)
		qp->uctx->ops->ring_free(qp->uctx, &qp->rq);
	qp->uctx->ops->ring_free(qp->uctx, &qp->sq);
}

/*
 * What a stopped peer writes to the shared card when it continues is of a connection that is over by then. Peers that
 * look at this card find no QP.
 */
static noinline __cold bool qp_card_leave(struct qp *qp)
{
	struct qp_card *own = pool_alloc(sizeof(*own));

	if (!own)
		return false;
	*own = (struct qp_card){ .lock = CARD_OWNER, .qpn = qp->qpn, .pd = qp->pd->id };
	WRITE_ONCE(qp->card->qpn, 0);
	WRITE_ONCE(qp->card->state, QPS_RESET);
	qp->card = own;
	qp->card_own = true;
	return true;
}

bool qp_card_lock(struct qp *qp, bool anew)
{
	if (likely(card_lock(qp->card, CARD_OWNER)))
		return true;
	if (qp->dev->ops->withdrawn)
		qp->dev->ops->withdrawn(qp->dev);
	return anew && qp_card_leave(qp);
}

static void qp_card_open(struct qp *qp)
{
	bool locked = qp_card_lock(qp, true);
	struct qp_card *c = qp->card;

	c->state = QPS_RESET;
	c->epsn = c->msn = c->access = c->dest_qpn = 0;
	c->busy = 0;
	c->wrote_at = 0;
	c->checked = qp->check != NULL;
	c->path_mtu = qp->attr.path_mtu;
	c->pd = qp->pd->id;
	c->qpn = qp->qpn;
	if (locked)
		card_unlock(c);
}

static void qp_card_close(struct qp *qp)
{
	bool locked = qp_card_lock(qp, false);

	qp->card->qpn = 0;
	qp->card->state = QPS_RESET;
	qp->card->pd = 0;
	if (locked)
		card_unlock(qp->card);
}

int qp_create(struct pd *pd, struct qp_init_attr *attr, struct qp **out)
{
	struct qp *qp;
	int err;

	if (unlikely(check_ops))
		check_ops->qp_wanted(pd->uctx->dev, attr);
	err = qp_check_init(pd->uctx, attr);
	if (err)
		return err;
	qp = pool_alloc(sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	*qp = (struct qp){
		.uctx = pd->uctx, .dev = pd->uctx->dev, .pd = pd,
		.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .srq = attr->srq,
		.type = attr->type, .state = QPS_RESET, .sq_sig_all = attr->sq_sig_all,
		.max_send_wr = attr->max_send_wr, .max_send_sge = (uint16_t)attr->max_send_sge,
		.max_recv_wr = attr->max_recv_wr, .max_recv_sge = (uint16_t)attr->max_recv_sge,
		.max_inline = attr->max_inline, .attr.path_mtu = 256,
		.peer_counter = pd->uctx->dev->counter,
	};
	list_init(&qp->work);
	err = qp_rings_alloc(qp);
	if (err)
		goto free_qp;
	err = qpn_alloc(qp->dev, qp);
	if (err)
		goto free_rings;
	qp->card_peer = qp->qpn;
	event_source_init(&qp->async, attr->async, attr->user_handle);
	credits_begin(qp);
	if (unlikely(check_ops))
		check_ops->qp_begin(qp);
	if (unlikely(shake_ops))
		shake_ops->qp_begin(qp);
	qp_card_open(qp);
	pd->usecnt++;
	qp->send_cq->usecnt++;
	qp->recv_cq->usecnt++;
	if (qp->srq)
		qp->srq->usecnt++;
	qp->uctx->nqp++;
	*out = qp;
	return 0;

free_rings:
	qp_rings_free(qp);
free_qp:
	pool_free(qp, sizeof(*qp));
	return err;
}

int qp_destroy(struct qp *qp, uint32_t *reported)
{
	struct rdev *dev = qp->dev;
	struct ucontext *uctx = qp->uctx;

	mw_qp_gone(qp);
	mcast_qp_gone(qp);
	/*
	 * Takes the lock of the QP's card (struct qp_card, shared with peers), or the command waits at its end: for a
	 * peer that acts as the responder (direct placement). Peers that read the card later find that it
	 * has no QP.
	 */
	qp_card_close(qp);
	if (qp->link)
		dev->ops->qp_disconnect(qp);
	qpn_free(dev, qp);
	credits_forget(qp);
	if (unlikely(qp->check))
		check_ops->qp_end(qp);
	if (unlikely(qp->shake))
		shake_ops->qp_end(qp);
	qp->send_cq->usecnt--;
	qp->recv_cq->usecnt--;
	qp->pd->usecnt--;
	*reported = event_source_fini(&qp->async);
	if (qp->srq)
		qp->srq->usecnt--;
	qp_rings_free(qp);
	uctx->nqp--;
	if (qp->card_own)
		pool_free(qp->card, sizeof(*qp->card));
	pool_free(qp, sizeof(*qp));
	return 0;
}
