/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies to and from the program's memory, which may vanish at any time: the
 * kernel pins pages, we do not. A copy that faults stops and says so.
 *
 * Every instruction that touches such memory stands in a table with the place
 * to resume at (the kernel's __ex_table); a SIGSEGV or SIGBUS handler that
 * finds the program counter there resumes at that place. The handler belongs
 * to preload/ (tests use umem_test_handler()).
 *
 * Placement order: data becomes visible in ascending order and the last
 * aligned 8-byte word of a copy is stored last, with release; an aligned
 * 8-byte copy is one store. Programs poll the last byte of a message.
 */
#ifndef RUSE_CORE_UMEM_H
#define RUSE_CORE_UMEM_H

#include <signal.h>
#include <sys/uio.h>
#include "base/util.h"

/* 0 or -EFAULT; after a fault an unknown prefix has been written. */
int umem_copy(void *dst, const void *src, size_t len);

/*
 * The same to memory that is ours, in no order, and *crc, of what comes before
 * (wire/crc.h), goes on over what was copied; after a fault it means nothing.
 */
int umem_copy_crc(void *dst, const void *src, size_t len, uint32_t *crc);

/*
 * Copies len bytes from byte off of the source list to byte doff of the
 * destination list. 0, -EFAULT, or -EINVAL when a list is too short.
 */
int umem_copy_iov(const struct iovec *dst, int ndst, uint64_t doff,
		  const struct iovec *src, int nsrc, uint64_t off, uint64_t len);

/* Atomics on an aligned 8-byte word of user memory; *orig gets the former value. 0 or -EFAULT (also when not aligned). */
int umem_cmp_swp(uint64_t *p, uint64_t compare, uint64_t swap, uint64_t *orig);
int umem_fetch_add(uint64_t *p, uint64_t add, uint64_t *orig);
/* Aligned 8-byte store with release. 0 or -EFAULT. */
int umem_store64(uint64_t *p, uint64_t v);

/*
 * Looks which of its ways to copy a packet's payload is the quicker one here: where the processor
 * is emulated, its string copy may take six times as long as moves. now: a clock.
 */
void umem_tune(ns_t (*now)(void));

/* For a signal handler: true when the fault was one of ours and uc now resumes behind it. */
bool umem_fix_fault(void *uc);
/*
 * Installs a SIGSEGV/SIGBUS handler that only knows us: for tests and fuzzers.
 * cmocka has its own while a test runs, so call it in the test.
 */
void umem_test_handler(void);

#endif
