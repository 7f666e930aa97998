/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The host page (struct host_page: devices, fault rules and captures, shared with all processes)
 * and the sysfs tree, kept consistent. All processes map the same memfd read-only: after rused has
 * mapped it, a seal forbids further writable mappings.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/rand.h"
#include "daemon/state/host.h"
#include "like/shown.h"
#include "shared/barrier.h"
#include "wire/smp.h"

int host_init(struct host *h, int run, const char *rundir)
{
	void *p;
	int rc;

	h->run = run;
	h->like = &like_default;
	h->shown_like = &like_shown_default;
	h->page_fd = fds_memory("ruse-host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (h->page_fd < 0)
		return h->page_fd;
	if (ftruncate(h->page_fd, sizeof(struct host_page)))
		return -errno;
	p = mmap(NULL, sizeof(struct host_page), PROT_READ | PROT_WRITE, MAP_SHARED, h->page_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	h->page = p;
	if (fcntl(h->page_fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return -errno;
	h->page->magic = HOST_PAGE_MAGIC;
	h->page->cap_flags = h->like->device_cap_flags;
	h->page->version = 1;
	h->page->generation = rand_u32() ?: 1;
	h->page->fault.seed = rand_u32();
	rc = sysfs_init(run);
	if (rc)
		log_err("cannot create the sysfs tree in %s: %s", rundir, strerror(-rc));
	return rc;
}

int host_run(const struct host *h, const struct host_dev *d)
{
	return d->ib.host ? h->ops->run(h->ctx, d->ib.host) : h->run;
}

int host_restore(struct host *h)
{
	int rc = 0;

	for (unsigned int i = 0; !rc && i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &h->page->dev[i];

		if (!d->in_use)
			continue;
		rc = sysfs_device(host_run(h, d), NULL, d, h->shown_like);
		h->ops->shown(h->ctx, i, true);
		/* No counter has this value, so the next update writes all counter files. */
		memset(h->shown[i], 0xff, sizeof(h->shown[i]));
	}
	h->counters_at = 0;
	return rc;
}

void host_fini(struct host *h, bool ours)
{
	if (h->page)
		munmap(h->page, sizeof(*h->page));
	if (h->page_fd >= 0)
		close(h->page_fd);
	h->page = NULL;
	h->page_fd = -1;
	if (ours)
		sysfs_remove(h->run);
}

/* Call after a change of the page. */
static void host_changed(struct host *h, const char *what)
{
	smp_store_release(&h->page->changes, h->page->changes + 1);
	h->ops->notify(h->ctx, what);
}

void host_page_begin(struct host *h)
{
	seqlock_write_begin(&h->page->lock);
}

void host_page_end(struct host *h, const char *what)
{
	seqlock_write_end(&h->page->lock);
	host_changed(h, what);
}

void host_publish_faults(struct host *h, const struct fault_table *now)
{
	host_page_begin(h);
	h->page->fault = *now;
	host_page_end(h, "fault rules");
}

uint32_t host_publish_event(struct host *h, struct host_event *ev)
{
	ev->number = h->page->events + 1 ?: 1;
	host_page_begin(h);
	h->page->event[ev->number % PROC_EVENTS] = *ev;
	h->page->events = ev->number;
	host_page_end(h, "an event");
	return ev->number;
}

const struct host_dev *host_page_dev(const struct host_page *page, const char *name)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (page->dev[i].in_use && !strcmp(page->dev[i].name, name))
			return &page->dev[i];
	return NULL;
}

void host_publish(struct host *h, int slot, const struct host_dev *dev)
{
	struct host_dev *d = &h->page->dev[slot];
	struct host_dev was = *d, next = *dev, *now = &next;
	bool renamed, moved;
	int rc;

	next.downs = 0;
	if (was.in_use && was.index == next.index)
		next.downs = was.downs + (was.state == PORT_ACTIVE && next.state != PORT_ACTIVE);
	if (!memcmp(&was, now, sizeof(was)))
		return;
	/* On another interface it is another device, but no reader of the page finds it missing. */
	moved = was.in_use && now->in_use &&
		memcmp(was.node_guid, now->node_guid, sizeof(was.node_guid));
	if (was.in_use && (!now->in_use || moved))
		h->ops->removed(h->ctx, (unsigned int)slot);
	seqlock_write(&h->page->lock, d, now, sizeof(*d));
	if (now->in_use && (!was.in_use || moved))
		h->ops->added(h->ctx, (unsigned int)slot);
	/* GID 0 is made of the hardware address, so a change of it means a new hardware address. */
	if (was.in_use && now->in_use && now->ifindex && was.ifindex == now->ifindex &&
	    memcmp(was.gid[0].raw, now->gid[0].raw, 16))
		h->ops->addr_changed(h->ctx, now->ifindex);
	/* Update sysfs before notify(), so that a notified process sees the new state. */
	renamed = was.in_use && now->in_use && strcmp(was.name, now->name);
	if (renamed || moved) {
		sysfs_device(host_run(h, &was), &was, NULL, h->shown_like);
		was.in_use = 0;
	}
	rc = sysfs_device(host_run(h, was.in_use ? &was : now), was.in_use ? &was : NULL,
			  now->in_use ? now : NULL, h->shown_like);
	if (rc)
		log_warn("cannot update the sysfs tree of %s: %s", now->name, strerror(-rc));
	if (renamed || (!was.in_use && now->in_use))
		h->ops->shown(h->ctx, (unsigned int)slot, renamed);
	host_changed(h, now->name);
}
