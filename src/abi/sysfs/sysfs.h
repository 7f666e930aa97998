/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RUN/sys and RUN/dev: the counterparts of /sys/class/infiniband, infiniband_verbs, infiniband_mad,
 * /sys/class/misc/rdma_cm and /dev/infiniband, as regular files and symbolic links. Programs see them
 * because libruse.so rewrites paths. The files of devices in RUN/dev are empty: libruse.so handles
 * open() of them itself.
 *
 * Called by rused only. These functions keep no state in memory. run is a descriptor of the directory
 * RUN and belongs to the caller. It is the run directory of rused, or one of the directories that
 * rused has for the hosts of a simulated InfiniBand fabric. Errors are those of the file system.
 */
#ifndef RUSE_ABI_SYSFS_H
#define RUSE_ABI_SYSFS_H

#include "core/like_shown.h"
#include "ipc/pages.h"

/* Create the directories that exist without a device. 0 or -errno. */
int sysfs_init(int run);
/*
 * Update the files of a device whose attributes change from *was to *now. `was` is NULL for a new
 * device; `now` is NULL for a device that is removed. Only files whose content differs are written,
 * each atomically: a reader sees the old text or the new one. Returns the -errno of the first failure,
 * or 0; after a failure the other files are still written. A removal ignores errors and returns 0.
 * like: its counters and identity, the same for all calls; of a fabric's device only hw_counters.
 */
int sysfs_device(int run, const struct host_dev *was, const struct host_dev *now,
		 const struct like_shown *like);
/*
 * Create the files of umadN and issmN, where N is n, for a port of device ibdev. sysfs_device() must
 * have created the device. Each of the two gets a directory below devices/virtual, a link in
 * class/infiniband_mad, a link in the directory infiniband_mad of the device, and a file in RUN/dev.
 * Returns 0 or -errno like sysfs_device(). If port is 0, the files are removed instead, except for the
 * links in the directory of the device, which sysfs_device() removes with the device.
 */
int sysfs_mad(int run, unsigned int n, const char *ibdev, unsigned int port);
/* Write one counter of the device dev. name is the file's path below ports/1. 0 or -errno. */
int sysfs_counter(int run, const char *dev, const char *name, uint64_t value);
/*
 * Write one counter of the CM. group: index of its directory, in the order cm_tx_msgs, cm_tx_retries,
 * cm_rx_msgs, cm_rx_duplicates. msg: attribute id of the message minus that of REQ. group must be below
 * SYSFS_CM_GROUPS and msg below SYSFS_CM_MSGS; this is not checked. 0 or -errno.
 */
#define SYSFS_CM_GROUPS 4
#define SYSFS_CM_MSGS 11
int sysfs_cm_counter(int run, const char *dev, unsigned int group, unsigned int msg,
		     uint64_t value);
/* Remove RUN/sys and RUN/dev. It is not an error if they are missing. */
void sysfs_remove(int run);

#endif
