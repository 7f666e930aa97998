/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "ipc/why_log.h"
#include "queue/barrier.h"

/* Work requests that are flushed together. */
static bool why_rec_flushed(const struct why_rec *a)
{
	return a->why.id == WHY_FLUSH_FAILED || a->why.id == WHY_FLUSH_MODIFY;
}

/*
 * Is this the same failure once more? Completions are not merged, as each belongs to a work request, unless they are
 * flushed: a long queue would push the cause out of the log. Commands are merged if their values agree.
 */
static bool why_rec_again(const struct why_rec *a, const struct why_rec *b)
{
	return a->status == b->status && (!a->status || why_rec_flushed(a)) &&
	       a->why.id == b->why.id && a->whose == b->whose &&
	       a->error == b->error && a->dev == b->dev && a->qpn == b->qpn &&
	       a->event == b->event && !memcmp(a->call, b->call, sizeof(a->call)) &&
	       (!a->error || !memcmp(a->why.arg, b->why.arg, sizeof(a->why.arg)));
}

bool why_log_put(struct why_log *log, const struct why_rec *r)
{
	uint32_t pos = READ_ONCE(log->head);
	struct why_slot *slot = &log->slot[(pos - 1) % WHY_RECS];

	if (pos && READ_ONCE(slot->seq) == pos && why_rec_again(&slot->r, r)) {
		atomic_add(&slot->r.count, 1u);
		WRITE_ONCE(slot->r.last, r->last);
		return false;
	}
	pos = atomic_add(&log->head, 1u);
	slot = &log->slot[pos % WHY_RECS];
	WRITE_ONCE(slot->seq, 0u);
	smp_wmb();
	slot->r = *r;
	slot->r.count = 1;
	slot->r.first = r->last;
	smp_store_release(&slot->seq, pos + 1);
	return true;
}

bool why_log_get(const struct why_log *log, uint32_t pos, struct why_rec *r)
{
	const struct why_slot *slot = &log->slot[pos % WHY_RECS];

	if (smp_load_acquire(&slot->seq) != pos + 1)
		return false;
	*r = slot->r;
	smp_rmb();
	r->call[sizeof(r->call) - 1] = 0;
	return READ_ONCE(slot->seq) == pos + 1;
}

uint32_t why_log_from(const struct why_log *log, uint32_t *head)
{
	*head = smp_load_acquire(&log->head);
	return *head < WHY_RECS ? 0 : *head - WHY_RECS;
}
