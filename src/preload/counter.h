/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors of counter files. sysfs computes a counter at each read from offset 0. Here rused
 * renames a new file over the old one, of which a descriptor that stays open would see nothing:
 * such a read asks rused to bring the files up to date and opens the path again.
 */
#ifndef RUSE_PRELOAD_COUNTER_H
#define RUSE_PRELOAD_COUNTER_H

#include "preload/preload.h"

/* Is this path below the run directory that of a counter? */
bool counter_path(const char *path);
/* Registers fd, which path has been opened at. Without memory it stays an ordinary file. */
void counter_install(int fd, const char *path);
/* read(2), or with at >= 0 pread(2): the length or -errno. */
ssize_t counter_read(struct vfile *vf, int fd, void *buf, size_t count, off_t at);

#endif
