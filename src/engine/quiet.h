/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wait of a command that has ended MRs or memory windows, for peers that are within an access to the memory. The
 * command is complete: only its return to the program waits, without the engine lock.
 */
#ifndef RUSE_ENGINE_QUIET_H
#define RUSE_ENGINE_QUIET_H

#include "base/util.h"

struct quiet {
	uint64_t withdrawn;	/* 0: nothing to wait for */
	uint32_t generation;
};

/* What the command has to wait for, before the engine lock is released. */
struct quiet quiet_command(void);
/* Without the lock. Waits for 2 s at most: then a peer is stopped, or does not let its access end. */
void quiet_wait(struct quiet q);
/* The same for a work request that ends a memory window: the lock cannot be released, as the request has to complete. */
void quiet_locked(uint64_t withdrawn);
/* Ends the pins of memory that peers do not access any more. Returns whether there are others. */
bool quiet_unpin(void);

#endif
