/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared by rused and programs for an open umadN, so that most read() and write() calls need
 * no message to rused:
 *
 * - rx, a ring of received packets. rused writes it; any process that has the file open reads it. A byte in the file's
 *   socket says that the ring is not empty (ipc/bell.h).
 * - the registered agents and counts of transactions, by which the process that opened the file finds out which MADs
 *   write() cannot fail for (umad_shm_sendable()). It posts these (IPC_UMAD_POST). For any other MAD, write() is a request
 *   to rused and waits for the answer. rused handles posted MADs before later requests.
 *
 * Neither side trusts what the other writes: a program that corrupts the memory affects only its own MADs.
 */
#ifndef RUSE_IPC_UMAD_SHM_H
#define RUSE_IPC_UMAD_SHM_H

#include <sys/types.h>
#include "ipc/bell.h"
#include "ipc/umad_msg.h"

#define UMAD_RX 256u		/* packets to be read; further ones wait in rused */
#define UMAD_TIDS 256u		/* number of hash values of transactions */
#define UMAD_SHM_AGENTS 32
#define UMAD_SLOT_WHY 256	/* behind the 88 bytes of such a packet */

enum umad_slot_state { UMAD_SLOT_FREE, UMAD_SLOT_READY, UMAD_SLOT_TAKEN };

struct umad_slot {
	uint32_t state;		/* position in the stream << 2 | enum umad_slot_state */
	uint32_t len;
	uint32_t seq;		/* rx: 0: the packet is in data; else it is longer, and rused returns it by this number */
	uint32_t why;		/* 1: the packet is a request that timed out; at UMAD_SLOT_WHY of data is the reason */
	uint8_t data[IPC_UMAD_SHOWN];
};

/* Flags of an agent; 0: no agent. */
#define UMAD_AGENT 0x1u
#define UMAD_AGENT_QP1 0x2u
#define UMAD_AGENT_RMPP 0x4u

struct umad_shm {
	/* Written by rused. */
	uint32_t generation;	/* host_page.generation of the rused that created it */
	uint32_t number;	/* number of the file */
	uint32_t hdr_len;	/* bytes of the header of a packet */
	uint32_t dead;		/* the device was removed */
	uint32_t port;		/* InfiniBand port number of the device; 0: programs may not post MADs */
	uint32_t agent[UMAD_SHM_AGENTS];
	uint32_t begun[UMAD_TIDS], ended[UMAD_TIDS];	/* by umad_shm_tid(): sends begun, except posted ones; all sends ended */
	uint32_t pad1[16];
	uint32_t tail;		/* position of the next packet to be written to rx */
	uint32_t pad3;
	/* Written by both. */
	uint32_t shown;		/* 1: the socket holds the byte for poll(), or will: ipc/bell.h */
	uint32_t more;		/* 1: packets wait in rused; a program that has taken a packet must tell rused */
	uint32_t pad4[28];
	/* Written by programs. */
	uint32_t head;		/* hint: no packet before this position is READY */
	uint32_t pad5[31];
	struct umad_slot rx[UMAD_RX];
};

static inline uint32_t umad_slot_word(uint32_t pos, enum umad_slot_state st)
{
	return pos << 2 | st;
}

/* rused: empties the ring, clears the rest. */
void umad_shm_init(struct umad_shm *s);

/* For readers: the first packet in rx and its position; NULL: none. */
struct umad_slot *umad_shm_next(struct umad_shm *s, uint32_t *pos);
/* True if this slot of rx still has the packet of position pos, so that what the caller has read from it is valid. */
bool umad_shm_there(const struct umad_slot *slot, uint32_t pos);
/* Takes the packet. False: another reader took it. */
bool umad_shm_take(struct umad_shm *s, struct umad_slot *slot, uint32_t pos);
struct bell umad_shm_bell(struct umad_shm *s);
/* rused: the slot of rx for the packet at position pos; NULL: no room. */
struct umad_slot *umad_shm_room(struct umad_shm *s, uint32_t pos);

/*
 * For the process that opened the file: true if write() of these bytes cannot fail, so that they may be posted.
 * They must be a whole MAD of a registered agent of an InfiniBand port, without GRH and RMPP, and no send with the
 * same hash may be in progress. No other thread may change data. posted: number of MADs that this process has
 * posted, by umad_shm_tid().
 */
bool umad_shm_sendable(const struct umad_shm *s, const uint32_t posted[UMAD_TIDS],
		       const void *data, size_t len);
/* Hash of a MAD's transaction, below UMAD_TIDS. */
uint32_t umad_shm_tid(const uint8_t *mad);

#endif
