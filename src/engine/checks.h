/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse run --check` in this process: which stack a request was posted by, and what becomes of a finding. */
#ifndef RUSE_ENGINE_CHECKS_H
#define RUSE_ENGINE_CHECKS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/* Reads RUSE_CHECK, and begins to check if it is set. After armed_init(). */
void checks_begin(void);

/*
 * The site of a call of the program, by its return address and its frame: of a call that was seen before without looking at
 * the stack. Takes the engine lock.
 */
uint32_t checks_site(uintptr_t ret, uintptr_t frame);

struct check_found;
/* Tells a finding if it is wanted and new. The caller has the engine lock. */
void checks_tell(const struct check_found *f);

struct explain_frames;
/* The stack of this thread, now, with the lines of a Python program if python is not NULL. */
void checks_walk(struct explain_frames *s, char *python);
/* The site of a stack; 0: there are too many. The caller has the engine lock. */
uint32_t checks_site_of(const struct explain_frames *s);

/*
 * checkacks.c: calls that wait for acknowledgements. checkacks_look() is called at this time; the caller has the engine
 * lock. ending: the process ends.
 */
extern ns_t checkacks_due;
void checkacks_begin(void);
void checkacks_look(ns_t now, bool ending);

/* A forked child uses a file of its parent, which lives. Without the engine lock. */
void checks_forked(void);

struct cq;
/* The thread that has armed the CQ sleeps although completions from before are there: tells it if it waits for the CQ's event. */
void checks_late(struct cq *cq);

/* The process ends: tells what it has not destroyed. The caller has the engine lock. */
void checks_ending(void);

/* checkwrap.c: wraps posts and polls. */
void checkwrap_use(void);
/* The site of the post that this thread executes; 0: not known. */
uint32_t checkwrap_site(void);

#endif
