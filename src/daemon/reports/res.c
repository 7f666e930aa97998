/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects and counters of the processes, read from their pages. The pages are not trusted, and are
 * read with pread().
 *
 * Counters only grow. When a process exits, its counters are added to sums that rused keeps for
 * each device, so no count is lost. A new rused starts these sums at 0, as a kernel module does
 * when it is loaded again.
 *
 * res_collect() reads the object tables (ipc/res.h) in chunks. A record that is written all the time is left out.
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
#include "daemon/reports/res.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "gsi/gsi.h"
#include "ipc/res.h"
#include "like/shown.h"

/* Shortest time between updates of the files: the kernel's lifespan of counters. */
#define LIFESPAN (12 * NS_MS)
#define TRIES 3		/* attempts to read a record that is being written */
#define CHUNK 64u	/* records per read */
/* Stop reading a process's table of objects (ipc/res.h) after this many free or invalid records. */
#define GAPS_MAX 65536u

static void res_add_process(const struct host *h, const struct process *pr, int dev,
			    uint64_t sum[PROC_COUNTERS])
{
	const struct host_dev *d = &h->page->dev[dev];
	struct proc_page p;

	/* Without a HELLO there is no page. */
	if (process_page(pr, &p))
		return;
	if (!d->in_use)
		return;
	for (int i = 0; i < PROC_MAX_DEVS; i++)
		for (int k = 0; p.dev[i].dev_index == d->index && k < PROC_COUNTERS; k++)
			sum[k] += p.dev[i].counter[k];
}

void res_counters(const struct host *h, const struct processes *ps, int dev,
		  uint64_t sum[PROC_COUNTERS])
{
	const struct process *pr;

	for (int k = 0; k < PROC_COUNTERS; k++)
		sum[k] = h->counter[dev][k];
	list_for_each_entry(pr, &ps->list, node)
		res_add_process(h, pr, dev, sum);
}

static void res_add_wire(const struct process *pr, uint64_t sum[PROC_WIRES])
{
	struct proc_page p;

	if (process_page(pr, &p))
		return;
	for (int k = 0; k < PROC_WIRES; k++)
		sum[k] += p.wire[k];
}

void res_wire(const struct host *h, const struct processes *ps, uint64_t sum[PROC_WIRES])
{
	const struct process *pr;

	memcpy(sum, h->wire, sizeof(h->wire));
	list_for_each_entry(pr, &ps->list, node)
		res_add_wire(pr, sum);
}

void res_process_gone(struct host *h, const struct process *pr)
{
	res_add_wire(pr, h->wire);
	for (int dev = 0; dev < HOST_MAX_DEVS; dev++)
		res_add_process(h, pr, dev, h->counter[dev]);
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

static void res_add_objects(const struct process *pr, uint32_t index, uint64_t sum[LIKE_OBJECTS])
{
	struct proc_page p;

	if (process_page(pr, &p))
		return;
	for (int i = 0; i < PROC_MAX_CTX; i++) {
		const struct proc_ctx *c = &p.ctx[i];
		const uint32_t n[LIKE_OBJECTS] = {
			[LIKE_PDS] = c->npd, [LIKE_MRS] = c->nmr, [LIKE_CQS] = c->ncq,
			[LIKE_QPS] = c->nqp, [LIKE_AHS] = c->nah, [LIKE_SRQS] = c->nsrq,
			[LIKE_MWS] = c->nmw,
		};

		for (int k = 0; c->dev_index == index && k < LIKE_OBJECTS; k++)
			sum[k] += n[k];
	}
}

void res_values(const struct host *h, const struct processes *ps, int dev, enum like_dir dir,
		uint64_t value[LIKE_MAX_SHOWN])
{
	uint64_t counter[PROC_COUNTERS], wire[PROC_WIRES], object[LIKE_OBJECTS] = { 0 };
	const struct like_facts facts = { counter, wire, object };
	const struct process *pr;

	res_counters(h, ps, dev, counter);
	if (h->shown_like != &like_shown_default) {
		res_wire(h, ps, wire);
		list_for_each_entry(pr, &ps->list, node)
			res_add_objects(pr, h->page->dev[dev].index, object);
	}
	for (uint32_t i = 0; i < h->shown_like->dir[dir].n; i++)
		value[i] = like_counter_value(h->shown_like->dir[dir].of[i], &facts);
}

static void res_values_show(struct host *h, const struct processes *ps, int dev, enum like_dir dir)
{
	const struct host_dev *d = &h->page->dev[dev];
	uint64_t value[LIKE_MAX_SHOWN], *shown = h->shown[dev][dir];
	char path[96];

	/* The performance agent of a fabric's device has counters of its own (fabrics/host.c). */
	if (!h->shown_like->dir[dir].n || (dir == LIKE_COUNTERS && d->ib.host))
		return;
	res_values(h, ps, dev, dir, value);
	for (uint32_t i = 0; i < h->shown_like->dir[dir].n; i++) {
		if (value[i] == shown[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s", like_dirs[dir], h->shown_like->dir[dir].name[i]);
		if (sysfs_counter(host_run(h, d), d->name, path, value[i]))
			log_warn("cannot write %s of %s in sysfs", like_dirs[dir], d->name);
		else
			shown[i] = value[i];
	}
}

void res_counters_show(struct host *h, const struct processes *ps, struct gsi *g, ns_t now)
{
	if (h->counters_at && now - h->counters_at < LIFESPAN)
		return;
	h->counters_at = now;
	for (int dev = 0; dev < HOST_MAX_DEVS; dev++) {
		const struct host_dev *d = &h->page->dev[dev];

		if (!d->in_use)
			continue;
		for (int dir = 0; dir < LIKE_DIRS; dir++)
			res_values_show(h, ps, dev, (enum like_dir)dir);
		res_cm_counters_show(h, d->name, &g->port[dev]);
	}
}

/*
 * Returns the process's number in the resource ids (RES_ID), and assigns it at the first call. The
 * number is unique among connected processes and is not reused soon.
 */
static uint32_t res_place_of(struct processes *ps, struct process *pr)
{
	const struct process *o;

	for (uint32_t i = 0; !pr->place && i < RES_PLACES; i++) {
		bool used = false;

		ps->next_place = ps->next_place % (RES_PLACES - 1) + 1;
		list_for_each_entry(o, &ps->list, node)
			used |= o->place == ps->next_place;
		if (!used)
			pr->place = ps->next_place;
	}
	return pr->place;
}

struct collection {
	struct nldev_res *all;
	size_t n, room;
};

static bool res_collect_one(void *arg, const struct process *pr, uint32_t slot,
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
	to->all[to->n++] = (struct nldev_res){ .rec = *rec, .base = RES_ID(pr->place, 0),
					       .id = RES_ID(pr->place, slot), .pid = pr->pid };
	return true;
}

bool res_each(const struct process *pr, void *arg,
	      bool (*fn)(void *arg, const struct process *pr, uint32_t slot,
			 const struct res_rec *rec))
{
	uint32_t n = CHUNK, gaps = 0;

	for (uint32_t first = 0; n == CHUNK && first < RES_MAX && gaps <= GAPS_MAX;
	     first += CHUNK) {
		struct res_rec rec[CHUNK];

		n = seqlock_pread(pr->page_fd, RES_OFFSET + first * sizeof(rec[0]), rec,
				  sizeof(rec[0]), CHUNK, TRIES);
		for (uint32_t i = 0; i < n; i++) {
			if (!seqlock_pread_ok(&rec[i].lock) || rec[i].kind <= RES_FREE ||
			    rec[i].kind >= RES_CM_ID)
				gaps++;
			else if (!fn(arg, pr, first + i, &rec[i]))
				return false;
		}
	}
	return true;
}

static bool res_collect_process(struct collection *to, struct processes *ps, struct process *pr)
{
	res_place_of(ps, pr);
	return res_each(pr, to, res_collect_one);
}

struct nldev_res *res_collect(struct processes *ps, size_t *n)
{
	struct collection to = { 0 };
	struct process *pr;

	list_for_each_entry(pr, &ps->list, node)
		if (pr->page_fd >= 0 && !res_collect_process(&to, ps, pr))
			break;
	*n = to.n;
	return to.all;
}

static bool res_count_one(void *arg, const struct process *pr, uint32_t slot,
			  const struct res_rec *rec)
{
	struct res_mrs *count = arg;

	if (rec->kind == RES_MR && rec->type < MR_MEMORIES) {
		count[rec->type].mrs++;
		count[rec->type].bytes += rec->mr.length;
	}
	return true;
}

void res_count_mrs(const struct process *pr, struct res_mrs count[MR_MEMORIES])
{
	memset(count, 0, MR_MEMORIES * sizeof(*count));
	if (pr->page_fd >= 0)
		res_each(pr, count, res_count_one);
}

static bool res_is_other(void *arg, const struct process *pr, uint32_t slot,
			 const struct res_rec *rec)
{
	const uint64_t *qpn = arg;

	return rec->kind != RES_QP || rec->qp.lqpn != *qpn;
}

bool res_has_qp(const struct process *pr, uint64_t qpn)
{
	return pr->page_fd >= 0 && !res_each(pr, &qpn, res_is_other);
}
