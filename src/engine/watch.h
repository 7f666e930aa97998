/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores of the program, for `ruse run --check=locate`. */
#ifndef RUSE_ENGINE_WATCH_H
#define RUSE_ENGINE_WATCH_H

#include <stdbool.h>
#include "engine/explain.h"

/* Before the first watch of a process. In a forked child: the descriptors of its parent are closed, the rings not mapped. */
void watch_fresh(void);
/*
 * Watches the eight bytes around an address, and nothing else any more; NULL: nothing. False: it is not possible, which is
 * told once.
 */
bool watch_stores(void *addr);
/* The stack of a store there. False: none was seen. */
bool watch_stored(struct explain_frames *s);

#endif
