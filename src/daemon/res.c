/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the processes' pages tell: objects and counters. Pages are strangers'
 * memory and are read by pread(), record by record.
 *
 * Counters only grow. Those of a process that goes are added to the device's,
 * so that no count is lost; those of a rused that goes are, as those of a
 * module that is loaded again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "abi/sysfs/sysfs.h"
#include "base/log.h"
#include "core/device.h"
#include "daemon/daemon.h"

/* Files are written at most so often: the kernel's lifespan of counters. */
#define LIFESPAN (12 * NS_MS)
#define TRIES 3		/* at a record that is being written */
/* Records from a process that makes no sense are looked at no longer. */
#define GAPS_MAX 65536u

static void add_client(const struct client *c, int dev, uint64_t sum[PROC_COUNTERS])
{
	const struct host_dev *d = &c->r->page->dev[dev];
	struct proc_page p;

	if (!d->in_use || client_page(c, &p))
		return;
	for (int i = 0; i < PROC_MAX_DEVS; i++)
		for (int k = 0; p.dev[i].dev_index == d->index && k < PROC_COUNTERS; k++)
			sum[k] += p.dev[i].counter[k];
}

void res_counters(struct rused *r, int dev, uint64_t sum[PROC_COUNTERS])
{
	struct client *c;

	for (int k = 0; k < PROC_COUNTERS; k++)
		sum[k] = r->counter[dev][k];
	list_for_each_entry(c, &r->clients, node)
		add_client(c, dev, sum);
}

static void add_wire(const struct client *c, uint64_t sum[PROC_WIRES])
{
	struct proc_page p;

	if (client_page(c, &p))
		return;
	for (int k = 0; k < PROC_WIRES; k++)
		sum[k] += p.wire[k];
}

void res_wire(const struct rused *r, uint64_t sum[PROC_WIRES])
{
	struct client *c;

	memcpy(sum, r->wire, sizeof(r->wire));
	list_for_each_entry(c, &r->clients, node)
		add_wire(c, sum);
}

void res_client_gone(struct client *c)
{
	add_wire(c, c->r->wire);
	for (int dev = 0; dev < HOST_MAX_DEVS; dev++)
		add_client(c, dev, c->r->counter[dev]);
}

void res_counters_show(struct rused *r)
{
	uint64_t sum[PROC_COUNTERS];

	if (r->counters_at && r->loop.now - r->counters_at < LIFESPAN)
		return;
	r->counters_at = r->loop.now;
	for (int dev = 0; dev < HOST_MAX_DEVS; dev++) {
		const struct host_dev *d = &r->page->dev[dev];

		if (!d->in_use)
			continue;
		res_counters(r, dev, sum);
		for (unsigned int k = 0; k < CNT_COUNT; k++) {
			if (sum[k] == r->shown[dev][k])
				continue;
			if (sysfs_counter(r->run, d->name,
					  rdev_counter_name((enum rdev_counter)k), sum[k]))
				log_warn("hw_counters of %s cannot be written", d->name);
			else
				r->shown[dev][k] = sum[k];
		}
	}
}

/*
 * Record n of a process's table: 0, -ENOENT: free, being written, or of no
 * sense; -ENODATA: behind the last. page_fd is a stranger's.
 */
static int res_read(int page_fd, uint32_t n, struct res_rec *rec)
{
	off_t at = (off_t)(RES_OFFSET + (uint64_t)n * sizeof(*rec));

	if (n >= RES_MAX)
		return -ENODATA;
	for (int i = 0; i < TRIES; i++) {
		if (pread(page_fd, rec, sizeof(*rec), at) != (ssize_t)sizeof(*rec))
			return -ENODATA;
		if (!(rec->seq & 1) && rec->seq == rec->seq_end)
			return rec->kind > RES_FREE && rec->kind < RES_KINDS ? 0 : -ENOENT;
	}
	return -ENOENT;
}

struct nldev_res *res_collect(struct rused *r, size_t *n)
{
	struct nldev_res *all = NULL;
	size_t room = 0;
	uint32_t place = 0;
	struct client *c;

	*n = 0;
	list_for_each_entry(c, &r->clients, node) {
		uint32_t gaps = 0;
		int rc = 0;

		place = (place + 1) & 0xfff;
		for (uint32_t slot = 0; c->page_fd >= 0 && rc != -ENODATA; slot++) {
			if (*n == room) {
				void *more = reallocarray(all, room + 1024, sizeof(*all));

				if (!more)
					return all;
				all = more;
				room += 1024;
			}
			rc = res_read(c->page_fd, slot, &all[*n].rec);
			if (rc && ++gaps > GAPS_MAX)
				break;
			if (rc)
				continue;
			all[*n].base = RES_ID(place, 0);
			all[*n].id = RES_ID(place, slot);
			all[*n].pid = c->pid;
			++*n;
		}
	}
	return all;
}
