/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The byte for poll(). The socket of a file holds one byte if `shown` is set. In addition it holds one byte for each reader
 * that has cleared `shown` and has not removed its byte yet.
 *
 * rused adds messages in two steps: it makes them READY and moves the tail; then, if a message is unread and `shown` is not
 * set, it sets `shown` and sends a byte. `filling` is set from the start of the first step to the end of the second. A
 * reader that finds the ring empty, and `filling` not set, clears `shown` and looks at both again. If there is a message
 * now, it sets `shown` again and leaves the byte; else it removes the byte. The byte is there, since rused has finished. So
 * no reader waits for it.
 *
 * A reader that is killed between the two steps leaves its byte in the socket, which then stays readable. No other reader
 * may remove that byte: it cannot be told from the byte of a reader that lives, and without the latter a message would be
 * there and no byte. tests/proto/readiness.py is a model of this file.
 */
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "base/log.h"
#include "base/sys.h"
#include "ipc/inbox.h"

/*
 * While rused adds messages, a reader first yields up to YIELDS times, as rused may need this CPU; often rused has woken
 * the reader and needs less than a sleep and a wake-up take. Then the reader sleeps up to WAITS times for WAIT, as another
 * process may have the CPU that rused needs. After that the ring counts as not empty.
 */
#define YIELDS 30
#define WAITS 20
#define WAIT (2 * NS_MS)

bool inbox_there(const struct inbox_slot *slot, uint32_t pos)
{
	smp_rmb();
	return smp_load_acquire(&slot->state) == inbox_word(pos, INBOX_READY);
}

struct inbox_slot *inbox_next(struct inbox *in, uint32_t *pos)
{
	uint32_t tail = smp_load_acquire(&in->tail), at = READ_ONCE(in->head);

	/* The ring has only the last INBOX_SLOTS positions; head may be older or invalid. */
	if (tail - at > INBOX_SLOTS)
		at = tail - INBOX_SLOTS;
	for (; at != tail; at++) {
		struct inbox_slot *slot = inbox_slot(in, at);

		if (smp_load_acquire(&slot->state) == inbox_word(at, INBOX_READY)) {
			*pos = at;
			return slot;
		}
	}
	return NULL;
}

bool inbox_take(struct inbox *in, struct inbox_slot *slot, uint32_t pos)
{
	if (!atomic_cmpxchg(&slot->state, inbox_word(pos, INBOX_READY),
			    inbox_word(pos, INBOX_TAKEN)))
		return false;
	WRITE_ONCE(in->head, pos + 1);
	return true;
}

bool inbox_withdraw(struct inbox *in, uint32_t pos)
{
	return atomic_cmpxchg(&inbox_slot(in, pos)->state, inbox_word(pos, INBOX_READY),
			      inbox_word(pos, INBOX_GONE));
}

static bool inbox_unread(struct inbox *in)
{
	uint32_t pos;

	return inbox_next(in, &pos);
}

/* Waits until rused has finished adding messages (`filling` is cleared), but no longer than WAIT. */
static void inbox_await(struct inbox *in)
{
	static const struct timespec most = { .tv_nsec = WAIT };

	if (READ_ONCE(in->filling) == INBOX_FILLING)
		(void)atomic_cmpxchg(&in->filling, (uint32_t)INBOX_FILLING,
				     (uint32_t)INBOX_FILLING_AWAITED);
	sys_call(SYS_futex, &in->filling, FUTEX_WAIT, INBOX_FILLING_AWAITED, &most);
}

/* True if the ring is empty and rused is not adding to it. False if that is not certain. */
static bool inbox_empty(struct inbox *in)
{
	for (int i = 0; i <= YIELDS + WAITS; i++) {
		if (!smp_load_acquire(&in->filling))
			return !inbox_unread(in);
		if (i < YIELDS)
			sys_call(SYS_sched_yield);
		else
			inbox_await(in);
	}
	return false;
}

static void inbox_byte_drop(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	sys_recvmsg(fd, &m, MSG_DONTWAIT);
}

void inbox_settle(struct inbox *in, int fd)
{
	if ((!READ_ONCE(in->shown) && !READ_ONCE(in->filling)) || !inbox_empty(in) ||
	    !atomic_cmpxchg(&in->shown, 1u, 0u))
		return;
	smp_mb();
	/*
	 * If a message came before shown was cleared, rused sent no byte for it: set shown again
	 * and keep the byte. If rused has set shown meanwhile, it sent a second byte: drop one.
	 */
	if (!inbox_empty(in) && atomic_cmpxchg(&in->shown, 0u, 1u))
		return;
	inbox_byte_drop(fd);
}

bool inbox_must_tell(struct inbox *in)
{
	uint32_t more, unread;

	smp_mb_after_atomic();
	more = bell_wanted(&in->more);
	if (more == INBOX_MORE_NOT)
		return false;
	/*
	 * Let the ring become half empty. A slower reader may have set head back, so head alone does not tell that it is:
	 * the reader of the last message tells in any case.
	 */
	unread = READ_ONCE(in->tail) - READ_ONCE(in->head);
	if (more == INBOX_MORE_QUEUED && unread > INBOX_SLOTS / 2 && inbox_unread(in))
		return false;
	return bell_take(&in->more);
}

bool inbox_reap(struct inbox_writer *w, uint32_t *pos, bool *gone)
{
	uint32_t word;

	if (w->reaped == w->tail)
		return false;
	word = smp_load_acquire(&inbox_slot(w->in, w->reaped)->state);
	if (word == inbox_word(w->reaped, INBOX_READY))
		return false;
	*gone = word == inbox_word(w->reaped, INBOX_GONE);
	*pos = w->reaped++;
	return true;
}

void inbox_begin(struct inbox_writer *w)
{
	smp_store_mb(&w->in->filling, (uint32_t)INBOX_FILLING);
}

struct inbox_slot *inbox_room(struct inbox_writer *w)
{
	struct inbox_slot *slot = inbox_slot(w->in, w->tail);

	if (inbox_full(w))
		return NULL;
	/* The state changes before the content: a tag that is read between two equal states belongs to that state. */
	WRITE_ONCE(slot->state, inbox_word(w->tail, INBOX_FREE));
	smp_wmb();
	return slot;
}

void inbox_add(struct inbox_writer *w)
{
	smp_store_release(&inbox_slot(w->in, w->tail)->state, inbox_word(w->tail, INBOX_READY));
	w->tail++;
}

/* Sends the byte. The socket holds few bytes, one for each reader at most, so it is never full. */
static void inbox_show(struct inbox_writer *w)
{
	long rc;

	if (!atomic_cmpxchg(&w->in->shown, 0u, 1u))
		return;
	rc = sys_call(SYS_sendto, w->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	if (rc != 1)
		log_debug("cannot wake the reader of a file: %s", strerror((int)-rc));
}

void inbox_end(struct inbox_writer *w)
{
	struct inbox *in = w->in;

	smp_store_mb(&in->tail, w->tail);
	/* All messages may have been withdrawn: then there is nothing to show. */
	if (inbox_unread(in))
		inbox_show(w);
	if (atomic_xchg(&in->filling, (uint32_t)INBOX_FILLED) == INBOX_FILLING_AWAITED)
		sys_call(SYS_futex, &in->filling, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool inbox_set_more(struct inbox_writer *w, enum inbox_more more)
{
	bell_want(&w->in->more, more);
	/* An empty ring has room for messages that wait, and no reader of it that will tell. */
	if (w->reaped == w->tail)
		return more == INBOX_MORE_QUEUED;
	return more && smp_load_acquire(&inbox_slot(w->in, w->reaped)->state) !=
			       inbox_word(w->reaped, INBOX_READY);
}
