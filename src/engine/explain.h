/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Failures of this process: the log that rused reads, and messages to the program's user. */
#ifndef RUSE_ENGINE_EXPLAIN_H
#define RUSE_ENGINE_EXPLAIN_H

#include "core/device.h"
#include "core/qp.h"
#include "why/why.h"

/*
 * Logs a failure; r->last, r->dev and r->count are set here. dev may be NULL. With RUSE_EXPLAIN=1 in the environment
 * the first failure of each kind is also written to stderr, with the stack of the call. Any thread may call it.
 */
void explain_failed(struct rdev *dev, const struct why_rec *r);

/* A call stack, innermost first, with the frames of ruse. */
#define EXPLAIN_FRAMES 24
struct explain_frames {
	void *frame[EXPLAIN_FRAMES];
	uint32_t n;
	const char *python;	/* the lines of a Python program (python.h); NULL: none */
};
/* Is it an address in the code of libruse.so? */
bool explain_own_frame(const void *frame);
/*
 * Logs a finding of `ruse run --check`, and writes it to stderr, with the stacks of the call that is wrong, mostly a post, and of
 * the call that has ended something it needs; NULL: none.
 */
void explain_found(struct rdev *dev, const struct why_rec *r, const struct explain_frames *posted,
		   const struct explain_frames *ended);

/*
 * drops.c: packets that RC QPs have dropped and whose repetition may come. They are told when it has not come for a while.
 * The caller holds the engine lock.
 */
/* Keeps a record that was just logged. False: its packet will not be repeated; tell it at once. */
bool drops_add(struct rdev *dev, const struct why_rec *r);
/* The QP ends (NULL: the process does): what was not repaired is told. */
void drops_end(const struct qp *qp);
/* Writes a failure to stderr, if it is the first of its kind and the program wants to be told. */
void explain_first_told(const struct why_rec *r);

/* postwrap.c: log the work requests that librxe refuses by itself. wanted: RUSE_EXPLAIN=1. */
void postwrap_use(bool wanted);
/* likewrap.c: wraps posts to devices that are like an adapter, and the errno of a full queue there; 0: they are not wrapped. */
void likewrap_use(bool wanted);
int likewrap_full(void);
/* What the last ibv_wr_complete() of the calling thread was refused for: enum like_missing; -1: it was not. */
int likewrap_lacked(void);

#endif
