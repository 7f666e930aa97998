/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared by rused and programs for rdma_cm. It makes most messages to rused unnecessary. It contains:
 *
 * - for each open file, an inbox of events (ipc/inbox.h). The tag of an event is the id whose events_reported includes it;
 *   more is INBOX_MORE_EACH while connection requests wait for room in the backlog of a listener.
 * - for each id, a card with the present answers of QUERY and INIT_QP_ATTR. In rused the handlers of these commands
 *   write it; programs map it read-only.
 *
 * Neither side trusts what the other writes: a program that corrupts the memory affects only its own events.
 */
#ifndef RUSE_IPC_UCMA_SHM_H
#define RUSE_IPC_UCMA_SHM_H

#include <rdma/rdma_user_cm.h>
#include "ipc/inbox.h"

#define UCMA_CARDS 32768u	/* ids from this number have no card and always ask rused */

struct ucma_shm {
	uint32_t generation;	/* host_page.generation of the rused that created it */
	uint32_t number;	/* of the file */
	uint32_t pad[14];
	struct inbox inbox;
	uint32_t posted[UCMA_CARDS];	/* by id: number of commands sent with IPC_UCMA_POST */
	uint8_t gone[UCMA_CARDS];	/* by id: 1: DESTROY_ID was sent with IPC_UCMA_POST; rused adds no event of the id */
};

#define UCMA_HAS_ADDR 0x1u
#define UCMA_HAS_GID 0x2u
#define UCMA_HAS_PATH 0x4u
#define UCMA_HAS_ATTR 0x8u	/* INIT_QP_ATTR for state INIT; the next bits, 0x10 and 0x20, are for RTR and RTS */
/* UCMA_CAN_*: a command that will succeed in the present state of the id, so a program need not wait for it (IPC_UCMA_POST). */
#define UCMA_CAN_ROUTE 0x100u
#define UCMA_CAN_CONNECT 0x200u
#define UCMA_CAN_ACCEPT 0x400u
#define UCMA_CAN_RTU 0x800u
#define UCMA_CAN_DISCONNECT 0x1000u
#define UCMA_CAN_DESTROY 0x2000u
#define UCMA_CAN_RESOLVE 0x4000u	/* RESOLVE_ADDR to a destination that another id has just resolved */

struct ucma_answers {
	struct rdma_ucm_query_addr_resp addr, gid;
	struct ib_uverbs_qp_attr attr[3];
	uint32_t path_len;
	uint8_t path[sizeof(struct rdma_ucm_query_path_resp) + 2 * sizeof(struct ib_path_rec_data)];
};

struct ucma_card {
	uint32_t seq;		/* odd while rused writes */
	uint32_t file;		/* number of the id's file; 0: no such id */
	uint32_t done;		/* number of its commands sent with IPC_UCMA_POST that rused has finished */
	uint32_t has;
	uint32_t reported, reaped;	/* reported: number of its events before ring position `reaped` that programs have read */
	uint32_t last;		/* position after its last event in the ring */
	uint32_t pad;
	struct ucma_answers a;
};

/* Takes the first event and its reason. why may be NULL. False: the ring is empty. */
bool ucma_shm_take(struct ucma_shm *s, struct rdma_ucm_event_resp *ev, struct why *why);
/*
 * Copies len bytes at offset off of the card's answers. has: the flags (UCMA_HAS_*, UCMA_CAN_*) that the card must
 * have. False: the card lacks one of them, the id is not one of this file, or rused has not finished its
 * IPC_UCMA_POST commands; ask rused.
 */
bool ucma_card_read(const struct ucma_card *card, const struct ucma_shm *s, uint32_t id,
		    uint32_t has, size_t off, void *to, size_t len);
/*
 * Marks the id as destroyed and withdraws its unread events, so that programs read no further event of it. *reported:
 * number of its events that they have read. The function counts DESTROY_ID in s->posted; the caller then sends it with
 * IPC_UCMA_POST. False: nothing was changed, and DESTROY_ID must be sent to rused with IPC_UCMA_WRITE.
 */
bool ucma_card_destroy(const struct ucma_card *card, struct ucma_shm *s, uint32_t id,
		       uint32_t *reported);
/* Undoes ucma_card_destroy(), if DESTROY_ID could not be sent. */
void ucma_card_keep(struct ucma_shm *s, uint32_t id);
#endif
