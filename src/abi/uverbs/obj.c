/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles. All kinds share the id space of their open file; a new handle has the lowest free
 * id, as from the kernel's xarray. A create command allocates the handle (uobj_alloc), creates the
 * object, and writes the response; then uobj_commit() makes the handle visible to lookups. After an
 * error uobj_abort() destroys both.
 */
#include "abi/uverbs/uverbs_internal.h"
#include "core/acks.h"
#include "core/mw.h"
#include "base/log.h"
#include "base/pool.h"

int uverbs_check_gone(const struct uverbs_file *f)
{
	const struct rdev *dev = f->uctx->dev;

	if (likely(!f->gone && !dev->gone))
		return 0;
	return rdev_refuse(f->uctx->dev, -EIO, DEV_GONE, !dev->gone);
}

int uverbs_check_context(const struct uverbs_file *f)
{
	int ret = uverbs_check_gone(f);

	if (unlikely(ret))
		return ret;
	return f->has_context ? 0 : -EINVAL;
}

int uobj_alloc(struct uverbs_file *f, uint16_t kind, struct uobj **o)
{
	int64_t id;
	int ret;

	ret = uverbs_check_context(f);
	if (ret)
		return ret;
	*o = pool_zalloc(sizeof(**o));
	if (!*o)
		return -ENOMEM;
	id = idtable_alloc(&f->ids, *o);
	if (id < 0) {
		pool_free(*o, sizeof(**o));
		*o = NULL;
		return (int)id;
	}
	(*o)->id = (uint32_t)id;
	(*o)->kind = kind;
	list_init(&(*o)->entry);
	return 0;
}

void uobj_commit(struct uverbs_file *f, struct uobj *o)
{
	o->live = true;
	list_add(&o->entry, &f->objs);
	uobj_changed(f, o->kind, o->obj);
}

void uobj_changed(struct uverbs_file *f, uint16_t kind, void *obj)
{
	if (f->host->obj_shown)
		f->host->obj_shown(f, kind, obj, false);
}

/* Counts the QPs that use a CQ or an SRQ. *qpn: the number of one. */
static uint64_t uobj_count_qps(const struct uverbs_file *f, const void *obj, uint32_t *qpn)
{
	const struct uobj *o;
	uint64_t n = 0;

	list_for_each_entry(o, &f->objs, entry) {
		const struct qp *qp = o->obj;

		if (o->kind != UVERBS_OBJECT_QP || !qp ||
		    (qp->send_cq != obj && qp->recv_cq != obj && qp->srq != obj))
			continue;
		*qpn = qp->qpn;
		n++;
	}
	return n;
}

static struct pd *uobj_pd(const struct uobj *o)
{
	if (!o->obj)
		return NULL;
	switch (o->kind) {
	case UVERBS_OBJECT_MR:
		return ((struct mr *)o->obj)->pd;
	case UVERBS_OBJECT_QP:
		return ((struct qp *)o->obj)->pd;
	case UVERBS_OBJECT_AH:
		return ((struct ah *)o->obj)->pd;
	case UVERBS_OBJECT_SRQ:
		return ((struct srq *)o->obj)->pd;
	case UVERBS_OBJECT_MW:
		return ((struct mw *)o->obj)->pd;
	default:
		return NULL;
	}
}

/* Counts the objects of a kind in a protection domain. */
static uint64_t uobj_count_in_pd(const struct uverbs_file *f, uint16_t kind, const struct pd *pd)
{
	const struct uobj *o;
	uint64_t n = 0;

	list_for_each_entry(o, &f->objs, entry)
		n += o->kind == kind && uobj_pd(o) == pd;
	return n;
}

/* An object cannot be destroyed: the reason is what uses it. */
static noinline __cold void uobj_refuse_busy(struct uverbs_file *f, uint16_t kind, const void *obj)
{
	struct rdev *dev = f->uctx->dev;
	uint32_t qpn = 0;
	uint64_t n;

	switch (kind) {
	case UVERBS_OBJECT_PD:
		rdev_refuse(dev, 0, PD_BUSY, uobj_count_in_pd(f, UVERBS_OBJECT_MR, obj),
			    uobj_count_in_pd(f, UVERBS_OBJECT_QP, obj),
			    uobj_count_in_pd(f, UVERBS_OBJECT_AH, obj),
			    uobj_count_in_pd(f, UVERBS_OBJECT_SRQ, obj),
			    uobj_count_in_pd(f, UVERBS_OBJECT_MW, obj));
		break;
	case UVERBS_OBJECT_CQ:
		n = uobj_count_qps(f, obj, &qpn);
		rdev_refuse(dev, 0, CQ_BUSY, n, qpn);
		break;
	case UVERBS_OBJECT_SRQ:
		n = uobj_count_qps(f, obj, &qpn);
		rdev_refuse(dev, 0, SRQ_BUSY, n, qpn);
		break;
	case UVERBS_OBJECT_MR:
		rdev_refuse(dev, 0, MR_BUSY, ((const struct mr *)obj)->usecnt,
			    ((const struct mr *)obj)->lkey);
		break;
	case UVERBS_OBJECT_QP:
		qpn = ((const struct qp *)obj)->qpn;
		rdev_refuse(dev, 0, QP_BUSY, qpn, ((const struct qp *)obj)->nmcast);
		dev->fails.refused_qpn = qpn;
		break;
	default:
		break;
	}
}

/* The object's address in the program, if it may have events. */
static uint64_t uobj_address(const struct uobj *o)
{
	switch (o->kind) {
	case UVERBS_OBJECT_CQ:
		return ((const struct cq *)o->obj)->async.user_handle;
	case UVERBS_OBJECT_QP:
		return ((const struct qp *)o->obj)->async.user_handle;
	case UVERBS_OBJECT_SRQ:
		return ((const struct srq *)o->obj)->async.user_handle;
	default:
		return 0;
	}
}

static void uobj_note_acks(const struct uobj *o, uint64_t object)
{
	if (o->kind == UVERBS_OBJECT_CQ)
		acks_note(ACKS_CQ, object, o->comp_reported, o->async_reported);
	else if (object)
		acks_note(o->kind == UVERBS_OBJECT_QP ? ACKS_QP : ACKS_SRQ, object,
			  o->async_reported, 0);
}

/* Destroys the object of a handle. -EBUSY: a QP attached to multicast groups; not if closing is set. */
static int uobj_hw_destroy(struct uverbs_file *f, struct uobj *o, bool closing)
{
	uint64_t object;
	int ret = 0;

	if (!o->obj)
		return 0;
	if (o->live && f->host->obj_shown)
		f->host->obj_shown(f, o->kind, o->obj, true);
	object = uobj_address(o);
	switch (o->kind) {
	case UVERBS_OBJECT_PD:
		ret = pd_destroy(o->obj);
		break;
	case UVERBS_OBJECT_MR:
		ret = mr_destroy(o->obj);
		break;
	case UVERBS_OBJECT_MW:
		ret = mw_dealloc(o->obj);
		break;
	case UVERBS_OBJECT_SRQ:
		ret = srq_destroy(o->obj, &o->async_reported);
		break;
	case UVERBS_OBJECT_AH:
		ret = ah_destroy(o->obj);
		break;
	case UVERBS_OBJECT_CQ:
		ret = cq_destroy(o->obj, &o->comp_reported, &o->async_reported);
		break;
	case UVERBS_OBJECT_QP:
		/* As in ib_uverbs, the program must detach the QP from its multicast groups first. */
		if (!closing && ((struct qp *)o->obj)->nmcast) {
			ret = -EBUSY;
			break;
		}
		f->host->qp_destroying(o->obj);
		ret = qp_destroy(o->obj, &o->async_reported);
		break;
	default:
		BUG_ON(true);
		break;
	}
	if (!ret) {
		o->obj = NULL;
		uobj_note_acks(o, object);
	} else {
		uobj_refuse_busy(f, o->kind, o->obj);
		if (o->live)
			uobj_changed(f, o->kind, o->obj);
	}
	return ret;
}

static void uobj_free(struct uverbs_file *f, struct uobj *o)
{
	idtable_remove(&f->ids, o->id);
	list_del(&o->entry);
	pool_free(o, sizeof(*o));
}

void uobj_abort(struct uverbs_file *f, struct uobj *o)
{
	/* The handle was never found by a lookup, so nothing refers to the object. */
	BUG_ON(uobj_hw_destroy(f, o, true) != 0);
	uobj_free(f, o);
}

int uobj_lookup(struct uverbs_file *f, uint16_t kind, int64_t id, bool destroying, struct uobj **o)
{
	struct uobj *u;

	if (!uverbs_kind_enabled(kind) || id < 0)
		return -EINVAL;
	if (id > UINT32_MAX)
		return -ENOENT;
	u = idtable_find(&f->ids, (uint32_t)id);
	if (!u || !u->live)
		return rdev_refuse(f->uctx->dev, -ENOENT, HANDLE, (uint64_t)id, kind);
	if (u->kind != kind)
		return rdev_refuse(f->uctx->dev, -EINVAL, HANDLE, (uint64_t)id, kind, 1);
	/* Objects can be destroyed even if the device is gone. */
	if (!destroying && (uverbs_check_gone(f) || !u->obj))
		return -EIO;
	*o = u;
	return 0;
}

int uobj_get(struct uverbs_file *f, uint16_t kind, uint32_t id, void *obj)
{
	struct uobj *o;
	int ret;

	ret = uobj_lookup(f, kind, id, false, &o);
	if (!ret)
		memcpy(obj, &o->obj, sizeof(o->obj));
	return ret;
}

int uobj_destroy(struct uverbs_file *f, struct uobj *o, struct uobj *gone)
{
	int ret;

	ret = uobj_hw_destroy(f, o, false);
	if (ret)
		return ret;
	if (gone)
		*gone = *o;
	uobj_free(f, o);
	return 0;
}

int uobj_destroy_id(struct uverbs_file *f, uint16_t kind, uint32_t id, struct uobj *gone)
{
	struct uobj *o;
	int ret;

	ret = uobj_lookup(f, kind, id, true, &o);
	return ret ? ret : uobj_destroy(f, o, gone);
}

/*
 * Destroys all objects in the order of order[]: each object before those that it uses, so that none is
 * still in use when it is destroyed. keep_handles: the ids stay in use, so that the program can still
 * destroy the handles.
 */
void uobj_destroy_all(struct uverbs_file *f, bool keep_handles)
{
	static const uint16_t order[] = {
		UVERBS_OBJECT_QP, UVERBS_OBJECT_SRQ, UVERBS_OBJECT_AH, UVERBS_OBJECT_MW,
		UVERBS_OBJECT_MR, UVERBS_OBJECT_CQ, UVERBS_OBJECT_PD,
	};
	struct uobj *o, *n;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		list_for_each_entry_safe(o, n, &f->objs, entry) {
			if (o->kind != order[i])
				continue;
			BUG_ON(uobj_hw_destroy(f, o, true) != 0);
			if (!keep_handles)
				uobj_free(f, o);
		}
	}
}
