/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reader's side of rdma_cm's shared memory: taking events, the byte for poll(), id cards (struct ucma_card: the
 * state of an id).
 *
 * The socket of a file holds one byte if `shown` is UCMA_SHOWN. In addition it holds one byte for each reader that has
 * cleared `shown` and has not removed its byte yet. rused adds events in two steps: it makes them READY; then, if `shown`
 * is not set, it sends a byte and sets `shown`. `filling` is set from the start of the first step to the end of the
 * second. A reader that finds the ring empty clears `shown` and looks at the ring again. If there is an event now, it
 * sets `shown` again and leaves the byte; else it removes the byte. The byte of a reader that is killed before it has
 * removed it stays: no other reader may remove it, as ipc/bell.h explains.
 *
 * A card is read under its sequence count. Its answers are valid only if rused has finished all commands for the id
 * that programs sent without waiting for an answer (IPC_UCMA_POST, "posted" below). ucma_card_destroy() needs the
 * number of the id's events that programs have read. It adds those that the ring shows as read to the count in the
 * card, in which rused includes older events.
 */
#include <linux/futex.h>
#include <string.h>
#include <time.h>
#include "base/sys.h"
#include "ipc/ucma_shm.h"

#define TRIES 200	/* attempts to read an id's card: a killed rused may have left it in the middle of a write */
/*
 * While rused adds events, a reader first yields, as rused may need this CPU. Then it sleeps up to WAITS times for WAIT, as
 * another process may have the CPU that rused needs. After that the ring counts as not empty.
 */
#define WAITS 20
#define WAIT (2 * NS_MS)

/* First position to check for an event: head, or the oldest position in the ring if head is older or invalid. */
static uint32_t ucma_ring_first(const struct ucma_shm *s, uint32_t tail)
{
	uint32_t head = READ_ONCE(s->head);

	return tail - head > UCMA_RING ? tail - UCMA_RING : head;
}

static bool ucma_event_readable(const struct ucma_slot *slot, uint32_t pos)
{
	return smp_load_acquire(&slot->state) == ucma_slot_word(pos, UCMA_SLOT_READY);
}

bool ucma_shm_take(struct ucma_shm *s, struct rdma_ucm_event_resp *ev, struct why *why)
{
	uint32_t tail = smp_load_acquire(&s->tail);

	for (uint32_t pos = ucma_ring_first(s, tail); pos != tail; pos++) {
		struct ucma_slot *slot = ucma_slot(s, pos);
		uint32_t ready = ucma_slot_word(pos, UCMA_SLOT_READY);

		if (!ucma_event_readable(slot, pos))
			continue;
		memcpy(ev, &slot->ev, sizeof(*ev));
		if (why) {
			why->id = READ_ONCE(slot->why.id);
			if (why->id)
				memcpy(why->arg, slot->why.arg, sizeof(why->arg));
		}
		if (atomic_cmpxchg(&slot->state, ready, ucma_slot_word(pos, UCMA_SLOT_TAKEN))) {
			WRITE_ONCE(s->head, pos + 1);
			return true;
		}
	}
	return false;
}

bool ucma_shm_ready(struct ucma_shm *s)
{
	uint32_t tail = smp_load_acquire(&s->tail);

	for (uint32_t pos = ucma_ring_first(s, tail); pos != tail; pos++)
		if (ucma_event_readable(ucma_slot(s, pos), pos))
			return true;
	return false;
}

/* Waits until rused has finished adding events (`filling` is cleared), but no longer than WAIT. */
static void wait_filled(struct ucma_shm *s)
{
	static const struct timespec most = { .tv_nsec = WAIT };

	if (READ_ONCE(s->filling) == UCMA_FILLING)
		(void)atomic_cmpxchg(&s->filling, (uint32_t)UCMA_FILLING,
				     (uint32_t)UCMA_FILLING_AWAITED);
	sys_call(SYS_futex, &s->filling, FUTEX_WAIT, UCMA_FILLING_AWAITED, &most);
}

/* True if the ring is empty and rused is not adding to it. False if that is not certain. */
static bool ucma_ring_empty(struct ucma_shm *s)
{
	for (int i = 0; i <= WAITS; i++) {
		if (!smp_load_acquire(&s->filling))
			return !ucma_shm_ready(s);
		if (!i)
			sys_call(SYS_sched_yield);
		else
			wait_filled(s);
	}
	return false;
}

static void ucma_byte_drop(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	sys_recvmsg(fd, &m, MSG_DONTWAIT);
}

void ucma_shm_settle(struct ucma_shm *s, int fd)
{
	if ((!READ_ONCE(s->shown) && !READ_ONCE(s->filling)) || !ucma_ring_empty(s) ||
	    !atomic_cmpxchg(&s->shown, (uint32_t)UCMA_SHOWN, (uint32_t)UCMA_SHOWN_NOT))
		return;
	smp_mb();
	/*
	 * If an event came before shown was cleared, rused sent no byte for it: set shown again
	 * and keep the byte. If rused has set shown meanwhile, it sent a second byte: drop one.
	 */
	if (!ucma_ring_empty(s) &&
	    atomic_cmpxchg(&s->shown, (uint32_t)UCMA_SHOWN_NOT, (uint32_t)UCMA_SHOWN))
		return;
	ucma_byte_drop(fd);
}

bool ucma_card_read(const struct ucma_card *card, const struct ucma_shm *s, uint32_t id,
		    uint32_t has, size_t off, void *to, size_t len)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t seq = smp_load_acquire(&card->seq);
		bool good;

		if (seq & 1) {
			cpu_relax();
			continue;
		}
		good = READ_ONCE(card->file) == s->number && (READ_ONCE(card->has) & has) == has &&
		       READ_ONCE(card->done) == READ_ONCE(s->posted[id]);
		if (good && len)
			memcpy(to, (const uint8_t *)&card->a + off, len);
		smp_rmb();
		if (READ_ONCE(card->seq) == seq)
			return good;
	}
	return false;
}

/*
 * 1 if the slot at this position has an event of the id that a program has read; else 0. An unread event of the id is
 * marked GONE, so that no program can read it later. rused changes the state of a slot before its content. Therefore, if
 * the state is the same before and after `owner` is read, `owner` belongs to the event in this state.
 */
static uint32_t was_read(struct ucma_shm *s, uint32_t id, uint32_t pos)
{
	struct ucma_slot *slot = ucma_slot(s, pos);
	uint32_t word = smp_load_acquire(&slot->state), owner = READ_ONCE(slot->owner);
	uint32_t ready = ucma_slot_word(pos, UCMA_SLOT_READY);

	smp_rmb();
	if (owner != id || READ_ONCE(slot->state) != word)
		return 0;
	if (word == ready && atomic_cmpxchg(&slot->state, ready,
					    ucma_slot_word(pos, UCMA_SLOT_GONE)))
		return 0;
	return smp_load_acquire(&slot->state) == ucma_slot_word(pos, UCMA_SLOT_TAKEN);
}

/*
 * True if DESTROY_ID for this id may be sent without waiting for rused's answer. rused clears UCMA_CAN_DESTROY for
 * listeners and multicast members, among others. Unlike ucma_card_read(), this function does not require that posted
 * commands are finished: no command that may be posted makes the id a listener or a multicast member.
 */
static bool may_end(const struct ucma_card *card, const struct ucma_shm *s)
{
	return READ_ONCE(card->file) == s->number && (READ_ONCE(card->has) & UCMA_CAN_DESTROY);
}

bool ucma_card_destroy(const struct ucma_card *card, struct ucma_shm *s, uint32_t id,
		       uint32_t *reported)
{
	if (READ_ONCE(s->gone[id]) || !may_end(card, s))
		return false;
	/* From here on rused adds none of its events to the ring. */
	WRITE_ONCE(s->gone[id], (uint8_t)1);
	smp_mb();
	for (int i = 0; i < TRIES; i++) {
		uint32_t seq = smp_load_acquire(&card->seq), n = READ_ONCE(card->reported);
		uint32_t from = READ_ONCE(card->reaped), last = READ_ONCE(card->last);

		smp_rmb();
		if (!may_end(card, s))
			break;
		/*
		 * The ring has only the last UCMA_RING events. Before rused reuses a slot of the ring it counts the
		 * slot's event in the id's card. `last` may be beyond the ring's tail: then rused is adding the event.
		 */
		if ((int32_t)(last - from) > (int32_t)UCMA_RING)
			from = last - UCMA_RING;
		for (; (int32_t)(last - from) > 0; from++)
			n += was_read(s, id, from);
		smp_rmb();
		if ((seq & 1) || READ_ONCE(card->seq) != seq) {
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

void ucma_card_keep(struct ucma_shm *s, uint32_t id)
{
	WRITE_ONCE(s->gone[id], (uint8_t)0);
	atomic_add(&s->posted[id], (uint32_t)-1);
}
