/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: creation and destruction, with their numbers, rings and cards (struct qp_card,
 * responder state that peers on the same host use). A QP number consists of the number of a block,
 * a range that rused leases to the process, and an index, which also selects the QP's card among
 * those of the block. When all blocks are full another one is leased. States are in qp_state.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/pool.h"
#include "base/rand.h"
#include "core/mcast.h"
#include "core/mw.h"

#define SGE_SIZE ((uint32_t)sizeof(struct rxe_sge))

_Static_assert(sizeof(struct rxe_send_wqe) == 208 && sizeof(struct rxe_recv_wqe) == 40 &&
	       sizeof(struct rxe_sge) == 16, "work requests of the provider");

static int qp_check_limits(struct rdev *dev, const struct qp_init_attr *a)
{
	const struct {
		uint32_t value, max;
	} limits[] = {
		{ a->max_send_wr, DEV_MAX_QP_WR },
		{ a->srq ? 0 : a->max_recv_wr, DEV_MAX_QP_WR },
		{ a->max_send_sge, DEV_MAX_SGE },
		{ a->srq ? 0 : a->max_recv_sge, DEV_MAX_SGE },
		{ a->max_inline, DEV_MAX_INLINE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (limits[i].value > limits[i].max)
			return rdev_refuse(dev, -EINVAL, QP_LIMIT, i, limits[i].value,
					   limits[i].max);
	return 0;
}

/* Checks in the order of kernel rxe_qp_chk_init(). */
static int qp_check_init(struct rdev *dev, const struct qp_init_attr *attr)
{
	/* The type is a number from the program. XRC, RAW_PACKET and unknown types are not supported. */
	if (attr->type != QPT_RC && attr->type != QPT_UC && attr->type != QPT_UD)
		return rdev_refuse(dev, -EOPNOTSUPP, QP_TYPE, attr->type);
	if (!attr->recv_cq || !attr->send_cq)
		return -EINVAL;
	return qp_check_limits(dev, attr);
}

/* Leases one more block of QP numbers. */
static int qp_block_add(struct rdev *dev)
{
	__typeof__(*dev->blocks) *b;
	struct qp_card *cards;
	uint32_t i;
	int block;

	/* Allocate the memory first: a leased block of numbers cannot be returned. */
	b = reallocarray(dev->blocks, dev->nblocks + 1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	dev->blocks = b;
	block = dev->ops->lease_block(dev, &cards);
	if (block < 0)
		return block;
	/* rused must not lease a block twice, else two QPs have one number, nor block 0, which has QP0 and QP1. */
	for (i = 0; i < dev->nblocks; i++)
		if (BUG_ON(b[i].block == block))
			return -EIO;
	if (BUG_ON(block == 0 || block >= QPN_BLOCKS))
		return -EIO;
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
	uint32_t i;
	int err;

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

/*
 * Allocates the rings with the sizes of kernel rxe 6.1. The provider takes the slot size from
 * the ring, and reports max_send_sge and max_inline to the program.
 */
static int qp_rings_alloc(struct qp *qp)
{
	uint32_t payload = max(qp->max_send_sge * SGE_SIZE, qp->max_inline);
	struct ucontext *uctx = qp->uctx;
	int err;

	qp->max_send_sge = payload / SGE_SIZE;
	qp->max_inline = payload;
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

static void qp_card_open(struct qp *qp)
{
	struct qp_card *c = qp->card;

	card_lock(qp->card, CARD_OWNER);
	c->state = QPS_RESET;
	c->epsn = c->msn = c->access = c->dest_qpn = 0;
	c->busy = 0;
	c->path_mtu = qp->attr.path_mtu;
	c->pd = qp->pd->id;
	c->qpn = qp->qpn;
	card_unlock(c);
}

static void qp_card_close(struct qp *qp)
{
	card_lock(qp->card, CARD_OWNER);
	qp->card->qpn = 0;
	qp->card->state = QPS_RESET;
	qp->card->pd = 0;
	card_unlock(qp->card);
}

int qp_create(struct pd *pd, struct qp_init_attr *attr, struct qp **out)
{
	struct qp *qp;
	int err = qp_check_init(pd->uctx->dev, attr);

	if (err)
		return err;
	qp = pool_alloc(sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	*qp = (struct qp){
		.uctx = pd->uctx, .dev = pd->uctx->dev, .pd = pd,
		.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .srq = attr->srq,
		.type = attr->type, .state = QPS_RESET, .sq_sig_all = attr->sq_sig_all,
		.max_send_wr = attr->max_send_wr, .max_send_sge = attr->max_send_sge,
		.max_recv_wr = attr->srq ? 0 : attr->max_recv_wr,
		.max_recv_sge = attr->srq ? 0 : attr->max_recv_sge,
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
	event_source_init(&qp->async, attr->async, attr->user_handle);
	qp_card_open(qp);
	pd->usecnt++;
	qp->send_cq->usecnt++;
	qp->recv_cq->usecnt++;
	if (qp->srq)
		qp->srq->usecnt++;
	qp->uctx->nqp++;
	attr->max_recv_wr = qp->max_recv_wr;
	attr->max_recv_sge = qp->max_recv_sge;
	attr->max_send_sge = qp->max_send_sge;
	attr->max_inline = qp->max_inline;
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
	 * Takes the lock of the QP's card (struct qp_card, shared with peers), so it waits for a
	 * peer that acts as the responder (direct placement). Peers that read the card later find that it
	 * has no QP.
	 */
	qp_card_close(qp);
	if (qp->link)
		dev->ops->qp_disconnect(qp);
	qpn_free(dev, qp);
	qp->send_cq->usecnt--;
	qp->recv_cq->usecnt--;
	qp->pd->usecnt--;
	*reported = event_source_fini(&qp->async);
	if (qp->srq)
		qp->srq->usecnt--;
	qp_rings_free(qp);
	uctx->nqp--;
	pool_free(qp, sizeof(*qp));
	return 0;
}
