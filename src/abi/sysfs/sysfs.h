/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RUN/sys and RUN/dev: the counterparts of /sys/class/infiniband, /sys/class/infiniband_verbs and
 * /dev/infiniband, as real files and symbolic links. Programs see them because libruse.so rewrites
 * paths. Used by rused only. run is a descriptor of the run directory.
 */
#ifndef RUSE_ABI_SYSFS_H
#define RUSE_ABI_SYSFS_H

#include "ipc/pages.h"

/* Create the directories that exist without a device. 0 or -errno. */
int sysfs_init(int run);
/*
 * Update the files of a device. was NULL: a new device; now NULL: the device is gone. Only files
 * whose content differs are written. Each is replaced atomically. 0, or the -errno of the first
 * failure; the rest is still written.
 */
int sysfs_device(int run, const struct host_dev *was, const struct host_dev *now);
/*
 * Create umadN and issmN for a port of device ibdev, or remove them (port 0): class directory, the
 * device's infiniband_mad, /dev/infiniband. The files of the device must exist. 0 or -errno as
 * above.
 */
int sysfs_mad(int run, unsigned int n, const char *ibdev, unsigned int port);
/* Write one counter of the device. name is the path below ports/1. 0 or -errno. */
int sysfs_counter(int run, const char *dev, const char *name, uint64_t value);
/*
 * The same for a counter of the CM. group is the directory (cm_tx_msgs, cm_tx_retries, cm_rx_msgs,
 * cm_rx_duplicates), msg the message in the order of the attribute ids, from REQ on.
 */
#define SYSFS_CM_GROUPS 4
#define SYSFS_CM_MSGS 11
int sysfs_cm_counter(int run, const char *dev, unsigned int group, unsigned int msg,
		     uint64_t value);
/* Remove both trees. It is not an error if they are missing. */
void sysfs_remove(int run);

#endif
