/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of a port's CM: messages sent and received, by type (ports/1/cm_tx_msgs and others).
 */
#include <stdio.h>
#include "base/util.h"
#include "abi/sysfs/sysfs.h"
#include "abi/sysfs/sysfs_internal.h"

static const char *const groups[SYSFS_CM_GROUPS] = { "cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs",
						     "cm_rx_duplicates" };
static const char *const msgs[SYSFS_CM_MSGS] = { "req", "mra", "rej", "rep", "rtu", "dreq",
						 "drep", "sidr_req", "sidr_rep", "lap", "apr" };

int sysfs_cm_counter(int run, const char *dev, unsigned int group, unsigned int msg,
		     uint64_t value)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%s", groups[group], msgs[msg]);
	return sysfs_counter(run, dev, name, value);
}

int sysfs_cm_counters(int run, const char *dev)
{
	int first = 0;

	for (unsigned int g = 0; g < SYSFS_CM_GROUPS; g++)
		for (unsigned int m = 0; m < SYSFS_CM_MSGS; m++) {
			int rc = sysfs_cm_counter(run, dev, g, m, 0);

			if (!first)
				first = rc;
		}
	return first;
}
