/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guarded copies to and from the program's memory. That memory is not pinned, so the
 * program may unmap it at any time. A copy that faults stops and returns -EFAULT.
 *
 * A table lists every instruction that accesses such memory and the address to resume at
 * after a fault (as the kernel's __ex_table). The SIGSEGV and SIGBUS handler of preload/
 * calls umem_fix_fault(), which looks the faulting instruction up. Tests use
 * test_fault_handler() of core/testing.h.
 *
 * Placement order: programs poll the last byte of a message. Therefore no byte of a copy
 * becomes visible after its last byte, and an aligned 8-byte copy is one store.
 */
#ifndef RUSE_CORE_UMEM_H
#define RUSE_CORE_UMEM_H

#include <signal.h>
#include <sys/uio.h>
#include "base/util.h"

/* Copies len bytes. 0 or -EFAULT: then an unknown part of dst has been written. */
int umem_copy(void *dst, const void *src, size_t len);

/*
 * Like umem_copy(), but may make the last byte visible before others, so dst must not be the program's memory.
 * Updates *crc (wire/crc.h) with the bytes copied; after an error *crc is undefined.
 */
int umem_copy_crc(void *dst, const void *src, size_t len, uint32_t *crc);

/*
 * Copies len bytes from offset off of the source list to offset doff of the destination
 * list. 0, -EFAULT, or -EINVAL if a list is too short; then a part may have been copied.
 */
int umem_copy_iov(const struct iovec *dst, int ndst, uint64_t doff,
		  const struct iovec *src, int nsrc, uint64_t off, uint64_t len);

/*
 * Atomics on an aligned 8-byte word of the program's memory. *orig is the value before. 0, or
 * -EFAULT: a fault, or p is not aligned.
 */
int umem_cmp_swp(uint64_t *p, uint64_t compare, uint64_t swap, uint64_t *orig);
int umem_fetch_add(uint64_t *p, uint64_t add, uint64_t *orig);
/* Stores an aligned 8-byte word with release order. 0 or -EFAULT. */
int umem_store64(uint64_t *p, uint64_t v);

/*
 * For signal handlers; uc is their ucontext_t. True if a guarded instruction has faulted: then
 * uc is changed to resume after it.
 */
bool umem_fix_fault(void *uc);
#endif
