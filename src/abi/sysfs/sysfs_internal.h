/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of this room. */
#ifndef RUSE_ABI_SYSFS_INTERNAL_H
#define RUSE_ABI_SYSFS_INTERNAL_H

#include <stddef.h>

/* Replaces dir/path by a file with this text, atomically. 0 or -errno. */
int tree_put(int dir, const char *path, const char *text);
/* Replaces dir/path by another name of dir/from. 0 or -errno. */
int tree_link(int dir, const char *from, const char *path);
/* mkdir -p. 0 or -errno. */
int tree_mkdir(int dir, const char *path);
/* rm -rf that follows no link. A missing path is no error. */
void tree_remove(int dir, const char *path);

/* cm_counters.c: all of a new device, 0. */
int sysfs_cm_counters(int run, const char *dev);

#endif
