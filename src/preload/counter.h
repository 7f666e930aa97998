/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors of counter files. sysfs computes a counter at each read from offset 0. rused, however,
 * updates a counter by renaming a new file over the old one, and an open descriptor would still read
 * the old file. Therefore a read from offset 0 asks rused to update the files and opens the path
 * again. libc reads streams by calls that cannot be interposed, so a stream of a counter gets functions
 * of its own (fopencookie(3)).
 *
 * What is opened decides whether it is a counter, not the path: the program may have found the file by
 * realpath(), by a relative path or from an open directory.
 */
#ifndef RUSE_PRELOAD_COUNTER_H
#define RUSE_PRELOAD_COUNTER_H

#include <stdio.h>
#include "preload/preload.h"

/* Call once, before main(). */
void counter_begin(void);
/*
 * After the open of fd for reading. If it is a counter, lets fd refer to the newest file, for readers that are not
 * interposed (a program after exec), and registers it. Without memory fd stays a plain file: reads return the value at
 * the time of open().
 */
void counter_opened(int fd);
/* Is the open file fd a counter? By what it is, registered or not. */
bool counter_is(int fd);
/* A new stream for fd, which is registered as a counter. NULL: fd is not, or there is no memory, and fd is unchanged. */
FILE *counter_stream(int fd);
/* read(2), or with at >= 0 pread(2): the length or -errno. */
ssize_t counter_read(struct vfile *vf, int fd, void *buf, size_t count, off_t at);

#endif
