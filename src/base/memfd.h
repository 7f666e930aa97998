/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory that processes share. A mapping of a file that its owner can shrink is a
 * SIGBUS in waiting: what is given to others is sealed, and nothing is mapped that is not.
 */
#ifndef RUSE_BASE_MEMFD_H
#define RUSE_BASE_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

/* A memfd of this many bytes, all zero, whose size stays: descriptor, close-on-exec, or -errno. */
int memfd_sealed(const char *name, size_t size);
/* Is fd a memfd, sealed against shrinking, of at least this size? 0 or -EPROTO. */
int memfd_check(int fd, size_t size);
/* What passes memfd_check(), shared. NULL on failure. */
void *memfd_map(int fd, size_t size, bool write);
/* A new one, mapped and writable; *fd is the caller's to close. NULL: *fd is the -errno. */
void *memfd_new(const char *name, size_t size, int *fd);
/* NULL is fine. */
void memfd_unmap(const void *p, size_t size);

#endif
