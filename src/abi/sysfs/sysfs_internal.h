/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/abi/sysfs: functions that write files and directories of the simulated sysfs. */
#ifndef RUSE_ABI_SYSFS_INTERNAL_H
#define RUSE_ABI_SYSFS_INTERNAL_H

#include <stddef.h>
#include "core/like_shown.h"
#include "ipc/pages.h"

#define TREE_TEXT_MAX 128
/* Directory of a device, by its name. */
#define DEV_DIR "sys/devices/virtual/infiniband/%s"

/* Replace dir/path by a file with this text, atomically. 0 or -errno. */
int tree_put(int dir, const char *path, const char *text);
/* Replace dir/path by a hard link to dir/from. 0 or -errno. */
int tree_link(int dir, const char *from, const char *path);
/* Like mkdir -p. 0 or -errno. */
int tree_mkdir(int dir, const char *path);
/* Like rm -rf: follows no links, ignores errors. Goes at most 17 directories deep. */
void tree_remove(int dir, const char *path);

/* Print into the array p, and cut what does not fit. */
void __printf(3, 4) tree_path(char *p, size_t size, const char *fmt, ...);
#define PATH_OF(p, ...) tree_path((p), sizeof(p), __VA_ARGS__)

/* Keep the first error of several calls in *first. */
static inline void tree_first_error(int *first, int rc)
{
	if (rc && !*first)
		*first = rc;
}

/* attrs_ib.c: write the attribute files that differ from those of *was. was NULL: all. 0 or -errno. */
int sysfs_put_attrs(int run, const struct host_dev *was, const struct host_dev *now,
		    const struct like_shown *like);
/* cm_counters.c: create the counters of a new device, all 0. 0 or -errno. */
int sysfs_cm_counters(int run, const char *dev);

#endif
