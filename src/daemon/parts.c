/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which part of rused uses which. The parts are given pointers to each other, and callbacks where
 * the user is in a room below.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "base/log.h"
#include "daemon/daemon.h"

static int rused_place(void *ctx, struct host_dev *d)
{
	return devices_place(&((struct rused *)ctx)->host, d);
}

static void rused_publish(void *ctx, unsigned int slot, const struct host_dev *d)
{
	host_publish(&((struct rused *)ctx)->host, (int)slot, d);
}

static void rused_stray(void *ctx, const uint8_t from[16], uint32_t qpn)
{
	struct rused *r = ctx;
	struct why why;

	why_set(&why, DROP_NO_QP_WIRE, 0, 0, qpn);
	memcpy(why.arg, from, 16);
	explain_drop(&r->explain, &why, r->loop.now);
}

static void rused_del(void *ctx, unsigned int slot)
{
	devices_del(&((struct rused *)ctx)->host, (int)slot);
}

static uint32_t rused_block(void *ctx, uint32_t proc, uint32_t dev_index)
{
	const struct rused *r = ctx;

	for (uint32_t b = 1; b < LEASE_BLOCKS; b++)
		if (r->leases.block[b].proc == proc && r->leases.block[b].dev_index == dev_index)
			return b;
	return 0;
}

static void rused_device_added(void *ctx, unsigned int slot)
{
	cmfiles_device_added(&((struct rused *)ctx)->ucma, slot);
}

static void rused_device_removed(void *ctx, unsigned int slot)
{
	struct rused *r = ctx;
	struct process *pr;

	list_for_each_entry(pr, &r->processes.list, node)
		pr->nctx[slot] = 0;
	cmfiles_device_removed(&r->ucma, slot);
}

static void rused_neigh_changed(void *ctx, const struct rtnl_neigh *n)
{
	cmfiles_neigh_change(ctx, n);
}

static void rused_addr_changed(void *ctx, uint32_t ifindex)
{
	cmfiles_addr_change(&((struct rused *)ctx)->ucma, ifindex);
}

static void rused_device_shown(void *ctx, unsigned int slot, bool renamed)
{
	struct rused *r = ctx;

	if (renamed)
		gsi_umad_renamed(&r->gsi, slot);
	else
		gsi_umad_added(&r->gsi, slot);
}

/*
 * Sends a message to each process that maps the host page. The send does not block. EAGAIN is no
 * error: the socket is full of messages that the process has not read yet, so the process will look
 * at the page anyway.
 */
static void rused_notify(void *ctx, const char *what)
{
	struct rused *r = ctx;
	static const uint64_t one = 1;
	struct process *pr;

	list_for_each_entry(pr, &r->processes.list, node) {
		const struct client *c = client_of(pr);

		if (c->notify_fd < 0)
			continue;
		if (send(c->notify_fd, &one, sizeof(one), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			log_debug("cannot notify pid %d of a change (%s): %m", pr->pid, what);
	}
}

void rused_port_opened(struct port *p)
{
	rused_notify(container_of(p, struct rused, port), "UDP port 4791");
}

static int rused_host_run(void *ctx, uint32_t host)
{
	return fabric_host_run(&((struct rused *)ctx)->fabrics, host);
}

static const struct host_ops rused_host_ops = {
	.added = rused_device_added,
	.removed = rused_device_removed,
	.addr_changed = rused_addr_changed,
	.shown = rused_device_shown,
	.notify = rused_notify,
	.run = rused_host_run,
};

/* Creates RUN/leases and the device tree in a new run directory. 0 or -errno. */
static int rused_refill(void *ctx)
{
	struct rused *r = ctx;
	int rc = orphans_save(&r->orphans, r->place.run);

	if (rc)
		return rc;
	sysfs_remove(r->place.run);
	rc = sysfs_init(r->place.run);
	if (!rc)
		rc = fabrics_hosts_restore(&r->fabrics);
	/* No counter has this value, so the next update writes all counter files. */
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++)
		memset(r->gsi.port[i].shown, 0xff, sizeof(r->gsi.port[i].shown));
	return rc ? rc : host_restore(&r->host);
}

static bool rused_needed(void *ctx)
{
	const struct rused *r = ctx;

	return r->processes.count || rused_busy(r);
}

static void rused_umad_drain(void *ctx)
{
	channels_drain(ctx);
}

static void rused_ucma_drain(void *ctx, uint32_t proc)
{
	struct client *c = client_by_proc(&((struct rused *)ctx)->processes, proc);

	if (c)
		client_drain(c);
}

static bool rused_ucma_drain_posted(void *ctx)
{
	return channels_drain(&((struct rused *)ctx)->channels);
}

static const struct cmfiles_ops rused_ucma_ops = {
	.drain = rused_ucma_drain,
	.drain_posted = rused_ucma_drain_posted,
};

static int rused_listen(void *ctx)
{
	struct rused *r = ctx;

	listener_stop(&r->listener);
	return listener_open(&r->listener);
}

static void rused_drain(void *ctx)
{
	struct rused *r = ctx;

	listener_stop(&r->listener);
	r->drain = true;
	if (!r->processes.count)
		r->loop.stop = true;
}

static const struct place_ops rused_place_ops = {
	.needed = rused_needed,
	.refill = rused_refill,
	.listen = rused_listen,
	.drain = rused_drain,
};

/* Removes what another rused has left in its run directory. */
static void rused_clear(int run)
{
	sysfs_remove(run);
	fabrics_hosts_clear(run);
	fabrics_sm_clear(run);
	explain_clear(run);
	unlinkat(run, ORPHANS_NAME, 0);
}

const struct leftovers_ops rused_leftovers_ops = {
	.latest = ORPHANS_NAME,
	.used = orphans_alive,
	.clear = rused_clear,
};

static void rused_connect_fabrics(struct rused *r)
{
	static const struct fabrics_ops ops = { .device_place = rused_place,
						.device_publish = rused_publish,
						.device_del = rused_del, .block = rused_block,
						.ucma = &cmfile_ucma_ops };
	struct fabrics *fs = &r->fabrics;

	fs->loop = &r->loop;
	fs->page = r->host.page;
	fs->gsi = &r->gsi;
	fs->net = &r->net;
	fs->run = r->place.run;
	fs->rundir = r->place.rundir;
	fs->ops = &ops;
	fs->ctx = r;
	fabrics_init(fs);
	fabrics_sm_clear(fs->run);
}

static void rused_connect_ucma(struct rused *r)
{
	struct cmfiles *us = &r->ucma;

	us->loop = &r->loop;
	us->page = r->host.page;
	us->gsi = &r->gsi;
	us->net = &r->net;
	us->fabrics = &r->fabrics;
	us->port = &r->port;
	us->ops = &rused_ucma_ops;
	us->ctx = r;
}

static void rused_cm_stuck(void *ctx, int pid, ucma_stuck_fn fn, void *arg)
{
	cmfiles_stuck(ctx, pid, fn, arg);
}

static void rused_connect_reports(struct rused *r)
{
	struct status *s = &r->status;

	s->rundir = r->place.rundir;
	s->netns = r->place.netns;
	s->host = &r->host;
	s->devices = &r->devices;
	s->port = &r->port;
	s->leases = &r->leases;
	s->processes = &r->processes;
	s->fabrics = &r->fabrics;
	s->explain = &r->explain;
	r->explain.blame = r->runs.blame = &r->blame;
	r->runs.faults = &r->gsi.faults.f.acted;
	r->stuck = (struct stuck){ .processes = &r->processes, .page = r->host.page,
				   .umads = &r->umads, .cm = rused_cm_stuck, .cm_ctx = &r->ucma,
				   .blame = &r->blame };
}

void rused_connect(struct rused *r)
{
	umads_init(&r->umads, &r->loop, r->place.run, r->host.page ? r->host.page->generation : 0);
	r->umads.drain = rused_umad_drain;
	r->umads.drain_ctx = &r->channels;
	r->gsi.publish = rused_publish;
	r->gsi.stray = rused_stray;
	r->gsi.ctx = r;
	r->place.loop = &r->loop;
	r->place.ops = &rused_place_ops;
	r->place.ctx = r;
	r->host.ops = &rused_host_ops;
	r->host.ctx = r;
	holds_init(&r->holds, &r->loop.timers, &r->processes, r->host.page);
	r->devices.host = &r->host;
	r->devices.net = &r->net;
	r->devices.neigh_changed = rused_neigh_changed;
	r->devices.neigh_ctx = &r->ucma;
	r->devices.processes = &r->processes;
	r->faults.host = &r->host;
	r->faults.processes = &r->processes;
	r->faults.own = &r->gsi.faults;
	r->faults.blame = &r->blame;
	r->nlsocks = (struct nlsocks){ .loop = &r->loop, .host = &r->host,
				       .holds = &r->holds, .processes = &r->processes,
				       .ucma = &r->ucma, .gsi = &r->gsi };
	rused_connect_fabrics(r);
	rused_connect_ucma(r);
	rused_connect_reports(r);
}
