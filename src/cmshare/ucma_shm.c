/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The program's side of rdma_cm's shared memory: events, id records (struct cmshare_rec: the state of an id).
 *
 * A record has a sequence lock. Its answers are valid only if rused has finished all commands for the id
 * that programs sent without waiting for an answer (IPC_UCMA_POST, "posted" below). cmshare_rec_destroy() needs the
 * number of the id's events that programs have read. It adds those that the ring shows as read to the count in the
 * record, in which rused includes older events.
 */
#include <string.h>
#include "cmshare/ucma_shm.h"

#define TRIES 200	/* attempts to read an id's rec: a killed rused may have left it in the middle of a write */

_Static_assert(sizeof(struct rdma_ucm_event_resp) <= INBOX_DATA, "an event fits into a slot");

bool cmshare_take_event(struct cmshare_file *s, struct rdma_ucm_event_resp *ev, struct why *why)
{
	/* Bounded, as rused calls it too: a program that changes the states all the time cannot keep it here. */
	for (uint32_t i = 0; i < INBOX_SLOTS; i++) {
		uint32_t pos;
		struct inbox_slot *slot = inbox_next(&s->inbox, &pos);

		if (!slot)
			return false;
		memcpy(ev, slot->data, sizeof(*ev));
		if (why) {
			why->id = READ_ONCE(slot->why.id);
			if (why->id)
				memcpy(why->arg, slot->why.arg, sizeof(why->arg));
		}
		if (inbox_take(&s->inbox, slot, pos))
			return true;
	}
	return false;
}

bool cmshare_rec_read(const struct cmshare_rec *rec, const struct cmshare_file *s, uint32_t id,
		      uint32_t has, size_t off, void *to, size_t len)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t was;
		bool good;

		if (!seqlock_read_begin(&rec->lock, &was)) {
			cpu_relax();
			continue;
		}
		good = READ_ONCE(rec->file) == s->number && (READ_ONCE(rec->has) & has) == has &&
		       READ_ONCE(rec->done) == READ_ONCE(s->posted[id]);
		if (good && len)
			memcpy(to, (const uint8_t *)&rec->a + off, len);
		if (seqlock_read_end(&rec->lock, was))
			return good;
	}
	return false;
}

/*
 * 1 if the slot at this position has an event of the id that a program has read; else 0. An unread event of the id is
 * withdrawn, so that no program can read it later. rused changes the state of a slot before its content. Therefore, if
 * the state is the same before and after the tag is read, the tag belongs to the event in this state.
 */
static uint32_t was_read(struct cmshare_file *s, uint32_t id, uint32_t pos)
{
	struct inbox_slot *slot = inbox_slot(&s->inbox, pos);
	uint32_t word = smp_load_acquire(&slot->state), tag = READ_ONCE(slot->tag);

	smp_rmb();
	if (tag != id || READ_ONCE(slot->state) != word ||
	    (word == inbox_word(pos, INBOX_READY) && inbox_withdraw(&s->inbox, pos)))
		return 0;
	return smp_load_acquire(&slot->state) == inbox_word(pos, INBOX_TAKEN);
}

/*
 * True if DESTROY_ID for this id may be sent without waiting for rused's answer. rused clears CMSHARE_CAN_DESTROY for
 * listeners and multicast members, among others. Unlike cmshare_rec_read(), this function does not require that posted
 * commands are finished: no command that may be posted makes the id a listener or a multicast member.
 */
static bool may_end(const struct cmshare_rec *rec, const struct cmshare_file *s)
{
	return READ_ONCE(rec->file) == s->number && (READ_ONCE(rec->has) & CMSHARE_CAN_DESTROY);
}

bool cmshare_rec_destroy(const struct cmshare_rec *rec, struct cmshare_file *s, uint32_t id,
			 uint32_t *reported)
{
	if (READ_ONCE(s->gone[id]) || !may_end(rec, s))
		return false;
	/* From here on rused adds none of its events to the ring. */
	WRITE_ONCE(s->gone[id], (uint8_t)1);
	smp_mb();
	for (int i = 0; i < TRIES; i++) {
		uint32_t was, n, from, last;
		bool whole = seqlock_read_begin(&rec->lock, &was);

		n = READ_ONCE(rec->reported);
		from = READ_ONCE(rec->reaped);
		last = READ_ONCE(rec->last);
		smp_rmb();
		if (!may_end(rec, s))
			break;
		/*
		 * The ring has only the last INBOX_SLOTS events. Before rused reuses a slot of the ring it counts the
		 * slot's event in the id's record. `last` may be beyond the ring's tail: then rused is adding the event.
		 */
		if ((int32_t)(last - from) > (int32_t)INBOX_SLOTS)
			from = last - INBOX_SLOTS;
		for (; (int32_t)(last - from) > 0; from++)
			n += was_read(s, id, from);
		if (!whole || !seqlock_read_end(&rec->lock, was)) {
			cpu_relax();
			continue;
		}
		atomic_add(&s->posted[id], 1u);
		*reported = n;
		return true;
	}
	WRITE_ONCE(s->gone[id], (uint8_t)0);
	return false;
}

void cmshare_rec_keep(struct cmshare_file *s, uint32_t id)
{
	WRITE_ONCE(s->gone[id], (uint8_t)0);
	atomic_add(&s->posted[id], (uint32_t)-1);
}
