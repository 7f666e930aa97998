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
 * Update the files of a device whose attributes change from *was to *now. `was` is NULL for a new
 * device; `now` is NULL for a device that is removed. Only files whose content differs are written,
 * each atomically. Returns 0 or the -errno of the first failure, after which the other files are
 * still written.
 */
int sysfs_device(int run, const struct host_dev *was, const struct host_dev *now);
/*
 * Create the files of umadN and issmN for a port of device ibdev (port 0: remove them). They are in
 * the class directory, in the device's infiniband_mad and in /dev/infiniband. sysfs_device() must
 * have created the device. 0 or -errno as above.
 */
int sysfs_mad(int run, unsigned int n, const char *ibdev, unsigned int port);
/* Write one counter of the device. name is the path below ports/1. 0 or -errno. */
int sysfs_counter(int run, const char *dev, const char *name, uint64_t value);
/*
 * The same for a counter of the CM. group: index of its directory, in the order cm_tx_msgs,
 * cm_tx_retries, cm_rx_msgs, cm_rx_duplicates. msg: attribute id of the message minus that of REQ.
 */
#define SYSFS_CM_GROUPS 4
#define SYSFS_CM_MSGS 11
int sysfs_cm_counter(int run, const char *dev, unsigned int group, unsigned int msg,
		     uint64_t value);
/* Remove RUN/sys and RUN/dev. It is not an error if they are missing. */
void sysfs_remove(int run);

#endif
