/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory shared between processes. If a mapped file shrinks, access to the mapping raises
 * SIGBUS. Therefore memfd_map() maps only memfds that are sealed against shrinking. The memfds that
 * memfd_sealed() and memfd_new() create are also sealed against growing, so memfd_grow() fails on them.
 */
#ifndef RUSE_BASE_MEMFD_H
#define RUSE_BASE_MEMFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest size in bytes that a file of this process may get: RLIMIT_FSIZE, which applies to memfds. */
uint64_t memfd_limit(void);
/*
 * Grows fd to this size in bytes. -EFBIG: RLIMIT_FSIZE is smaller, which is logged once; the
 * kernel's own check would kill the process with SIGXFSZ.
 */
int memfd_grow(int fd, uint64_t size);
/* Creates a zeroed memfd of fixed size in bytes. Returns the close-on-exec descriptor or -errno. */
int memfd_sealed(const char *name, size_t size);
/* 0 if fd is a memfd of at least this size, sealed against shrinking; else -EPROTO. */
int memfd_check(int fd, size_t size);
/*
 * Maps len bytes of fd from offset off on, a multiple of PAGE, shared. The file may be shorter. mlockall(MCL_FUTURE) neither
 * locks nor populates the mapping, and of RLIMIT_MEMLOCK one page must be left for a moment. It is in no core dump. The
 * address or -errno.
 */
long memfd_map_unlocked(int fd, uint64_t off, size_t len, bool write);
/* The same of a file that passes memfd_check(). NULL: failure. */
void *memfd_map_at(int fd, uint64_t off, size_t len, bool write);
/* The same from offset 0 on. */
void *memfd_map(int fd, size_t size, bool write);
/* Creates and maps a memfd, writable. The caller closes *fd. NULL: failure, *fd is -errno. */
void *memfd_new(const char *name, size_t size, int *fd);
/*
 * A mapped table of which only the beginning is accessible: `open` bytes. So mlockall(MCL_CURRENT) makes no pages for the
 * rest. The functions return 0 or -errno. A table of zeros is not mapped, and may be unmapped.
 */
struct memfd_table {
	void *at;
	size_t len, open;
	bool write;
};
/* Maps len bytes of fd from offset off on, multiples of PAGE. The file may be shorter. */
int memfd_table_map(struct memfd_table *t, int fd, uint64_t off, size_t len, bool write);
/* Makes bytes accessible: `need` or more, at most len. */
int memfd_table_open(struct memfd_table *t, size_t need);
void memfd_table_unmap(struct memfd_table *t);
/* p may be NULL. */
void memfd_unmap(const void *p, size_t size);

#endif
