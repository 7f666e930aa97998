/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_BASE_EVENTFD_H
#define RUSE_BASE_EVENTFD_H

#include <stdbool.h>

/*
 * True if fd is an eventfd. To be checked before a write to a descriptor that another process has
 * sent: a write to a pipe or socket without a reader raises SIGPIPE, and a write to a file on FUSE or
 * NFS may block. Uses raw system calls.
 */
bool fd_is_eventfd(int fd);

#endif
