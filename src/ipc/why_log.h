/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log of a process's failures: the last WHY_RECS failures with their reasons. It follows the process page in the
 * same memfd, so rused can read it, also after the process has ended. Any thread of the process writes; each record and
 * stack has a sequence lock.
 */
#ifndef RUSE_IPC_WHY_LOG_H
#define RUSE_IPC_WHY_LOG_H

#include "ipc/pages.h"
#include "shared/seqlock.h"
#include "why/why.h"

#define WHY_OFFSET ALIGN_UP(sizeof(struct proc_page), 4096ul)	/* in the memfd of the process page */
#define WHY_RECS 256u	/* power of two */
#define WHY_STACKS 16u
#define WHY_STACK_SIZE 1000u

/* The stack of the call that has failed, of the record with these values. */
struct why_stack {
	struct seqlock lock;
	uint32_t id, qpn;
	uint32_t pad;
	uint64_t first;
	/*
	 * NUL-terminated; a line for each frame, innermost first: FILE OFFSET, hexadecimal; of a Python program FILE, line and
	 * function, with a tab before each.
	 */
	char text[WHY_STACK_SIZE];
};

struct why_log {
	uint32_t head;		/* position of the next record */
	uint32_t pad;
	uint64_t errors;	/* number of failures for which why_error() is true, also of those that the log no longer has */
	uint64_t findings, hints;	/* the same of those of `ruse run --check` */
	uint64_t pad1[4];
	struct why_slot {
		struct seqlock lock;
		uint32_t at;	/* position + 1; 0: never written */
		struct why_rec r;
	} slot[WHY_RECS];
	uint32_t stack_head, pad2;
	struct why_stack stack[WHY_STACKS];
};

/*
 * Appends a record; its count and first are set here. If the latest record differs only in time, wr_id and values
 * (with an errno: only in time and wr_id), and belongs to no completion or to a flushed one, it is counted up instead,
 * so that a flood of dropped packets, or of flushes, does not drive out the other records. Returns whether a record
 * was added. It is lost if another thread is still writing the record that it would overwrite.
 */
bool why_log_put(struct why_log *log, const struct why_rec *r);
/* Marks the records of dropped packets of this QP, with this reason, as repaired. */
void why_log_repaired(struct why_log *log, uint32_t dev, uint32_t qpn, enum why_id id);
/*
 * Copies the record at a position. False: there is none, it was overwritten, or it is being written. All strings are
 * NUL-terminated on return.
 */
bool why_log_get(const struct why_log *log, uint32_t pos, struct why_rec *r);
/* Keeps a stack with the record that why_log_put() has just added. The latest WHY_STACKS are kept. */
void why_log_put_stack(struct why_log *log, const struct why_rec *r, const char *text);
/* Copies the stack of a record. False: there is none. */
bool why_log_get_stack(const struct why_log *log, const struct why_rec *r,
		       char text[WHY_STACK_SIZE]);
/* The positions [from, head) are those of the records that the log still has. */
uint32_t why_log_from(const struct why_log *log, uint32_t *head);

#endif
