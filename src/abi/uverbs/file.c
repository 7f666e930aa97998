/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open uverbs files: open, close, and removal of the device. */
#include "abi/uverbs/uverbs_internal.h"
#include "base/pool.h"

int uverbs_open(struct ucontext *uctx, const struct uverbs_ops *host,
		const struct event_file_ops *ev_ops, struct uverbs_file **f)
{
	struct uverbs_file *n;

	if (uctx->dev->gone)
		return -EIO;
	n = pool_zalloc(sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->uctx = uctx;
	n->host = host;
	n->ev_ops = ev_ops;
	idtable_init(&n->ids, UINT32_MAX);
	list_init(&n->objs);
	*f = n;
	return 0;
}

/* Only completion channels return EIO after the close: see uverbs.h. */
void uverbs_close(struct uverbs_file *f)
{
	struct event_file *ev;
	uint32_t i;

	uobj_destroy_all(f, false);
	for (i = 0; i < f->nevs; i++) {
		ev = f->evs[i];
		if (ev->is_async || ev->gone)
			continue;
		ev->gone = true;
		ev->ops->raise(ev);
	}
	ev_forget_all(f);
	idtable_fini(&f->ids);
	pool_free(f, sizeof(*f));
}

void uverbs_disassociate(struct uverbs_file *f)
{
	struct event_file *ev;
	uint32_t i;

	if (f->gone)
		return;
	uobj_destroy_all(f, true);
	uverbs_async_all(f, IB_EVENT_DEVICE_FATAL, 0);
	f->gone = true;
	/* The last event of an asynchronous event file is DEVICE_FATAL: a later read waits for ever. */
	for (i = 0; i < f->nevs; i++) {
		ev = f->evs[i];
		if (ev->is_async || ev->gone)
			continue;
		ev->gone = true;
		ev->ops->raise(ev);
	}
}

bool uverbs_is_gone(const struct uverbs_file *f)
{
	return f->gone;
}

void uverbs_async_all(struct uverbs_file *f, uint32_t type, uint64_t element)
{
	uint32_t i;

	for (i = 0; i < f->nevs && !f->gone; i++)
		if (f->evs[i]->is_async && !f->evs[i]->gone && ev_has_descriptor(f, f->evs[i]))
			event_raise_port(f->evs[i], element, type);
}

struct ucontext *uverbs_ucontext(struct uverbs_file *f)
{
	return f->uctx;
}

void uverbs_for_each_obj(struct uverbs_file *f,
			 void (*fn)(struct uverbs_file *f, uint16_t kind, void *obj, void *arg),
			 void *arg)
{
	struct uobj *o;

	list_for_each_entry(o, &f->objs, entry)
		if (o->live && o->obj)
			fn(f, o->kind, o->obj, arg);
}

void uverbs_for_each_event(struct uverbs_file *f, void (*fn)(struct event_file *ev, void *arg),
			   void *arg)
{
	for (uint32_t i = 0; i < f->nevs; i++)
		fn(f->evs[i], arg);
}
