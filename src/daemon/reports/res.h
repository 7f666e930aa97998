/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects and counters of the processes. */
#ifndef RUSE_DAEMON_REPORTS_RES_H
#define RUSE_DAEMON_REPORTS_RES_H

#include <stddef.h>
#include "core/like_shown.h"
#include "core/objects.h"
#include "ipc/pages.h"
#include "ipc/res.h"

struct process;
struct processes;
struct gsi;
struct host;
struct nldev_res;

/* Counters of a device, and of all UDP sockets, summed over all processes including those that have exited. */
void res_counters(const struct host *h, const struct processes *ps, int dev,
		  uint64_t sum[PROC_COUNTERS]);
void res_wire(const struct host *h, const struct processes *ps, uint64_t sum[PROC_WIRES]);
/* The values of a directory of counters of a device, as h->shown_like has them. */
void res_values(const struct host *h, const struct processes *ps, int dev, enum like_dir dir,
		uint64_t value[LIKE_MAX_SHOWN]);
/* Adds the process's counters to those of exited processes. Call before its page is closed. */
void res_process_gone(struct host *h, const struct process *pr);
/* Writes the counters of the devices and of the CM to sysfs. */
void res_counters_show(struct host *h, const struct processes *ps, struct gsi *g, ns_t now);
/* The memory regions of a process whose memory is of one kind (enum mr_memory). */
struct res_mrs {
	uint64_t mrs, bytes;
};

/* Counts the process's memory regions by the kind of their memory. */
void res_count_mrs(const struct process *pr, struct res_mrs count[MR_MEMORIES]);
/*
 * Calls fn for each object of the process, until it returns false. The result is that of the last call; true: there is no object.
 * kind is that of an object of a process.
 */
bool res_each(const struct process *pr, void *arg,
	      bool (*fn)(void *arg, const struct process *pr, uint32_t slot,
			 const struct res_rec *rec));
/* True if the process has a QP with this number. */
bool res_has_qp(const struct process *pr, uint64_t qpn);
/* All objects of all processes, malloc()ed; NULL: none, or no memory. */
struct nldev_res *res_collect(struct processes *ps, size_t *n);

#endif
