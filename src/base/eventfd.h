/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_BASE_EVENTFD_H
#define RUSE_BASE_EVENTFD_H

#include <stdbool.h>

/*
 * Is fd an eventfd? For descriptors that another process has sent: a write to a pipe or socket
 * without a reader raises SIGPIPE, and a write to a file on FUSE or NFS may block. Raw system calls.
 */
bool fd_is_eventfd(int fd);

#endif
