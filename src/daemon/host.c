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
#include <sys/socket.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/rand.h"
#include "daemon/daemon.h"
#include "queue/barrier.h"

int host_init(struct rused *r)
{
	void *p;
	int rc;

	r->page_fd = fds_memory("ruse-host", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->page_fd < 0)
		return r->page_fd;
	if (ftruncate(r->page_fd, sizeof(struct host_page)))
		return -errno;
	p = mmap(NULL, sizeof(struct host_page), PROT_READ | PROT_WRITE, MAP_SHARED, r->page_fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->page = p;
	if (fcntl(r->page_fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return -errno;
	r->page->magic = HOST_PAGE_MAGIC;
	r->page->version = 1;
	r->page->generation = rand_u32();
	fault_rules_init(r);
	rc = sysfs_init(r->run);
	if (rc)
		log_err("cannot create the sysfs tree in %s: %s", r->rundir, strerror(-rc));
	return rc;
}

int host_run(const struct rused *r, const struct host_dev *d)
{
	return d->ib.host ? fabric_host_run(&r->fabrics, d->ib.host) : r->run;
}

int host_restore(struct rused *r)
{
	int rc;

	sysfs_remove(r->run);
	rc = sysfs_init(r->run);
	if (!rc)
		rc = fabric_hosts_restore(&r->fabrics);
	for (unsigned int i = 0; !rc && i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &r->page->dev[i];

		if (!d->in_use)
			continue;
		rc = sysfs_device(host_run(r, d), NULL, d);
		gsi_umad_renamed(&r->gsi, i);
		/* No counter has this value, so the next update writes all counter files. */
		memset(r->shown[i], 0xff, sizeof(r->shown[i]));
		memset(r->gsi.port[i].shown, 0xff, sizeof(r->gsi.port[i].shown));
	}
	r->counters_at = 0;
	return rc;
}

void host_fini(struct rused *r, bool ours)
{
	if (r->page)
		munmap(r->page, sizeof(*r->page));
	if (r->page_fd >= 0)
		close(r->page_fd);
	r->page = NULL;
	r->page_fd = -1;
	if (ours)
		sysfs_remove(r->run);
}

void host_page_begin(struct rused *r)
{
	WRITE_ONCE(r->page->seq, r->page->seq + 1);
	smp_wmb();
}

/*
 * Sends a message to each process that maps the host page. The send does not block. EAGAIN is no
 * error: the socket is full of messages that the process has not read yet, so the process will look
 * at the page anyway.
 */
static void notify(struct rused *r, const char *what)
{
	static const uint64_t one = 1;
	struct client *c;

	list_for_each_entry(c, &r->clients.list, node) {
		if (c->notify_fd < 0)
			continue;
		if (send(c->notify_fd, &one, sizeof(one), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			log_debug("cannot notify pid %d of a change (%s): %m", c->pid, what);
	}
}

void host_page_end(struct rused *r, const char *what)
{
	smp_store_release(&r->page->seq, r->page->seq + 1);
	notify(r, what);
}

void host_publish_faults(struct rused *r, const struct fault_table *now)
{
	host_page_begin(r);
	r->page->fault = *now;
	host_page_end(r, "fault rules");
}

void host_publish(struct rused *r, int slot, const struct host_dev *now)
{
	struct host_dev *d = &r->page->dev[slot];
	struct host_dev was = *d;
	bool renamed;
	int rc;

	if (!memcmp(&was, now, sizeof(was)))
		return;
	if (was.in_use && !now->in_use)
		ucma_device_removed(&r->ucma, (unsigned int)slot);
	host_page_begin(r);
	*d = *now;
	smp_store_release(&r->page->seq, r->page->seq + 1);
	if (!was.in_use && now->in_use)
		ucma_device_added(&r->ucma, (unsigned int)slot);
	/* GID 0 is made of the hardware address, so a change of it means a new hardware address. */
	if (was.in_use && now->in_use && now->ifindex && was.ifindex == now->ifindex &&
	    memcmp(was.gid[0].raw, now->gid[0].raw, 16))
		ucma_addr_change(&r->ucma, now->ifindex);
	/* Update sysfs before notify(), so that a notified process sees the new state. */
	renamed = was.in_use && now->in_use && strcmp(was.name, now->name);
	if (renamed) {
		sysfs_device(host_run(r, &was), &was, NULL);
		was.in_use = 0;
	}
	rc = sysfs_device(host_run(r, was.in_use ? &was : now), was.in_use ? &was : NULL,
			  now->in_use ? now : NULL);
	if (rc)
		log_warn("cannot update the sysfs tree of %s: %s", now->name, strerror(-rc));
	if (renamed)
		gsi_umad_renamed(&r->gsi, (unsigned int)slot);
	else if (!was.in_use && now->in_use)
		gsi_umad_added(&r->gsi, (unsigned int)slot);
	notify(r, now->name);
}
