/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared by rused and programs for rdma_cm. It saves messages to rused:
 *
 * - a ring of events for each open file, written by rused, read by any process that has the file (a
 *   forked child inherits the mapping). While it has events, the file's socket holds one byte for
 *   poll(): `shown`.
 * - preallocated ids that a program may use without asking: `spare`.
 * - a card for each id with the current answers of QUERY and INIT_QP_ATTR, written by the handlers
 *   of these commands. Programs map it read-only.
 *
 * Each side treats the other's words as hostile: a program that corrupts a ring affects only its
 * own events.
 */
#ifndef RUSE_IPC_UCMA_SHM_H
#define RUSE_IPC_UCMA_SHM_H

#include <rdma/rdma_user_cm.h>
#include "base/util.h"
#include "queue/barrier.h"

#define UCMA_SPARES 64u		/* most preallocated ids of a file */
#define UCMA_RING 256u		/* events; further ones wait in rused */
#define UCMA_CARDS 32768u	/* ids from this number have no card and always ask rused */

/* GONE: withdrawn unread, as its id is destroyed or moved; readers skip it. */
enum ucma_slot_state { UCMA_SLOT_FREE, UCMA_SLOT_READY, UCMA_SLOT_TAKEN, UCMA_SLOT_GONE };

struct ucma_slot {
	uint32_t state;		/* position in the stream << 2 | enum ucma_slot_state */
	uint32_t owner;		/* id whose events_reported includes it */
	struct rdma_ucm_event_resp ev;
};

/*
 * more: why a reader that has taken an event must tell rused. QUEUED: events wait for room in the
 * ring; PARKED: connection requests wait for room in the backlog of a listener.
 */
enum { UCMA_MORE_NOT = 0, UCMA_MORE_QUEUED = 1, UCMA_MORE_PARKED = 2 };

/* filling: AWAITED means that a reader waits (futex) for its end. */
enum { UCMA_FILLED, UCMA_FILLING, UCMA_FILLING_AWAITED };

/*
 * SOON: rused is about to send the byte, then sets SHOWN. Unlike in ipc/bell.h, a reader that clears
 * SHOWN thus never waits for the byte.
 */
enum { UCMA_SHOWN_NOT, UCMA_SHOWN, UCMA_SHOWN_SOON };

struct ucma_shm {
	uint32_t generation;	/* host_page.generation of the rused that created it */
	uint32_t number;	/* of the file */
	uint32_t head;		/* hint: no READY event before it */
	uint32_t tail;		/* position of the next event to be written */
	uint32_t shown;		/* UCMA_SHOWN: the socket holds a byte */
	uint32_t filling;	/* UCMA_FILLING*: rused makes events READY and then shows them */
	uint32_t more;		/* UCMA_MORE_* */
	uint32_t pad;
	uint32_t spare[UCMA_SPARES];	/* 1 + id; 0: none, set by the program that took it */
	struct ucma_slot slot[UCMA_RING];
	uint32_t posted[UCMA_CARDS];	/* commands for the id sent with IPC_UCMA_POST */
	uint8_t gone[UCMA_CARDS];	/* 1: DESTROY_ID was posted, readers skip its events */
};

#define UCMA_HAS_ADDR 0x1u
#define UCMA_HAS_GID 0x2u
#define UCMA_HAS_PATH 0x4u
#define UCMA_HAS_ATTR 0x8u	/* shifted left by 0 for INIT, 1 for RTR, 2 for RTS */
/* UCMA_CAN_*: a command that will succeed in the present state of the id, and so may be posted. */
#define UCMA_CAN_ROUTE 0x100u
#define UCMA_CAN_CONNECT 0x200u
#define UCMA_CAN_ACCEPT 0x400u
#define UCMA_CAN_RTU 0x800u
#define UCMA_CAN_DISCONNECT 0x1000u
#define UCMA_CAN_DESTROY 0x4000u
#define UCMA_CAN_RESOLVE 0x2000u	/* from an address and port of rused's choice */

struct ucma_answers {
	struct rdma_ucm_query_addr_resp addr, gid;
	struct ib_uverbs_qp_attr attr[3];
	uint32_t path_len;
	uint8_t path[sizeof(struct rdma_ucm_query_path_resp) + 2 * sizeof(struct ib_path_rec_data)];
};

struct ucma_card {
	uint32_t seq;		/* odd while rused writes */
	uint32_t file;		/* number of the id's file; 0: no such id */
	uint32_t done;		/* number of its posted commands that are finished */
	uint32_t has;
	uint32_t reported, reaped;	/* reported: how many of its events were read, counted up to ring position reaped */
	uint32_t last;		/* position after its last event in the ring; 0: unknown */
	uint32_t pad;
	struct ucma_answers a;
};

static inline uint32_t ucma_slot_word(uint32_t pos, enum ucma_slot_state st)
{
	return pos << 2 | st;
}

static inline struct ucma_slot *ucma_slot(struct ucma_shm *s, uint32_t pos)
{
	return &s->slot[pos % UCMA_RING];
}

/* Takes the first event. False: the ring is empty. */
bool ucma_shm_take(struct ucma_shm *s, struct rdma_ucm_event_resp *ev);
/* True if there is an event to take. */
bool ucma_shm_ready(struct ucma_shm *s);
/*
 * Call after events were taken or withdrawn: removes the byte from the socket fd if the ring is
 * empty. Any number of threads and processes may call it at once.
 */
void ucma_shm_settle(struct ucma_shm *s, int fd);
/* Removes a byte left behind by a reader that was killed before it removed it. */
void ucma_shm_orphan(struct ucma_shm *s, int fd);
/*
 * Copies len bytes at offset off of the card's answers. False: ask rused, as the card is not one of
 * this file, posted commands are unfinished, or it lacks a flag of has (UCMA_HAS_*, UCMA_CAN_*).
 */
bool ucma_card_read(const struct ucma_card *card, const struct ucma_shm *s, uint32_t id,
		    uint32_t has, size_t off, void *to, size_t len);
/*
 * Marks the id as destroyed, so that no further event of it is read. *reported: number of its events
 * that were read. The caller must then post DESTROY_ID, which is already counted in s->posted, or if
 * that fails call ucma_card_keep(). False: nothing was changed; send DESTROY_ID to rused instead.
 */
bool ucma_card_destroy(const struct ucma_card *card, struct ucma_shm *s, uint32_t id,
		       uint32_t *reported);
void ucma_card_keep(struct ucma_shm *s, uint32_t id);
/*
 * Takes a preallocated id. A posted CREATE_ID with the id as `response` then creates it. False:
 * none. ucma_shm_spare_back() returns an id that could not be posted.
 */
bool ucma_shm_spare(struct ucma_shm *s, uint32_t *id);
void ucma_shm_spare_back(struct ucma_shm *s, uint32_t id);
/*
 * Finds the id in a command that may be posted (IPC_UCMA_POST). False: the command must not be
 * posted, or is too short.
 */
bool ucma_post_id(const void *cmd, size_t len, uint32_t *id);

#endif
