/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/abi/sysfs: functions that write files and directories of the simulated sysfs. */
#ifndef RUSE_ABI_SYSFS_INTERNAL_H
#define RUSE_ABI_SYSFS_INTERNAL_H

#include <stddef.h>

/* Replace dir/path by a file with this text, atomically. 0 or -errno. */
int tree_put(int dir, const char *path, const char *text);
/* Replace dir/path by a hard link to dir/from. 0 or -errno. */
int tree_link(int dir, const char *from, const char *path);
/* Like mkdir -p. 0 or -errno. */
int tree_mkdir(int dir, const char *path);
/* Like rm -rf: follows no links, ignores errors. Goes at most 17 directories deep. */
void tree_remove(int dir, const char *path);

/* cm_counters.c: create the counters of a new device, all 0. 0 or -errno. */
int sysfs_cm_counters(int run, const char *dev);

#endif
