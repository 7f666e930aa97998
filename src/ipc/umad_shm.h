/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What rused and the programs share of an open umadN, so that most read()s and
 * write()s ask nobody:
 *
 * - a ring of packets to be read, written by rused, read by whichever process has
 *   the file; a byte in the file's socket says that there are some (ipc/bell.h).
 * - a ring of MADs that were written, by the process that has opened the file. Only
 *   those of which nothing can be wrong (umad_shm_sendable()): all others go to
 *   rused and wait for what it says. What is asked later comes after what is posted.
 *
 * Either side takes what the other writes as hostile: it decides about the
 * program's own MADs, and nothing else.
 */
#ifndef RUSE_IPC_UMAD_SHM_H
#define RUSE_IPC_UMAD_SHM_H

#include <sys/types.h>
#include "ipc/bell.h"
#include "ipc/umad_msg.h"

#define UMAD_RX 256u		/* packets to be read; more wait in rused */
#define UMAD_TX 64u		/* MADs written */
#define UMAD_TX_LATE 8u		/* posted so long ago and not taken: rused is to be woken whatever it says */
#define UMAD_TIDS 256u		/* transactions are told apart by so many values */
#define UMAD_SHM_AGENTS 32

enum umad_slot_state { UMAD_SLOT_FREE, UMAD_SLOT_READY, UMAD_SLOT_TAKEN };

struct umad_slot {
	uint32_t state;		/* position in the stream << 2 | enum umad_slot_state */
	uint32_t len;
	uint32_t seq;		/* to be read: 0: it is here; else by this number from rused */
	uint32_t pad;
	uint8_t data[IPC_UMAD_SHOWN];
};

/* Of an agent, 0: there is none. */
#define UMAD_AGENT 0x1u
#define UMAD_AGENT_QP1 0x2u
#define UMAD_AGENT_RMPP 0x4u

struct umad_shm {
	/* rused's. */
	uint32_t generation;	/* host_page.generation of the rused that has made it */
	uint32_t number;	/* of the file */
	uint32_t hdr_len;	/* of its packets */
	uint32_t dead;		/* the device is gone */
	uint32_t port;		/* number of the InfiniBand port; 0: nothing may be posted */
	uint32_t agent[UMAD_SHM_AGENTS];
	uint32_t begun[UMAD_TIDS], ended[UMAD_TIDS];	/* sends; begun: other than posted ones */
	uint32_t pad1[16];
	uint32_t watched;	/* it looks at tx, no need to wake it */
	uint32_t pad2[31];
	uint32_t tail;		/* position of the next packet to be read */
	uint32_t pad3;
	/* Both's. */
	uint32_t shown;		/* see ipc/bell.h */
	uint32_t more;		/* packets wait for room: who makes some tells rused */
	uint32_t pad4[28];
	/* The programs'. */
	uint32_t head;		/* a hint: nothing before it is READY */
	uint32_t kicked;	/* rused is being woken; it sets this back */
	uint32_t pad5[30];
	struct umad_slot rx[UMAD_RX], tx[UMAD_TX];
};

static inline uint32_t umad_slot_word(uint32_t pos, enum umad_slot_state st)
{
	return pos << 2 | st;
}

/* rused's: all rings empty, all else 0. */
void umad_shm_init(struct umad_shm *s);

/* To be read. The first packet there is, and its position; NULL: none. */
struct umad_slot *umad_shm_next(struct umad_shm *s, uint32_t *pos);
/* It is still there: what was read of it was it. */
bool umad_shm_there(const struct umad_slot *slot, uint32_t pos);
/* Takes it. False: somebody else has. */
bool umad_shm_take(struct umad_shm *s, struct umad_slot *slot, uint32_t pos);
struct bell umad_shm_bell(struct umad_shm *s);
/* rused's: where the packet at its position pos goes; NULL: no room. */
struct umad_slot *umad_shm_room(struct umad_shm *s, uint32_t pos);

/*
 * Written. Whether write() of these bytes, which the caller has for himself, can have no error: a
 * whole MAD without RMPP and GRH of an agent of an InfiniBand port, and no transaction like it is
 * open. posted: what the process has posted, by umad_shm_tid().
 */
bool umad_shm_sendable(const struct umad_shm *s, const uint32_t posted[UMAD_TIDS],
		       const void *data, size_t len);
/* Which of UMAD_TIDS a MAD's transaction is. */
uint32_t umad_shm_tid(const uint8_t *mad);
/* What rused is to be told: nothing, by the eventfd, by IPC_UMAD_KICK: it may be gone. */
enum umad_wake { UMAD_WAKE_NOT, UMAD_WAKE, UMAD_WAKE_LATE };
/* By one thread at a time. False: no room. */
bool umad_shm_post(struct umad_shm *s, uint32_t pos, const void *data, size_t len,
		   enum umad_wake *wake);
/* rused's: is there one at its position? */
bool umad_shm_posted(const struct umad_shm *s, uint32_t pos);
/* Its bytes, copied once, at most IPC_UMAD_SHOWN; -EAGAIN there is none, -EPROTO too long. */
ssize_t umad_shm_fetch(struct umad_shm *s, uint32_t pos, void *data);

#endif
