/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared by rused and programs for an open umadN, so that most read() and write() calls need
 * no message to rused:
 *
 * - an inbox of received packets (ipc/inbox.h). The tag of a packet is 0, or, if the packet is longer than a slot, the
 *   number by which rused returns it. A packet with a reason (why) is a request that timed out.
 * - the registered agents and counts of transactions, by which the process that opened the file finds out which MADs
 *   write() cannot fail for (umad_shm_sendable()). It posts these (IPC_UMAD_POST). For any other MAD, write() is a request
 *   to rused and waits for the answer. rused handles posted MADs before later requests.
 *
 * Neither side trusts what the other writes: a program that corrupts the memory affects only its own MADs.
 */
#ifndef RUSE_IPC_UMAD_SHM_H
#define RUSE_IPC_UMAD_SHM_H

#include <sys/types.h>
#include "ipc/inbox.h"
#include "ipc/umad_msg.h"

#define UMAD_TIDS 256u		/* number of hash values of transactions */
#define UMAD_SHM_AGENTS 32

/* Flags of an agent; 0: no agent. */
#define UMAD_AGENT 0x1u
#define UMAD_AGENT_QP1 0x2u
#define UMAD_AGENT_RMPP 0x4u

/* All but the inbox is written by rused. */
struct umad_shm {
	uint32_t generation;	/* host_page.generation of the rused that created it */
	uint32_t number;	/* number of the file */
	uint32_t hdr_len;	/* bytes of the header of a packet */
	uint32_t dead;		/* the device was removed */
	uint32_t port;		/* InfiniBand port number of the device; 0: programs may not post MADs */
	uint32_t agent[UMAD_SHM_AGENTS];
	uint32_t begun[UMAD_TIDS], ended[UMAD_TIDS];	/* by umad_shm_tid(): sends begun, except posted ones; all sends ended */
	uint32_t pad[11];
	struct inbox inbox;
};

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
