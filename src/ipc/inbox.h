/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages from rused to the programs that have a file of rdma_cm or umad open: a ring in memory that both share, and a
 * byte in the file's socket that makes the file readable for poll() while the ring has a message. rused writes the ring;
 * any process that has the file open reads it (a forked child inherits the mapping). Zeroed memory is an empty ring.
 *
 * Neither side trusts what the other writes, and neither can stop the other: a program that corrupts the ring affects
 * only its own messages, and no reader waits for the byte. inbox.c explains the byte.
 */
#ifndef RUSE_IPC_INBOX_H
#define RUSE_IPC_INBOX_H

#include "base/util.h"
#include "shared/bell.h"
#include "why/why.h"

#define INBOX_SLOTS 256u	/* messages; further ones wait in rused */
#define INBOX_DATA 336

/* GONE: withdrawn unread; readers skip it. */
enum inbox_state { INBOX_FREE, INBOX_READY, INBOX_TAKEN, INBOX_GONE };

struct inbox_slot {
	uint32_t state;		/* position in the stream << 2 | enum inbox_state */
	uint32_t tag;		/* what the message belongs to; the users of the ring say what that is */
	uint32_t len;		/* bytes of data */
	uint32_t pad;
	struct why why;		/* of a message that reports a failure; its id is 0 (WHY_NONE) if no reason is known */
	uint8_t data[INBOX_DATA];
};

/*
 * more: why a reader that has taken a message must tell rused. QUEUED: messages wait for room in the ring; EACH: rused
 * waits for each message that is read.
 */
enum inbox_more { INBOX_MORE_NOT, INBOX_MORE_QUEUED, INBOX_MORE_EACH };

/* filling: FILLING while rused adds messages; AWAITED if, in addition, a reader waits (futex) until rused has finished. */
enum { INBOX_FILLED, INBOX_FILLING, INBOX_FILLING_AWAITED };

struct inbox {
	uint32_t head;		/* hint: no message before this position is READY */
	uint32_t tail;		/* position of the next message to be written */
	uint32_t shown;		/* 1: the socket holds a byte, or will when filling is cleared */
	uint32_t filling;	/* INBOX_FILLING*: rused is adding messages: it makes them READY, sets shown, then sends the byte */
	struct bell more;	/* enum inbox_more: rused asks readers to tell it */
	uint32_t pad[11];
	struct inbox_slot slot[INBOX_SLOTS];
};

static inline uint32_t inbox_word(uint32_t pos, enum inbox_state st)
{
	return pos << 2 | st;
}

static inline struct inbox_slot *inbox_slot(struct inbox *in, uint32_t pos)
{
	return &in->slot[pos % INBOX_SLOTS];
}

/* For readers. */

/* The first message and its position; NULL: the ring is empty. */
struct inbox_slot *inbox_next(struct inbox *in, uint32_t *pos);
/* True if the slot still has the message of position pos, so that what the caller has read from it is valid. */
bool inbox_there(const struct inbox_slot *slot, uint32_t pos);
/* Takes the message. False: another reader took it, or it was withdrawn; what was read from the slot is invalid. */
bool inbox_take(struct inbox *in, struct inbox_slot *slot, uint32_t pos);
/*
 * Removes the byte from the socket fd if the ring is empty. To be called after messages were taken or withdrawn, and
 * before a wait in poll() or recv(). Any number of threads and processes may call it at once.
 */
void inbox_settle(struct inbox *in, int fd);
/* After a message was taken: true if the caller must tell rused, by a message to it. */
bool inbox_must_tell(struct inbox *in);

/* For both sides. */

/* Withdraws an unread message. False: it is not in the ring, was taken, or was withdrawn before. */
bool inbox_withdraw(struct inbox *in, uint32_t pos);

/* For rused. */

/* What rused knows of a ring; it never reads positions from shared memory. */
struct inbox_writer {
	struct inbox *in;
	int fd;			/* rused's end of the file's socket pair */
	uint32_t reaped, tail;	/* the messages in the ring are those from position reaped to tail */
};

static inline bool inbox_full(const struct inbox_writer *w)
{
	return w->tail - w->reaped == INBOX_SLOTS;
}

/*
 * Frees the slot of the oldest message, unless that is unread. False: it is, or the ring is empty. *pos: its position.
 * *gone: it was withdrawn.
 */
bool inbox_reap(struct inbox_writer *w, uint32_t *pos, bool *gone);
/*
 * Adding messages: inbox_begin(); for each message inbox_room(), whose slot the caller fills in, and inbox_add();
 * inbox_end(), which shows them to readers. The caller sets tag, len, data and why.id of a slot, and why.arg with an id.
 */
void inbox_begin(struct inbox_writer *w);
/* The slot of the next message; NULL: the ring is full. */
struct inbox_slot *inbox_room(struct inbox_writer *w);
void inbox_add(struct inbox_writer *w);
void inbox_end(struct inbox_writer *w);
/* Sets `more`. True: a reader that did not see it has made room, or all messages were read; reap and fill again. */
bool inbox_set_more(struct inbox_writer *w, enum inbox_more more);

#endif
