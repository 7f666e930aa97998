/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that fault rules hold back: one list per process, sorted by due time; equal times keep
 * their order. A packet that is to be overtaken leaves when enough others have passed, or when it
 * is due, because after the last packet of a stream no other follows.
 */
#include <errno.h>
#include "base/pool.h"
#include "link/fault_int.h"

#define MAX_HELD 8192u
#define MAX_BYTES (32u << 20)
#define RETRY_NS (50 * NS_US)

static void fault_queue_put(struct faults *f, struct fault_held *h)
{
	struct list_head *at = &f->held;

	/* Search from the end, where most new packets belong. */
	while (at->prev != &f->held &&
	       container_of(at->prev, struct fault_held, entry)->due > h->due)
		at = at->prev;
	list_add_tail(&h->entry, at);
	f->nheld++;
	f->held_bytes += h->size;
	f->noverdue += h->overtake != 0;
}

static void fault_queue_wake(struct faults *f)
{
	ns_t when = NS_NEVER;

	if (!list_empty(&f->held))
		when = list_first_entry(&f->held, struct fault_held, entry)->due;
	f->host->wake(f->retry_at ? max(when, f->retry_at) : when);
}

int fault_hold(struct link *l, const struct seg *seg, bool in, ns_t due, uint32_t overtake,
	       const char *note)
{
	struct faults *f = fault_of(l)->f;
	size_t size = sizeof(struct fault_held) + seg->len;
	struct fault_held *h;
	int ret;

	if (f->nheld >= MAX_HELD || f->held_bytes + size > MAX_BYTES)
		return 0;
	h = pool_alloc(size);
	if (!h)
		return 0;
	*h = (struct fault_held){ .link = l, .in = in, .overtake = overtake, .due = due,
				  .note = note, .size = size };
	ret = seg_keep(&h->kept, h->data, seg, 0, seg->len, l->host->copy_iov);
	if (ret) {
		pool_free(h, size);
		/*
		 * -EFAULT: bad memory of this process. Else the peer's memory was unreadable: the
		 * packet is lost.
		 */
		return ret == -EFAULT ? ret : 0;
	}
	link_get(l);
	fault_queue_put(f, h);
	fault_queue_wake(f);
	return 0;
}

static void fault_queue_take(struct faults *f, struct fault_held *h)
{
	list_del(&h->entry);
	f->nheld--;
	f->held_bytes -= h->size;
	f->noverdue -= h->overtake != 0;
}

static void fault_queue_done(struct fault_held *h)
{
	struct link *l = h->link;

	pool_free(h, h->size);
	link_put(l);
}

/*
 * Pass on a packet that was taken out of the list, and free it. -EAGAIN: the link has no room and
 * the packet remains allocated.
 */
static int fault_queue_pass_on(struct fault_held *h)
{
	struct link *l = h->link;
	struct fault *ft = fault_of(l);
	int ret = 0;

	l->note = h->note;
	if (h->in)
		ft->above->input(l, &h->kept.seg);
	else
		ret = ft->under->send(l, &h->kept.seg);
	l->note = NULL;
	if (ret == -EAGAIN)
		return ret;
	fault_queue_done(h);
	return 0;
}

void faults_run(struct faults *f, ns_t now)
{
	uint32_t most = f->nheld;

	f->retry_at = 0;
	/* At most `most` packets: those that are held during this run wait for the next run. */
	while (most-- && !list_empty(&f->held)) {
		struct fault_held *h = list_first_entry(&f->held, struct fault_held, entry);

		if (h->due > now)
			break;
		fault_queue_take(f, h);
		h->overtake = 0;
		if (fault_queue_pass_on(h) == -EAGAIN) {
			fault_queue_put(f, h);
			/* fault_queue_put() put it behind packets of the same due time; it must stay the first. */
			list_del(&h->entry);
			list_add(&h->entry, &f->held);
			f->retry_at = now + RETRY_NS;
			break;
		}
	}
	fault_queue_wake(f);
}

void fault_passed(struct link *l, bool in)
{
	struct faults *f = fault_of(l)->f;
	struct fault_held *h, *next;
	bool due = false;

	if (likely(!f->noverdue))
		return;
	list_for_each_entry_safe(h, next, &f->held, entry) {
		if (h->link != l || h->in != in || !h->overtake || --h->overtake)
			continue;
		f->noverdue--;
		list_del(&h->entry);
		h->due = 0;
		list_add(&h->entry, &f->held);
		due = true;
	}
	if (due)
		fault_queue_wake(f);
}

void fault_release(struct link *l)
{
	struct faults *f = fault_of(l)->f;
	struct fault_held *h, *next;

	list_for_each_entry_safe(h, next, &f->held, entry) {
		if (h->link != l)
			continue;
		fault_queue_take(f, h);
		if (fault_queue_pass_on(h))
			fault_queue_done(h);
	}
	fault_queue_wake(f);
}
