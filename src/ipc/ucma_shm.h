/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What rused and the programs share of rdma_cm, so that a program asks rused
 * only for what rused has to do:
 *
 * - a ring of events for each open file, written by rused, read by whichever
 *   process has the file (a forked child has the mapping, too). While an event is
 *   in it there is one byte to read in the file's socket, for poll(): `shown`.
 * - numbers of ids that a file may have made without asking: `spare`.
 * - a card for each id, with the answers that QUERY and INIT_QP_ATTR would get now,
 *   made by the commands' own handlers. Programs cannot write it.
 *
 * Either side takes what the other writes as hostile: a ring only decides which
 * of the program's own events it sees, and how often.
 */
#ifndef RUSE_IPC_UCMA_SHM_H
#define RUSE_IPC_UCMA_SHM_H

#include <rdma/rdma_user_cm.h>
#include "base/util.h"
#include "queue/barrier.h"

#define UCMA_SPARES 64u		/* ids ahead, at most */
#define UCMA_RING 256u		/* events; more wait in rused */
#define UCMA_CARDS 32768u	/* ids from here on have none, and nothing is known here of them */

enum ucma_slot_state { UCMA_SLOT_FREE, UCMA_SLOT_READY, UCMA_SLOT_TAKEN, UCMA_SLOT_GONE };

struct ucma_slot {
	uint32_t state;		/* position in the stream << 2 | enum ucma_slot_state */
	uint32_t owner;		/* id whose events_reported counts it */
	struct rdma_ucm_event_resp ev;
};

/* Why a reader that has taken an event is to tell rused at once. */
enum { UCMA_MORE_NOT = 0, UCMA_MORE_QUEUED = 1, UCMA_MORE_PARKED = 2 };

/* AWAITED: a reader sleeps there (futex) until it is over. */
enum { UCMA_FILLED, UCMA_FILLING, UCMA_FILLING_AWAITED };

enum { UCMA_SHOWN_NOT, UCMA_SHOWN, UCMA_SHOWN_SOON };

struct ucma_shm {
	uint32_t generation;	/* host_page.generation of the rused that has made it */
	uint32_t number;	/* of the file */
	uint32_t head;		/* a hint: nothing before it is READY */
	uint32_t tail;		/* position of the next event */
	uint32_t shown;		/* UCMA_SHOWN: there is a byte in the socket */
	uint32_t filling;	/* UCMA_FILLING*: rused makes events READY, and is about to show them */
	uint32_t more;		/* UCMA_MORE_* */
	uint32_t pad;
	uint32_t spare[UCMA_SPARES];	/* 1 + an id; 0: none, who takes it has put that there */
	struct ucma_slot slot[UCMA_RING];
	uint32_t posted[UCMA_CARDS];	/* commands sent to the id that rused does not answer */
	uint8_t gone[UCMA_CARDS];	/* DESTROY_ID is among them: its events are nobody's */
};

#define UCMA_HAS_ADDR 0x1u
#define UCMA_HAS_GID 0x2u
#define UCMA_HAS_PATH 0x4u
#define UCMA_HAS_ATTR 0x8u	/* << 0 INIT, 1 RTR, 2 RTS */
/* What answers 0 for now, as far as the id's state says. */
#define UCMA_CAN_ROUTE 0x100u
#define UCMA_CAN_CONNECT 0x200u
#define UCMA_CAN_ACCEPT 0x400u
#define UCMA_CAN_RTU 0x800u
#define UCMA_CAN_DISCONNECT 0x1000u
#define UCMA_CAN_DESTROY 0x4000u
#define UCMA_CAN_RESOLVE 0x2000u	/* to where others can, from an address and port of rused's choice */

struct ucma_answers {
	struct rdma_ucm_query_addr_resp addr, gid;
	struct ib_uverbs_qp_attr attr[3];
	uint32_t path_len;
	uint8_t path[sizeof(struct rdma_ucm_query_path_resp) + 2 * sizeof(struct ib_path_rec_data)];
};

struct ucma_card {
	uint32_t seq;		/* odd while rused writes */
	uint32_t file;		/* number of the id's file; 0: no such id */
	uint32_t done;		/* of its posted */
	uint32_t has;
	uint32_t reported, reaped;	/* of its events before this position so many have been read */
	uint32_t last;		/* behind the last of its events that the ring has had; 0: not known */
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

/* Takes the first event there is. False: none. */
bool ucma_shm_take(struct ucma_shm *s, struct rdma_ucm_event_resp *ev);
/* Whether there is one. */
bool ucma_shm_ready(struct ucma_shm *s);
/*
 * After events have been taken or have vanished: the byte in the socket fd goes with the last
 * one. Any number of threads and processes.
 */
void ucma_shm_settle(struct ucma_shm *s, int fd);
/* Takes a byte that nobody answers for: its reader was killed in the middle. */
void ucma_shm_orphan(struct ucma_shm *s, int fd);
/*
 * Copies len bytes at off of the card's answers, if it is that of the file and all that was posted
 * to the id is done and it has what is asked for (UCMA_HAS_*, UCMA_CAN_*). Else false: ask rused.
 */
bool ucma_card_read(const struct ucma_card *card, const struct ucma_shm *s, uint32_t id,
		    uint32_t has, size_t off, void *to, size_t len);
/*
 * Ends the id here: *reported of its events have been read, and no more will be. False: ask rused.
 * DESTROY_ID is to be posted next, as one that counts; if that cannot be, ucma_card_keep().
 */
bool ucma_card_destroy(const struct ucma_card *card, struct ucma_shm *s, uint32_t id,
		       uint32_t *reported);
void ucma_card_keep(struct ucma_shm *s, uint32_t id);
/*
 * Takes an id, to be made by a CREATE_ID that is posted and has it as its `response`. False: there is
 * none. ucma_shm_spare_back(): it could not be posted.
 */
bool ucma_shm_spare(struct ucma_shm *s, uint32_t *id);
void ucma_shm_spare_back(struct ucma_shm *s, uint32_t id);
/* The id of a command that may be posted (IPC_UCMA_POST). False: it may not, or is too short. */
bool ucma_post_id(const void *cmd, size_t len, uint32_t *id);

#endif
