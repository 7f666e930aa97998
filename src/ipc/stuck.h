/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process waits for, for `ruse explain --stuck`. rused increments host_page.stuck_asked and notifies the
 * processes. The progress thread of each process then writes this table, which is behind the log of failures in the memfd of
 * the process page. A process that is stopped does not answer. Nothing is recorded before rused asks.
 */
#ifndef RUSE_IPC_STUCK_H
#define RUSE_IPC_STUCK_H

#include "ipc/why_log.h"

#define STUCK_OFFSET (WHY_OFFSET + ALIGN_UP(sizeof(struct why_log), 4096ul))
#define STUCK_MAX 128u

struct stuck_table {
	struct seqlock lock;
	uint32_t answered;	/* host_page.stuck_asked of the question that this answers */
	uint32_t n;		/* number of records, at most STUCK_MAX; further waits are left out, idle ones first */
	uint32_t pad[13];
	struct stuck_rec {
		struct why why;		/* what is waited for */
		uint64_t wr_id;		/* of the oldest work request that has not completed */
		uint64_t since;		/* host clock: first answer with the same record; the values of why may differ */
		uint32_t dev, qpn, peer_qpn;	/* STUCK_ACK: qpn is the thread, dev 0 */
		uint32_t mark;		/* changes when the QP makes progress */
		uint32_t part;		/* enum stuck_part */
		uint32_t flags;		/* STUCK_HAS_WR, STUCK_IDLE */
	} rec[STUCK_MAX];
};

#define STUCK_HAS_WR 1u	/* wr_id is set */
#define STUCK_IDLE 2u	/* also true of a program that has nothing to do */

enum stuck_part { STUCK_SEND, STUCK_RECV, STUCK_CQ, STUCK_ACK, STUCK_TRAFFIC, STUCK_PARTS };

#endif
