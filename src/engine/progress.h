/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What drives the engine: its thread, and programs that poll. Under the engine's lock unless it says otherwise. */
#ifndef RUSE_ENGINE_PROGRESS_H
#define RUSE_ENGINE_PROGRESS_H

#include "core/cq.h"
#include "core/qp.h"

/* A QP in ERR is looked at for receives that were posted since. */
#define ERR_RESCAN (10 * NS_MS)

/* progress.c */
int progress_start(void);
/* All that can be done now: arrived segments, writable links, due timers. Returns segments handled. */
int progress_run(void);
void progress_kick(void);
/* Delivers what this process has sent to itself, if anything. */
void progress_loop(void);
void progress_take(struct link *l);
/* A CQ was armed: the program is about to sleep, so peers must wake us. */
void progress_cq_armed(struct cq *cq);

/* pollwrap.c */
void pollwrap_qp(struct qp *qp, uint64_t user_handle);
/*
 * The program polls and has found nothing, or something many times running.
 * Drives the engine, taking the lock itself if it is free.
 */
void engine_poll(void);

#endif
