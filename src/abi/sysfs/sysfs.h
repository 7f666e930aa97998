/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RUN/sys and RUN/dev: what /sys/class/infiniband, /sys/class/infiniband_verbs
 * and /dev/infiniband are in the kernel, as real files, symbolic links included.
 * Programs see them through the preload's path rewriting. For rused only.
 */
#ifndef RUSE_ABI_SYSFS_H
#define RUSE_ABI_SYSFS_H

#include "ipc/pages.h"

/* Makes the directories that are there without a device. run: the run directory. 0 or -errno. */
int sysfs_init(int run);
/*
 * Brings one device's files up to date: was NULL = new device, now NULL = it is
 * gone. Readers find each file either old or new, never half. Only what differs
 * is written. 0 or -errno (of the first failure; the rest is still tried).
 */
int sysfs_device(int run, const struct host_dev *was, const struct host_dev *now);
/*
 * umadN and issmN for port `port` of device ibdev, whose files are there, or, with port 0, no
 * longer: the class directory, the device's infiniband_mad, /dev/infiniband. 0 or -errno as above.
 */
int sysfs_mad(int run, unsigned int n, const char *ibdev, unsigned int port);
/* Writes one counter of this device, by its path below ports/1. 0 or -errno. */
int sysfs_counter(int run, const char *dev, const char *name, uint64_t value);
/*
 * The same for what the CM counts: group is the directory (cm_tx_msgs, cm_tx_retries, cm_rx_msgs,
 * cm_rx_duplicates), msg the message, from REQ on by its attribute id.
 */
#define SYSFS_CM_GROUPS 4
#define SYSFS_CM_MSGS 11
int sysfs_cm_counter(int run, const char *dev, unsigned int group, unsigned int msg,
		     uint64_t value);
/* Removes both trees. Missing ones are no error. */
void sysfs_remove(int run);

#endif
