/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What drives the engine: the progress thread, and programs that poll. The caller holds the engine
 * lock unless a comment says otherwise.
 */
#ifndef RUSE_ENGINE_PROGRESS_H
#define RUSE_ENGINE_PROGRESS_H

#include "base/tuning.h"
#include "core/cq.h"
#include "core/qp.h"

/* Interval at which QPs in ERR are searched for new receive WQEs, which must be flushed. Posting one rings no doorbell. */
#define ERR_RESCAN (10 * NS_MS)

/* progress.c. Starts the progress thread if it does not run. 0 or -errno. */
int progress_start(void);
/* Wake the progress thread. Does nothing in that thread itself. */
void progress_kick(void);
/* Deliver what this process has sent to itself, if anything. */
void progress_loop(void);
/* Take in what has arrived on this link and from other hosts. */
void progress_take(struct link *l);
/* A CQ was armed: the program is about to sleep, so peers must wake the process from now on. */
void progress_cq_armed(struct cq *cq);
/* Does this thread of the process sleep in the kernel? Also true if it has ended; false if that is not known. */
bool progress_asleep(uint32_t tid);
/* Have the progress thread check this CQ, if it is armed and holds completions from before the arm. */
void progress_watch_arm(struct cq *cq);

/* pollwrap.c: let the program's polls of CQs drive the engine. wanted: not RUSE_NO_POLL_WRAP=1. */
void pollwrap_use(bool wanted);
/*
 * Look at the links, and now and then at the timers. Called when a poll of the program found its CQ
 * empty, and after a number of polls that found completions. Takes the engine lock itself; does
 * nothing if the lock is held.
 */
void engine_poll(void);

#endif
