/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion channels and async event files. Programs name them by descriptors, which fd_install()
 * makes in engine/. Each uverbs file lists the event files that it has made, with a reference to
 * each: events of the device's port are queued on them, and close and removal of the device mark them as gone.
 */
#include "abi/uverbs/handlers.h"
#include "base/pool.h"

/* References to ev that belong to no descriptor: one of f->evs, and one of f->uctx->async if that is ev. */
static uint32_t event_own_refs(const struct uverbs_file *f, const struct event_file *ev)
{
	return f->uctx->async == ev ? 2 : 1;
}

bool ev_has_descriptor(const struct uverbs_file *f, const struct event_file *ev)
{
	return ev->refs > event_own_refs(f, ev);
}

/* Frees the event files that only f->evs refers to. The default async file has more references and stays. */
static void ev_prune(struct uverbs_file *f)
{
	uint32_t i, n = 0;

	for (i = 0; i < f->nevs; i++) {
		if (f->evs[i]->refs == 1)
			event_file_put(f->evs[i]);
		else
			f->evs[n++] = f->evs[i];
	}
	f->nevs = n;
}

void ev_forget_all(struct uverbs_file *f)
{
	uint32_t i;

	for (i = 0; i < f->nevs; i++) {
		/*
		 * The caller frees f, but the event file lives on while its descriptor is open. Clear
		 * owner, or it could equal the address of a later uverbs_file.
		 */
		f->evs[i]->owner = NULL;
		event_file_put(f->evs[i]);
	}
	pool_free(f->evs, f->evs_size * sizeof(*f->evs));
	f->evs = NULL;
	f->nevs = f->evs_size = 0;
	if (f->uctx->async) {
		event_file_put(f->uctx->async);
		f->uctx->async = NULL;
	}
}

int ev_lookup(struct uverbs_file *f, bool is_async, int64_t fd, struct event_file **ev)
{
	if (fd != (int)fd)
		return -EINVAL;
	*ev = fd >= 0 ? f->host->fd_lookup(f, (int)fd) : NULL;
	if (!*ev || (*ev)->owner != f || (*ev)->is_async != is_async)
		return rdev_refuse(f->uctx->dev, -EBADF, CHANNEL, (uint64_t)fd, is_async);
	return uverbs_check_gone(f);
}

/* Makes an event file and its descriptor. The first async file of f becomes the context's default. */
int ev_install(struct uverbs_file *f, bool is_async, int *fd)
{
	struct event_file *ev, **evs;
	uint32_t size;
	int ret;

	ev_prune(f);
	if (f->nevs == f->evs_size) {
		size = f->evs_size ? f->evs_size * 2 : 4;
		evs = pool_grow(f->evs, f->evs_size * sizeof(*evs), size * sizeof(*evs));
		if (!evs)
			return -ENOMEM;
		f->evs = evs;
		f->evs_size = size;
	}
	ev = event_file_create(f->ev_ops, is_async, f);
	if (!ev)
		return -ENOMEM;
	ret = f->host->fd_install(f, ev);
	if (ret < 0) {
		event_file_put(ev);
		return ret;
	}
	*fd = ret;
	event_file_get(ev);
	f->evs[f->nevs++] = ev;
	if (is_async && !f->uctx->async) {
		event_file_get(ev);
		f->uctx->async = ev;
	}
	return 0;
}

/* Undoes the last ev_install(), for a command that fails after it. */
void ev_uninstall(struct uverbs_file *f, int fd)
{
	struct event_file *ev = f->evs[--f->nevs];

	if (f->uctx->async == ev) {
		f->uctx->async = NULL;
		event_file_put(ev);
	}
	ev->owner = NULL;
	event_file_put(ev);
	f->host->fd_uninstall(f, ev, fd);
}

int do_create_comp_channel(struct uverbs_req *r)
{
	struct ib_uverbs_create_comp_channel_resp resp = { .fd = UINT32_MAX };
	struct ib_uverbs_create_comp_channel cmd;
	int fd, ret;

	ret = req_get(r, &cmd, sizeof(cmd));
	if (!ret)
		ret = uverbs_check_context(r->f);
	/* Write the response twice: see do_get_context(). */
	if (!ret)
		ret = req_put(r, &resp, sizeof(resp));
	if (!ret)
		ret = ev_install(r->f, false, &fd);
	if (ret)
		return ret;
	resp.fd = (uint32_t)fd;
	ret = req_put(r, &resp, sizeof(resp));
	if (ret)
		ev_uninstall(r->f, fd);
	return ret;
}

/* The descriptor is written into the attribute, like the id of a new object. */
int io_async_event_alloc(struct uverbs_req *r)
{
	const struct attr_val *a = attr_find(r, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	uint64_t where = (uintptr_t)&r->uattrs[a->index].data;
	int64_t value = (int64_t)a->data;
	int fd, ret;

	if (user_put(where, &value, sizeof(value)))
		return -EFAULT;
	ret = ev_install(r->f, true, &fd);
	if (ret)
		return ret;
	value = fd;
	ret = user_put(where, &value, sizeof(value));
	if (ret)
		ev_uninstall(r->f, fd);
	return ret;
}
