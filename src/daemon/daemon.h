/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rused, one per user and network namespace. main.c describes how it works. */
#ifndef RUSE_DAEMON_H
#define RUSE_DAEMON_H

#include <sys/types.h>

#include "daemon/channels.h"
#include "daemon/clients.h"
#include "daemon/devices.h"
#include "fabrics/fabrics.h"
#include "fabrics/client.h"
#include "daemon/faults.h"
#include "gsi/gsi.h"
#include "hostnet/hostnet.h"
#include "daemon/lease.h"
#include "daemon/orphans.h"
#include "loop/loop.h"
#include "daemon/place.h"
#include "daemon/port.h"
#include "daemon/ucma.h"
#include "umads/umads.h"
#include "ipc/ipc.h"
#include "ipc/pages.h"

struct rused {
	struct loop loop;
	char rundir[IPC_RUNDIR_MAX];
	int run;		/* the run directory */
	struct place place;	/* lock, socket and log in the run directory */
	struct loop_fd listen, signals;
	uint64_t netns;
	uint32_t uid;
	ns_t started, idle;	/* idle: time without clients until exit; 0 = never */
	bool drain;		/* exit when the last client has disconnected, even if rused_busy() */
	bool configured;	/* a device was added, deleted or renamed, or a fault rule added: no idle exit */
	uint32_t next_index;	/* device index of the next device */

	struct clients clients;
	struct channels channels;
	int spare;		/* reserve descriptor for refusing a client */
	struct timer idle_timer;

	struct lease_table leases;
	struct port port;
	struct orphans orphans;

	/* counter[i]: sums for host_page.dev[i] over exited processes. shown[i]: the sums last written to sysfs for that device. */
	uint64_t counter[HOST_MAX_DEVS][PROC_COUNTERS];
	uint64_t wire[PROC_WIRES];	/* sum of the UDP socket counters of exited processes, by enum proc_wire */
	uint64_t shown[HOST_MAX_DEVS][PROC_COUNTERS];
	ns_t counters_at;

	struct fault_rules faults;

	struct hostnet net;
	uint64_t stale;		/* devices.c: bit mask of the slots whose state must be read again */
	struct gsi gsi;
	struct ucma_files ucma;
	struct umads umads;
	struct fabrics fabrics;

	struct host_page *page;	/* host page: devices, faults, captures; other processes map it read-only */
	int page_fd;
};

/* rused.c: connects the parts of rused with each other. Call after the host page was created. */
void rused_connect(struct rused *r);
int netlink_open(struct client *c);	/* nlsock.c */
void netlink_close_all(struct client *c);
/* res.c: counters of a device, and of all UDP sockets, summed over all processes including those that have exited. */
void res_counters(struct rused *r, int dev, uint64_t sum[PROC_COUNTERS]);
void res_wire(const struct rused *r, uint64_t sum[PROC_WIRES]);
/* Adds the client's counters to those of exited processes. Call before its page is closed. */
void res_client_gone(struct client *c);
/* Writes hw_counters and the CM's counters to sysfs. */
void res_counters_show(struct rused *r);
struct nldev_res;
/* All objects of all processes, malloc()ed; NULL: none, or no memory. */
struct nldev_res *res_collect(struct rused *r, size_t *n);
/* status.c: the JSON text for IPC_STATUS, malloc()ed; NULL: no memory. */
char *status_text(struct rused *r);
/* host.c: the host page. */
int host_init(struct rused *r);
void host_fini(struct rused *r, bool ours);
/* Descriptor of the directory with the device's sys/: the run directory, or that of its fabric host. */
int host_run(const struct rused *r, const struct host_dev *d);
int host_restore(struct rused *r);	/* creates the sysfs tree in a new run directory */
/* Changes page->dev[slot] and sysfs to *now: a device was added, changed, renamed or (in_use 0) removed. */
void host_publish(struct rused *r, int slot, const struct host_dev *now);
/* Call begin() before and end() after a change of *r->page: readers see all of it or nothing. end() also notifies processes. */
void host_page_begin(struct rused *r);
void host_page_end(struct rused *r, const char *what);
/* captures.c: adds a capture for the client. 0; -EBUSY: it has one; -ENOSPC; -EPROTO: invalid socket name. */
struct ipc_capture;
int capture_start(struct client *c, const struct ipc_capture *q);
void capture_client_gone(struct client *c);
void host_publish_faults(struct rused *r, const struct fault_table *now);

#endif
