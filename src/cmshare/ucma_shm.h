/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared by rused and programs for rdma_cm. It makes most messages to rused unnecessary. It contains:
 *
 * - for each open file, an inbox of events (ipc/inbox.h). The tag of an event is the id whose events_reported includes it;
 *   more is INBOX_MORE_EACH while connection requests wait for room in the backlog of a listener.
 * - for each id, a record with the present answers of QUERY and INIT_QP_ATTR. In rused the handlers of these commands
 *   write it; programs map it read-only.
 *
 * Neither side trusts what the other writes: a program that corrupts the memory affects only its own events.
 */
#ifndef RUSE_CMSHARE_UCMA_SHM_H
#define RUSE_CMSHARE_UCMA_SHM_H

#include <rdma/rdma_user_cm.h>
#include "ipc/inbox.h"
#include "shared/seqlock.h"

#define CMSHARE_RECS 32768u	/* ids from this number have no record and always ask rused */

struct cmshare_file {
	uint32_t generation;	/* host_page.generation of the rused that created it */
	uint32_t number;	/* of the file */
	uint32_t pad[14];
	struct inbox inbox;
	uint32_t posted[CMSHARE_RECS];	/* by id: number of commands sent with IPC_UCMA_POST */
	uint8_t gone[CMSHARE_RECS];	/* by id: 1: DESTROY_ID was sent with IPC_UCMA_POST; rused adds no event of the id */
};

#define CMSHARE_HAS_ADDR 0x1u
#define CMSHARE_HAS_GID 0x2u
#define CMSHARE_HAS_PATH 0x4u
#define CMSHARE_HAS_ATTR 0x8u	/* INIT_QP_ATTR for state INIT; the next bits, 0x10 and 0x20, are for RTR and RTS */
/* CMSHARE_CAN_*: a command that will succeed in the present state of the id, so a program need not wait for it (IPC_UCMA_POST). */
#define CMSHARE_CAN_ROUTE 0x100u
#define CMSHARE_CAN_CONNECT 0x200u
#define CMSHARE_CAN_ACCEPT 0x400u
#define CMSHARE_CAN_RTU 0x800u
#define CMSHARE_CAN_DISCONNECT 0x1000u
#define CMSHARE_CAN_DESTROY 0x2000u
#define CMSHARE_CAN_RESOLVE 0x4000u	/* RESOLVE_ADDR to a destination that another id has just resolved */

struct cmshare_answers {
	struct rdma_ucm_query_addr_resp addr, gid;
	struct ib_uverbs_qp_attr attr[3];
	uint32_t path_len;
	uint8_t path[sizeof(struct rdma_ucm_query_path_resp) + 2 * sizeof(struct ib_path_rec_data)];
};

struct cmshare_rec {
	struct seqlock lock;
	uint32_t file;		/* number of the id's file; 0: no such id */
	uint32_t done;		/* number of its commands sent with IPC_UCMA_POST that rused has finished */
	uint32_t has;
	uint32_t reported, reaped;	/* reported: number of its events before ring position `reaped` that programs have read */
	uint32_t last;		/* position after its last event in the ring */
	uint32_t pad;
	uint64_t uid;		/* address of the id in the program; 0: not known before ACCEPT */
	struct cmshare_answers a;
};

/* Takes the first event and its reason. why may be NULL. False: the ring is empty. */
bool cmshare_take_event(struct cmshare_file *s, struct rdma_ucm_event_resp *ev, struct why *why);
/*
 * Copies len bytes at offset off of the record's answers. has: the flags (CMSHARE_HAS_*, CMSHARE_CAN_*) that the record must
 * have. False: the record lacks one of them, the id is not one of this file, or rused has not finished its
 * IPC_UCMA_POST commands; ask rused.
 */
bool cmshare_rec_read(const struct cmshare_rec *rec, const struct cmshare_file *s, uint32_t id,
		      uint32_t has, size_t off, void *to, size_t len);
/*
 * Marks the id as destroyed and withdraws its unread events, so that programs read no further event of it. *reported:
 * number of its events that they have read. The function counts DESTROY_ID in s->posted; the caller then sends it with
 * IPC_UCMA_POST. False: nothing was changed, and DESTROY_ID must be sent to rused with IPC_UCMA_WRITE.
 */
bool cmshare_rec_destroy(const struct cmshare_rec *rec, struct cmshare_file *s, uint32_t id,
			 uint32_t *reported);
/* Undoes cmshare_rec_destroy(), if DESTROY_ID could not be sent. */
void cmshare_rec_keep(struct cmshare_file *s, uint32_t id);
#endif
