/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log of a process's failures: the last WHY_RECS failures with their reasons. It follows the process page in the
 * same memfd, so rused can read it, also after the process has ended. Any thread of the process writes; the reader copies
 * a record and takes it only if it was not changed meanwhile.
 */
#ifndef RUSE_IPC_WHY_LOG_H
#define RUSE_IPC_WHY_LOG_H

#include "ipc/pages.h"
#include "why/why.h"

#define WHY_OFFSET ALIGN_UP(sizeof(struct proc_page), 4096ul)	/* in the memfd of the process page */
#define WHY_RECS 256u	/* power of two */

struct why_log {
	uint32_t head;		/* position of the next record */
	uint32_t pad[15];
	/* seq: position + 1; anything else: the record is being written. */
	struct why_slot {
		uint32_t seq, pad;
		struct why_rec r;
	} slot[WHY_RECS];
};

/*
 * Appends a record; its count and first are set here. If the latest record differs only in time, wr_id and values
 * (of a command: only in time), and belongs to no completion, it is counted up instead, so that a flood of dropped
 * packets does not drive out the other records. Returns whether a record was added.
 */
bool why_log_put(struct why_log *log, const struct why_rec *r);
/*
 * Copies the record at a position. False: there is none, it was overwritten, or it is being written. All strings are
 * NUL-terminated on return.
 */
bool why_log_get(const struct why_log *log, uint32_t pos, struct why_rec *r);
/* The positions [from, head) are those of the records that the log still has. */
uint32_t why_log_from(const struct why_log *log, uint32_t *head);

#endif
