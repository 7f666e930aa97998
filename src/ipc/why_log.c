/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "ipc/why_log.h"

/* A writer has a lock for less than this, unless it has lost its CPU or a signal handler has interrupted it. */
#define TRIES 100

static bool why_lock(struct seqlock *s)
{
	for (int i = 0; i < TRIES; i++) {
		if (seqlock_write_try(s))
			return true;
		cpu_relax();
	}
	return false;
}

/* Work requests that are flushed together. */
static bool why_rec_flushed(const struct why_rec *a)
{
	return a->why.id == WHY_FLUSH_FAILED || a->why.id == WHY_FLUSH_MODIFY;
}

/* A finding is told once for its cause, and each decision has a point of its own, so two of them are not the same. */
static bool why_log_finding(const struct why_rec *r)
{
	return r->why.id >= WHY_CHECK_FIRST && r->why.id <= WHY_SHAKE_LAST;
}

static void why_log_count(struct why_log *log, const struct why_rec *r)
{
	const struct why_row *row = why_row(r->why.id);

	if (why_error(r))
		atomic_add(&log->errors, 1ul);
	if (row && row->kind == WHY_KIND_CHECK)
		atomic_add(&log->findings, 1ul);
	if (row && row->kind == WHY_KIND_HINT)
		atomic_add(&log->hints, 1ul);
}

/*
 * Is this the same failure once more? Completions are not merged, as each belongs to a work request, unless they are
 * flushed: a long queue would push the cause out of the log. Commands are merged if their values agree.
 */
static bool why_rec_again(const struct why_rec *a, const struct why_rec *b)
{
	return !why_log_finding(a) && a->status == b->status &&
	       (!a->status || why_rec_flushed(a)) &&
	       why_orderly(a) == why_orderly(b) && a->why.id == b->why.id && a->whose == b->whose &&
	       a->error == b->error && a->dev == b->dev && a->qpn == b->qpn &&
	       a->event == b->event && !memcmp(a->call, b->call, sizeof(a->call)) &&
	       (!a->error || !memcmp(a->why.arg, b->why.arg, sizeof(a->why.arg)));
}

/* Counts the record up if it is that of this position and the same failure. */
static bool why_slot_again(struct why_slot *slot, uint32_t at, const struct why_rec *r)
{
	bool again;

	if (!why_lock(&slot->lock))
		return false;
	again = slot->at == at && why_rec_again(&slot->r, r);
	if (again) {
		slot->r.count++;
		slot->r.last = r->last;
	}
	seqlock_write_end(&slot->lock);
	return again;
}

bool why_log_put(struct why_log *log, const struct why_rec *r)
{
	uint32_t pos = READ_ONCE(log->head);
	struct why_slot *slot = &log->slot[(pos - 1) % WHY_RECS];

	why_log_count(log, r);
	if (pos && why_slot_again(slot, pos, r))
		return false;
	pos = atomic_add(&log->head, 1u);
	slot = &log->slot[pos % WHY_RECS];
	if (!why_lock(&slot->lock))
		return false;
	slot->at = pos + 1;
	slot->r = *r;
	slot->r.count = 1;
	slot->r.first = r->last;
	seqlock_write_end(&slot->lock);
	return true;
}

void why_log_repaired(struct why_log *log, uint32_t dev, uint32_t qpn, enum why_id id)
{
	uint32_t head, pos = why_log_from(log, &head);

	for (; pos != head; pos++) {
		struct why_slot *slot = &log->slot[pos % WHY_RECS];

		if (!why_lock(&slot->lock))
			continue;
		if (slot->at == pos + 1 && slot->r.why.id == id && slot->r.dev == dev &&
		    slot->r.qpn == qpn)
			slot->r.repaired = 1;
		seqlock_write_end(&slot->lock);
	}
}

bool why_log_get(const struct why_log *log, uint32_t pos, struct why_rec *r)
{
	const struct why_slot *slot = &log->slot[pos % WHY_RECS];
	struct why_slot copy;

	if (!seqlock_read(&slot->lock, &copy, slot, sizeof(copy), 1) || copy.at != pos + 1)
		return false;
	*r = copy.r;
	r->call[sizeof(r->call) - 1] = 0;
	return true;
}

void why_log_put_stack(struct why_log *log, const struct why_rec *r, const char *text)
{
	uint32_t pos = atomic_add(&log->stack_head, 1u);
	struct why_stack *s = &log->stack[pos % WHY_STACKS];

	if (!why_lock(&s->lock))
		return;
	s->id = r->why.id;
	s->qpn = r->qpn;
	s->first = r->last;
	strncpy(s->text, text, sizeof(s->text) - 1);
	seqlock_write_end(&s->lock);
}

bool why_log_get_stack(const struct why_log *log, const struct why_rec *r,
		       char text[WHY_STACK_SIZE])
{
	for (uint32_t i = 0; i < WHY_STACKS; i++) {
		const struct why_stack *s = &log->stack[i];
		uint32_t was;

		if (!seqlock_read_begin(&s->lock, &was) || s->id != r->why.id || s->qpn != r->qpn ||
		    s->first != r->first)
			continue;
		memcpy(text, s->text, WHY_STACK_SIZE);
		text[WHY_STACK_SIZE - 1] = 0;
		return seqlock_read_end(&s->lock, was);
	}
	return false;
}

uint32_t why_log_from(const struct why_log *log, uint32_t *head)
{
	*head = smp_load_acquire(&log->head);
	return *head < WHY_RECS ? 0 : *head - WHY_RECS;
}
