/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors of counter files. sysfs computes a counter at each read from offset 0. rused, however,
 * updates a counter by renaming a new file over the old one, and an open descriptor would still read
 * the old file. Therefore a read from offset 0 asks rused to update the files and opens the path
 * again.
 */
#ifndef RUSE_PRELOAD_COUNTER_H
#define RUSE_PRELOAD_COUNTER_H

#include "preload/preload.h"

/* True if the path, which is below the run directory, is that of a counter file. */
bool counter_path(const char *path);
/* Registers fd, the descriptor of path. Without memory fd stays a plain file: reads return the value at the time of open(). */
void counter_install(int fd, const char *path);
/* read(2), or with at >= 0 pread(2): the length or -errno. */
ssize_t counter_read(struct vfile *vf, int fd, void *buf, size_t count, off_t at);

#endif
