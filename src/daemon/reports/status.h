/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of rused, for `ruse status`. */
#ifndef RUSE_DAEMON_REPORTS_STATUS_H
#define RUSE_DAEMON_REPORTS_STATUS_H

#include "base/util.h"

struct devices;
struct explain;
struct fabrics;
struct host;
struct lease_table;
struct port;
struct processes;

/* What it tells of. Set by the owner. */
struct status {
	const char *rundir;
	uint64_t netns;
	ns_t started;
	const struct host *host;
	const struct devices *devices;
	const struct port *port;
	const struct lease_table *leases;
	const struct processes *processes;
	const struct fabrics *fabrics;
	const struct explain *explain;
};

/* The answer to IPC_STATUS, malloc()ed; NULL: no memory. doc/json.md lists its members. */
char *status_text(const struct status *s, ns_t now);

#endif
