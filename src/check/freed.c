/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that was freed while it was registered.
 *
 * An entry is made before the memory is given back, as another thread may get it at once. It is LIVE until the memory is handed
 * out again, then PAST. A request for LIVE memory is wrong, and so is one whose memory was freed between its post and its
 * completion, LIVE or PAST.
 *
 * Entries are written by any thread. Each state change is one compare and swap; `seq` is written last, so a reader
 * that finds the same one before and after has read one entry.
 */
#include <string.h>
#include "base/pool.h"
#include "check/check_internal.h"
#include "check/freed.h"
#include "core/umem.h"

#define FREED_ENTRIES 256u
#define FREED_REGIONS 4096u

enum freed_state {
	FREED_NONE,
	FREED_BUSY,	/* it is being written */
	FREED_LIVE,	/* the memory is not in use */
	FREED_PAST,	/* it is in use again */
};

struct freed_entry {
	uintptr_t low, high;
	uint64_t seq;		/* counts up; 0: being written */
	uint32_t state;		/* enum freed_state */
	uint32_t how;		/* enum freed_how */
	uint32_t n;
	void *frame[FREED_FRAMES];
};

/* Registered memory. Written with the engine lock, read without. */
struct freed_region {
	uintptr_t low, high;	/* high 0: unused */
	uint32_t index;
	struct rdev *dev;
};

struct check_freed_span check_freed_all;
uint32_t check_freed_live;

static struct freed_entry *entries;
static struct freed_region *regions;
static uint32_t nregions;	/* those in use are below */
static uint64_t freed_seq;

bool check_freed_init(void)
{
	entries = entries ?: pool_zalloc(FREED_ENTRIES * sizeof(*entries));
	regions = regions ?: pool_zalloc(FREED_REGIONS * sizeof(*regions));
	return entries && regions;
}

uint64_t check_freed_now(void)
{
	return READ_ONCE(freed_seq);
}

static bool freed_overlap(uintptr_t low, uintptr_t high, const void *addr, size_t len)
{
	return (uintptr_t)addr < high && low < (uintptr_t)addr + len;
}

static const struct freed_region *freed_region(const void *addr, size_t len)
{
	for (uint32_t i = 0, n = READ_ONCE(nregions); i < n; i++)
		if (freed_overlap(READ_ONCE(regions[i].low), READ_ONCE(regions[i].high), addr, len))
			return &regions[i];
	return NULL;
}

bool check_freed_wanted(const void *addr, size_t len)
{
	return len && freed_region(addr, len);
}

static void freed_bounds(void)
{
	struct check_freed_span all = { UINTPTR_MAX, 0 };

	while (nregions && !regions[nregions - 1].high)
		WRITE_ONCE(nregions, nregions - 1);
	for (uint32_t i = 0; i < nregions; i++)
		if (regions[i].high) {
			all.low = min(all.low, regions[i].low);
			all.high = max(all.high, regions[i].high);
		}
	WRITE_ONCE(check_freed_all.high, all.high);
	WRITE_ONCE(check_freed_all.low, all.high ? all.low : 0);
}

void check_freed_key(struct rdev *dev, uint32_t index, const struct key_card *c)
{
	struct freed_region *r = regions;

	/* A region on demand has the pages that are mapped when they are used. */
	if (!c->length || c->access & IB_UVERBS_ACCESS_ON_DEMAND)
		return;
	check_freed_taken((const void *)(uintptr_t)c->start, c->length, true);
	while (r < regions + FREED_REGIONS && r->high)
		r++;
	if (r == regions + FREED_REGIONS)
		return;
	r->index = index;
	r->dev = dev;
	WRITE_ONCE(r->low, c->start);
	WRITE_ONCE(r->high, c->start + c->length);
	WRITE_ONCE(nregions, max(nregions, (uint32_t)(r - regions) + 1));
	freed_bounds();
}

void check_freed_key_gone(uint32_t index)
{
	for (uint32_t i = 0; i < nregions; i++)
		if (regions[i].high && regions[i].index == index) {
			WRITE_ONCE(regions[i].high, 0);
			freed_bounds();
			return;
		}
}

/* Changes the state of an entry. False: it had another one. */
static bool freed_change(struct freed_entry *e, enum freed_state from, enum freed_state to)
{
	if (READ_ONCE(e->state) != from || !atomic_cmpxchg(&e->state, from, to))
		return false;
	if (from == FREED_LIVE)
		atomic_dec(&check_freed_live, 1);
	if (to == FREED_LIVE)
		atomic_add(&check_freed_live, 1);
	return true;
}

uint64_t check_freed_begin(const void *addr, size_t len, enum freed_how how, void *const *frame,
			   uint32_t n)
{
	uint64_t seq = atomic_add(&freed_seq, 1) + 1;
	struct freed_entry *e = &entries[seq % FREED_ENTRIES];

	if (!freed_change(e, FREED_LIVE, FREED_BUSY) && !freed_change(e, FREED_PAST, FREED_BUSY) &&
	    !freed_change(e, FREED_NONE, FREED_BUSY))
		return 0;	/* another thread is still writing the entry FREED_ENTRIES calls before */
	WRITE_ONCE(e->seq, 0);
	smp_wmb();
	WRITE_ONCE(e->low, (uintptr_t)addr);
	WRITE_ONCE(e->high, (uintptr_t)addr + len);
	WRITE_ONCE(e->how, (uint32_t)how);
	n = min(n, (uint32_t)FREED_FRAMES);
	for (uint32_t i = 0; i < n; i++)
		WRITE_ONCE(e->frame[i], frame[i]);
	WRITE_ONCE(e->n, n);
	smp_store_release(&e->seq, seq);
	/* From here on another thread may find the memory handed out to it. */
	freed_change(e, FREED_BUSY, FREED_LIVE);
	return seq;
}

void check_freed_end(uint64_t call, bool freed)
{
	struct freed_entry *e = &entries[call % FREED_ENTRIES];

	/* The entry may be that of a later call. */
	if (freed || READ_ONCE(e->seq) != call)
		return;
	if (!freed_change(e, FREED_LIVE, FREED_NONE))
		freed_change(e, FREED_PAST, FREED_NONE);
}

void check_freed_taken(const void *addr, size_t len, bool mapped)
{
	if (likely(!READ_ONCE(check_freed_live)))
		return;
	for (struct freed_entry *e = entries; e < entries + FREED_ENTRIES; e++)
		if (READ_ONCE(e->state) == FREED_LIVE &&
		    freed_overlap(READ_ONCE(e->low), READ_ONCE(e->high), addr, len) &&
		    (mapped || READ_ONCE(e->how) == FREED_HEAP))
			freed_change(e, FREED_LIVE, FREED_PAST);
}

/* The stack of an entry for a part of the memory: LIVE, or PAST and later than `since`. False: there is none. */
static bool freed_match(const struct freed_entry *e, const void *addr, size_t len, uint64_t since,
			struct freed_entry *copy)
{
	uint64_t seq = smp_load_acquire(&e->seq);
	uint32_t state = READ_ONCE(e->state);

	if (!seq || (state != FREED_LIVE && (state != FREED_PAST || seq <= since)) ||
	    !freed_overlap(READ_ONCE(e->low), READ_ONCE(e->high), addr, len))
		return false;
	copy->how = READ_ONCE(e->how);
	copy->n = min(READ_ONCE(e->n), (uint32_t)FREED_FRAMES);
	for (uint32_t i = 0; i < copy->n; i++)
		copy->frame[i] = READ_ONCE(e->frame[i]);
	smp_rmb();
	return READ_ONCE(e->seq) == seq;
}

/* 1 + site of the call that has freed a part of the memory; 0: none has. mapped: only if there is memory. */
static uint32_t freed_site(const void *addr, size_t len, uint64_t since, bool mapped)
{
	struct freed_entry copy;
	char byte;

	if (likely(!READ_ONCE(freed_seq)))
		return 0;
	for (uint32_t i = 0; i < FREED_ENTRIES; i++)
		if (freed_match(&entries[i], addr, len, since, &copy) &&
		    !(mapped && copy.how == FREED_UNMAPPED && umem_copy(&byte, addr, 1)))
			return 1 + check_host->site_of(copy.frame, copy.n);
	return 0;
}

uint32_t check_freed_block(const struct check_block *b, uint64_t since)
{
	uint32_t site = 0;

	for (uint32_t i = 0; i < b->nparts && !site; i++)
		site = freed_site(b->part[i].addr, b->part[i].len, since, false);
	return site;
}

void check_freed_placed(const void *addr, size_t len)
{
	const struct freed_region *r = READ_ONCE(check_freed_live) ? freed_region(addr, len) : NULL;
	uint32_t site = r ? freed_site(addr, len, UINT64_MAX, true) : 0;
	struct check_found f = { 0 };

	if (!site)
		return;
	f.dev = r->dev;
	f.posted = site - 1;
	why_set(&f.why, CHECK_CAME, (uintptr_t)addr);
	check_host->found(&f);
}
