/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Figures of devices and processes, for the answers to IPC_STATUS and IPC_RUN. */
#ifndef RUSE_DAEMON_REPORTS_COUNTS_H
#define RUSE_DAEMON_REPORTS_COUNTS_H

#include <stdint.h>

#include "core/counters.h"

struct host;
struct json_object;
struct processes;

/* "traffic": a row for each link and operation with messages; of both the messages and their bytes. */
struct json_object *counts_traffic(const uint64_t n[TRAFFIC_LINKS][TRAFFIC_OPS][2]);
/* Adds "counters", "traffic" and "qps" of the device in a slot of the host page. */
void counts_device(struct json_object *device, const struct host *h, const struct processes *ps,
		   int dev);
/* Bytes of rused's memory that are in RAM; 0: not known. */
uint64_t counts_memory(void);

#endif
