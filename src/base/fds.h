/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors where a seccomp filter refuses a call or one of its flags: each tries the call as it
 * is, then without the flags, then the call's older form, and sets the flags by fcntl(). Between
 * the two a fork and exec by another thread may inherit the descriptor. All return -errno.
 */
#ifndef RUSE_BASE_FDS_H
#define RUSE_BASE_FDS_H

#include <stdbool.h>
#include <stdint.h>

/* Is this how a filter, or a kernel without the call, refuses? */
bool fds_refused(long rc);
/* eventfd(2). Nothing takes the place of EFD_SEMAPHORE. */
int fds_event(uint32_t count, int flags);
/* memfd_create(2). Nothing takes the place of MFD_ALLOW_SEALING. */
int fds_memory(const char *name, unsigned int flags);
/* accept4(2); the peer's address is not told. */
int fds_accept(int listener, int flags);
/* socketpair(2) of AF_UNIX; type with flags. 0 or -errno. */
int fds_pair(int type, int sv[2]);

#endif
