/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that the program has freed, or unmapped, while it was registered: the last FREED_ENTRIES of these calls.
 *
 * The functions here are called by the program's calls on memory, in any thread, also in a handler that has interrupted the engine.
 * They take no lock and allocate nothing. Without --check, and without registered memory, check_freed_near() is false.
 */
#ifndef RUSE_CHECK_FREED_H
#define RUSE_CHECK_FREED_H

#include "base/util.h"
#include "shared/barrier.h"

#define FREED_FRAMES 16

enum freed_how {
	FREED_HEAP,	/* to an allocator, which may hand out the same pages again */
	FREED_UNMAPPED,	/* to the kernel: what is mapped there later is other memory, unless it is shared */
};

/* All registered memory is in [low, high); both 0: there is none. */
extern struct check_freed_span {
	uintptr_t low, high;
} check_freed_all;
/* Entries whose memory is not in use again. */
extern uint32_t check_freed_live;

/* May a part of the memory be registered? */
static inline bool check_freed_near(const void *addr, size_t len)
{
	return unlikely((uintptr_t)addr < READ_ONCE(check_freed_all.high)) &&
	       (uintptr_t)addr + len > READ_ONCE(check_freed_all.low);
}

/* Is a part of the memory registered? */
bool check_freed_wanted(const void *addr, size_t len);
/*
 * The program is about to give the memory back; frame: its stack, innermost first, n of them. Returns what check_freed_end() takes
 * after the call: whether it has been given back. 0: nothing was noted, and nothing is to be told.
 */
uint64_t check_freed_begin(const void *addr, size_t len, enum freed_how how, void *const *frame,
			   uint32_t n);
void check_freed_end(uint64_t call, bool freed);
/* The memory is in use again, also if it was unmapped (mapped: what is there may be what was there). */
void check_freed_taken(const void *addr, size_t len, bool mapped);

#endif
