/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects and counters of the processes, read from their pages. The pages are not trusted, and are
 * read with pread().
 *
 * Counters only grow. When a process exits, its counters are added to sums that rused keeps for
 * each device, so no count is lost. A new rused starts these sums at 0, as a kernel module does
 * when it is loaded again.
 *
 * res_collect() reads the object tables (ipc/res.h) in chunks. A record counts only if its sequence
 * number was even and equal in two reads around the copy.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "abi/sysfs/sysfs.h"
#include "base/log.h"
#include "core/device.h"
#include "daemon/clients.h"
#include "daemon/host.h"
#include "daemon/res.h"
#include "gsi/gsi.h"
#include "ipc/res.h"
#include "queue/barrier.h"

/* Shortest time between updates of the files: the kernel's lifespan of counters. */
#define LIFESPAN (12 * NS_MS)
#define TRIES 3		/* attempts to read a record that is being written */
#define CHUNK 64u	/* records per read, a bit each */
/* Stop reading a process's table of objects (ipc/res.h) after this many free or invalid records. */
#define GAPS_MAX 65536u

static void res_add_client(const struct host *h, const struct client *c, int dev,
			   uint64_t sum[PROC_COUNTERS])
{
	const struct host_dev *d = &h->page->dev[dev];
	struct proc_page p;

	/* Without a HELLO the client has no page. */
	if (client_page(c, &p))
		return;
	if (!d->in_use)
		return;
	for (int i = 0; i < PROC_MAX_DEVS; i++)
		for (int k = 0; p.dev[i].dev_index == d->index && k < PROC_COUNTERS; k++)
			sum[k] += p.dev[i].counter[k];
}

void res_counters(const struct host *h, const struct clients *cs, int dev,
		  uint64_t sum[PROC_COUNTERS])
{
	const struct client *c;

	for (int k = 0; k < PROC_COUNTERS; k++)
		sum[k] = h->counter[dev][k];
	list_for_each_entry(c, &cs->list, node)
		res_add_client(h, c, dev, sum);
}

static void res_add_wire(const struct client *c, uint64_t sum[PROC_WIRES])
{
	struct proc_page p;

	if (client_page(c, &p))
		return;
	for (int k = 0; k < PROC_WIRES; k++)
		sum[k] += p.wire[k];
}

void res_wire(const struct host *h, const struct clients *cs, uint64_t sum[PROC_WIRES])
{
	const struct client *c;

	memcpy(sum, h->wire, sizeof(h->wire));
	list_for_each_entry(c, &cs->list, node)
		res_add_wire(c, sum);
}

void res_client_gone(struct host *h, const struct client *c)
{
	res_add_wire(c, h->wire);
	for (int dev = 0; dev < HOST_MAX_DEVS; dev++)
		res_add_client(h, c, dev, h->counter[dev]);
}

_Static_assert(SYSFS_CM_GROUPS == CM_COUNTER_GROUPS && SYSFS_CM_MSGS == CM_ATTR_COUNT,
	       "the CM's counters");

static void res_cm_counters_show(const struct host *h, const char *name, struct gsi_port *p)
{
	for (unsigned int g = 0; p->in_use && g < CM_COUNTER_GROUPS; g++)
		for (unsigned int m = 0; m < CM_ATTR_COUNT; m++) {
			uint64_t n = p->cdev.counters[g][m];

			if (n == p->shown[g][m])
				continue;
			if (sysfs_cm_counter(host_run(h, &h->page->dev[p->slot]), name, g, m, n))
				log_warn("cannot write the CM counters of %s in sysfs", name);
			else
				p->shown[g][m] = n;
		}
}

void res_counters_show(struct host *h, const struct clients *cs, struct gsi *g, ns_t now)
{
	char path[64];
	uint64_t sum[PROC_COUNTERS];

	if (h->counters_at && now - h->counters_at < LIFESPAN)
		return;
	h->counters_at = now;
	for (int dev = 0; dev < HOST_MAX_DEVS; dev++) {
		const struct host_dev *d = &h->page->dev[dev];

		if (!d->in_use)
			continue;
		res_counters(h, cs, dev, sum);
		for (unsigned int k = 0; k < CNT_COUNT; k++) {
			if (sum[k] == h->shown[dev][k])
				continue;
			snprintf(path, sizeof(path), "hw_counters/%s",
				 rdev_counter_name((enum rdev_counter)k));
			if (sysfs_counter(host_run(h, d), d->name, path, sum[k]))
				log_warn("cannot write hw_counters of %s in sysfs", d->name);
			else
				h->shown[dev][k] = sum[k];
		}
		res_cm_counters_show(h, d->name, &g->port[dev]);
	}
}

/* Reads up to CHUNK records, starting at first. Returns their number. */
static uint32_t res_table_read(int page_fd, uint32_t first, struct res_rec *rec)
{
	off_t at = (off_t)(RES_OFFSET + (uint64_t)first * sizeof(*rec));
	ssize_t n;

	/* Barriers: the copy of a record lies between two reads of its sequence number. */
	smp_rmb();
	n = pread(page_fd, rec, CHUNK * sizeof(*rec), at);
	smp_rmb();
	return n < 0 ? 0 : (uint32_t)((size_t)n / sizeof(*rec));
}

/*
 * Reads a chunk. Returns the number of records; *told: bit mask of the records that are complete
 * and valid. pread() copies in an unspecified order, so a record counts if its sequence number was
 * equal in a copy before and in one after. A record that is written all the time is left out.
 */
static uint32_t res_chunk_read(int page_fd, uint32_t first, struct res_rec *rec, uint64_t *told)
{
	struct res_rec mark[2][CHUNK], *before = mark[0];
	uint32_t n = res_table_read(page_fd, first, before);
	uint64_t open = 0;

	*told = 0;
	for (uint32_t i = 0; i < n; i++)
		if (before[i].kind != RES_FREE)
			open |= 1ull << i;
	for (int tries = 0; open && tries < TRIES; tries++) {
		struct res_rec now[CHUNK], *after = mark[!(tries & 1)];
		uint32_t still = res_table_read(page_fd, first, now);

		n = min(n, min(still, res_table_read(page_fd, first, after)));
		for (uint32_t i = 0; i < n; i++) {
			if (!(open >> i & 1) || before[i].seq & 1 || before[i].seq != after[i].seq)
				continue;
			open &= ~(1ull << i);
			rec[i] = now[i];
			rec[i].seq = after[i].seq;
			if (now[i].kind > RES_FREE && now[i].kind < RES_CM_ID)
				*told |= 1ull << i;
		}
		before = after;
	}
	return n;
}

/*
 * Returns the client's number in the resource ids (RES_ID), and assigns it at the first call. The
 * number is unique among connected clients and is not reused soon.
 */
static uint32_t res_place_of(struct clients *cs, struct client *c)
{
	const struct client *o;

	for (uint32_t i = 0; !c->place && i < RES_PLACES; i++) {
		bool used = false;

		cs->next_place = cs->next_place % (RES_PLACES - 1) + 1;
		list_for_each_entry(o, &cs->list, node)
			used |= o->place == cs->next_place;
		if (!used)
			c->place = cs->next_place;
	}
	return c->place;
}

struct collection {
	struct nldev_res *all;
	size_t n, room;
};

static bool res_collect_one(void *arg, const struct client *c, uint32_t slot,
			    const struct res_rec *rec)
{
	struct collection *to = arg;

	if (to->n == to->room) {
		void *more = reallocarray(to->all, to->room + 1024, sizeof(*to->all));

		if (!more)
			return false;
		to->all = more;
		to->room += 1024;
	}
	to->all[to->n++] = (struct nldev_res){ .rec = *rec, .base = RES_ID(c->place, 0),
					       .id = RES_ID(c->place, slot), .pid = c->pid };
	return true;
}

/* Calls fn for each object of the client, until it returns false. The result is that of the last call. */
static bool res_each(const struct client *c, void *arg,
		     bool (*fn)(void *arg, const struct client *c, uint32_t slot,
				const struct res_rec *rec))
{
	uint32_t n = CHUNK, gaps = 0;

	for (uint32_t first = 0; n == CHUNK && first < RES_MAX && gaps <= GAPS_MAX;
	     first += CHUNK) {
		struct res_rec rec[CHUNK];
		uint64_t told;

		n = res_chunk_read(c->page_fd, first, rec, &told);
		for (uint32_t i = 0; i < n; i++) {
			if (!(told >> i & 1))
				gaps++;
			else if (!fn(arg, c, first + i, &rec[i]))
				return false;
		}
	}
	return true;
}

static bool res_collect_client(struct collection *to, struct clients *cs, struct client *c)
{
	res_place_of(cs, c);
	return res_each(c, to, res_collect_one);
}

struct nldev_res *res_collect(struct clients *cs, size_t *n)
{
	struct collection to = { 0 };
	struct client *c;

	list_for_each_entry(c, &cs->list, node)
		if (c->page_fd >= 0 && !res_collect_client(&to, cs, c))
			break;
	*n = to.n;
	return to.all;
}

static bool res_count_one(void *arg, const struct client *c, uint32_t slot,
			  const struct res_rec *rec)
{
	struct res_mrs *count = arg;

	if (rec->kind == RES_MR && rec->type < MR_MEMORIES) {
		count[rec->type].mrs++;
		count[rec->type].bytes += rec->mr.length;
	}
	return true;
}

void res_count_mrs(const struct client *c, struct res_mrs count[MR_MEMORIES])
{
	memset(count, 0, MR_MEMORIES * sizeof(*count));
	if (c->page_fd >= 0)
		res_each(c, count, res_count_one);
}
