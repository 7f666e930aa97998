/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of the process's objects that rused reads for RDMA netlink (ipc/res.h). It is in the
 * memfd of the process page, behind struct proc_page. It grows by whole chunks and never shrinks.
 * Free records are reused first.
 */
#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include "base/idtable.h"
#include "base/sys.h"
#include "core/cq.h"
#include "engine/engine_internal.h"
#include "engine/res.h"
#include "ipc/res.h"

#define CHUNK_RECS 1024u
#define NONE UINT32_MAX

int res_init(int fd)
{
	struct memfd_table *t = &engine.res.map;

	if (memfd_table_map(t, fd, RES_OFFSET, (size_t)RES_MAX * sizeof(struct res_rec), true))
		return -ENOMEM;
	engine.res.rec = t->at;
	engine.res.size = 0;
	idtable_init(&engine.res.ids, RES_MAX);
	return 0;
}

/* Allocate a record for an object. Returns its index + 1. 0: none is available, and the object is not listed. */
static uint32_t res_alloc(void *obj)
{
	int64_t id = engine.res.rec ? idtable_alloc(&engine.res.ids, obj) : -ENOMEM;
	uint32_t size;

	if (id < 0)
		return 0;
	if (id >= engine.res.size) {
		size = ALIGN_UP((uint32_t)id + 1, CHUNK_RECS);
		if (memfd_grow(engine.proc_fd,
			       RES_OFFSET + (uint64_t)size * sizeof(struct res_rec)) < 0 ||
		    memfd_table_open(&engine.res.map, size * sizeof(struct res_rec))) {
			idtable_remove(&engine.res.ids, (uint32_t)id);
			return 0;
		}
		engine.res.size = size;
	}
	return (uint32_t)id + 1;
}

static void res_free(uint32_t *slot)
{
	static const struct res_rec none;

	if (!*slot || !engine.res.rec)
		return;
	res_rec_write(&engine.res.rec[*slot - 1], &none);
	idtable_remove(&engine.res.ids, *slot - 1);
	*slot = 0;
}

static void res_show(uint32_t *slot, void *obj, const struct res_rec *rec)
{
	if (!*slot)
		*slot = res_alloc(obj);
	if (*slot)
		res_rec_write(&engine.res.rec[*slot - 1], rec);
}

static struct res_rec res_rec_head(const struct ucontext *uctx, enum res_kind kind,
				   const struct pd *pd)
{
	return (struct res_rec){
		.kind = (uint8_t)kind, .dev_index = uctx->dev->index,
		.ctx = uctx->res ? uctx->res - 1 : NONE, .pd = pd && pd->res ? pd->res - 1 : NONE };
}

void res_ctx(struct ucontext *uctx, bool gone)
{
	struct res_rec rec = res_rec_head(uctx, RES_CTX, NULL);

	if (gone)
		res_free(&uctx->res);
	else
		res_show(&uctx->res, uctx, &rec);
}

/* less: number of users that are being destroyed, which usecnt still includes */
static void res_show_pd(struct pd *pd, uint32_t less)
{
	struct res_rec rec = res_rec_head(pd->uctx, RES_PD, NULL);

	rec.users = pd->usecnt - less;
	res_show(&pd->res, pd, &rec);
}

static void res_show_cq(struct cq *cq, uint32_t less)
{
	struct res_rec rec = res_rec_head(cq->uctx, RES_CQ, NULL);

	rec.users = cq->usecnt - less;
	rec.cq.cqe = cq->cqe;
	res_show(&cq->res, cq, &rec);
}

static void res_show_mr(struct mr *mr, bool gone)
{
	const struct key_card *card = &mr->pd->uctx->dev->keys[mr->index];
	struct res_rec rec = res_rec_head(mr->pd->uctx, RES_MR, mr->pd);

	rec.type = (uint8_t)mr->memory;
	rec.mr.lkey = mr->lkey;
	rec.mr.rkey = mr->rkey;
	rec.mr.length = card->length;
	rec.mr.iova = card->iova;
	if (gone)
		res_free(&mr->res);
	else
		res_show(&mr->res, mr, &rec);
	res_show_pd(mr->pd, gone);
}

static void res_show_qp(struct qp *qp, bool gone)
{
	struct res_rec rec = res_rec_head(qp->uctx, RES_QP, qp->pd);
	bool changes = gone || !qp->res;

	if (gone) {
		qp->shown_state = NULL;
		res_free(&qp->res);
	} else {
		rec.type = qp->type;
		rec.state = qp->state;
		rec.port = qp->attr.port;
		rec.qp.lqpn = qp->qpn;
		rec.qp.rqpn = qp->attr.dest_qpn;
		rec.qp.path_mig_state = qp->attr.path_mig_state;
		rec.qp.srqn = qp->srq ? qp->srq->num : 0;
		rec.qp.rq_psn = READ_ONCE(qp->card->epsn);
		rec.qp.sq_psn = qp->req.nxt;
		res_show(&qp->res, qp, &rec);
		qp->shown_state = qp->res ? &engine.res.rec[qp->res - 1].state : NULL;
	}
	/* Only creating or destroying the QP changes the number of users of its PD and CQs. */
	if (!changes)
		return;
	res_show_pd(qp->pd, gone);
	res_show_cq(qp->send_cq, gone ? 1 + (qp->send_cq == qp->recv_cq) : 0);
	if (qp->recv_cq != qp->send_cq)
		res_show_cq(qp->recv_cq, gone);
}

static void res_show_srq(struct srq *srq, bool gone)
{
	struct res_rec rec = res_rec_head(srq->uctx, RES_SRQ, srq->pd);

	rec.srq.srqn = srq->num;
	if (gone)
		res_free(&srq->res);
	else
		res_show(&srq->res, srq, &rec);
	res_show_pd(srq->pd, gone);
}

void res_obj(struct uverbs_file *f, uint16_t kind, void *obj, bool gone)
{
	switch (kind) {
	case UVERBS_OBJECT_PD:
		if (gone)
			res_free(&((struct pd *)obj)->res);
		else
			res_show_pd(obj, 0);
		break;
	case UVERBS_OBJECT_CQ:
		if (gone)
			res_free(&((struct cq *)obj)->res);
		else
			res_show_cq(obj, 0);
		break;
	case UVERBS_OBJECT_MR:
		res_show_mr(obj, gone);
		break;
	case UVERBS_OBJECT_QP:
		res_show_qp(obj, gone);
		break;
	case UVERBS_OBJECT_SRQ:
		res_show_srq(obj, gone);
		break;
	}
}
