/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects and counters of the processes. */
#ifndef RUSE_DAEMON_RES_H
#define RUSE_DAEMON_RES_H

#include <stddef.h>
#include "core/objects.h"
#include "ipc/pages.h"

struct client;
struct clients;
struct gsi;
struct host;
struct nldev_res;

/* Counters of a device, and of all UDP sockets, summed over all processes including those that have exited. */
void res_counters(const struct host *h, const struct clients *cs, int dev,
		  uint64_t sum[PROC_COUNTERS]);
void res_wire(const struct host *h, const struct clients *cs, uint64_t sum[PROC_WIRES]);
/* Adds the client's counters to those of exited processes. Call before its page is closed. */
void res_client_gone(struct host *h, const struct client *c);
/* Writes hw_counters and the CM's counters to sysfs. */
void res_counters_show(struct host *h, const struct clients *cs, struct gsi *g, ns_t now);
/* The memory regions of a process whose memory is of one kind (enum mr_memory). */
struct res_mrs {
	uint64_t mrs, bytes;
};

/* Counts the client's memory regions by the kind of their memory. */
void res_count_mrs(const struct client *c, struct res_mrs count[MR_MEMORIES]);
/* All objects of all processes, malloc()ed; NULL: none, or no memory. */
struct nldev_res *res_collect(struct clients *cs, size_t *n);

#endif
