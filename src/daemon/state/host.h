/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host page, which all processes map, and the sysfs tree, with the counters of the devices. */
#ifndef RUSE_DAEMON_STATE_HOST_H
#define RUSE_DAEMON_STATE_HOST_H

#include "core/like.h"
#include "core/like_shown.h"
#include "ipc/pages.h"

/* What else changes with a device. */
struct host_ops {
	/* page->dev[slot] was added, but is not in sysfs yet; it is about to be removed. */
	void (*added)(void *ctx, unsigned int slot);
	void (*removed)(void *ctx, unsigned int slot);
	/* The hardware address of the interface has changed. */
	void (*addr_changed)(void *ctx, uint32_t ifindex);
	/* The device was added to sysfs, or renamed there. */
	void (*shown)(void *ctx, unsigned int slot, bool renamed);
	/* The page has changed: wakes the processes. what: for the log. */
	void (*notify)(void *ctx, const char *what);
	/* Descriptor of the directory of a fabric host, numbered as in host_ib.host. */
	int (*run)(void *ctx, uint32_t host);
};

struct host {
	const struct host_ops *ops;	/* set by the owner, as ctx */
	void *ctx;
	int run;			/* the run directory */
	struct host_page *page;		/* devices, faults, captures; other processes map it read-only */
	int page_fd;
	uint32_t next_index;		/* device index of the next device */
	uint8_t why[HOST_MAX_DEVS];	/* enum choice_why of page->dev[] */
	bool configured;	/* a device was added, deleted or renamed, or a fault rule added: no idle exit */

	/* counter[i]: sums for page->dev[i] over exited processes. */
	uint64_t counter[HOST_MAX_DEVS][PROC_COUNTERS];
	uint64_t wire[PROC_WIRES];	/* sum of the UDP socket counters of exited processes, by enum proc_wire */
	const struct like *like;	/* the limits of all devices; like_default at first */
	const struct like_shown *shown_like;	/* the counters and the identity of all devices; like_shown_default at first */
	uint64_t shown[HOST_MAX_DEVS][LIKE_DIRS][LIKE_MAX_SHOWN];	/* the values last written to sysfs for page->dev[i] */
	ns_t counters_at;
};

/* Creates the page, and the sysfs tree in the run directory. rundir: for the log. 0 or -errno. */
int host_init(struct host *h, int run, const char *rundir);
void host_fini(struct host *h, bool ours);
/* Descriptor of the directory with the device's sys/: the run directory, or that of its fabric host. */
int host_run(const struct host *h, const struct host_dev *d);
/* Creates the devices in a new sysfs tree. 0 or -errno. */
int host_restore(struct host *h);
/* The device of this name on an interface or of a fabric, or NULL. */
const struct host_dev *host_page_dev(const struct host_page *page, const char *name);
/* Changes page->dev[slot] and sysfs to *now: a device was added, changed, renamed or (in_use 0) removed. */
void host_publish(struct host *h, int slot, const struct host_dev *now);
/* Call begin() before and end() after a change of the page: readers see all of it or nothing. end() also notifies processes. */
void host_page_begin(struct host *h);
void host_page_end(struct host *h, const char *what);
void host_publish_faults(struct host *h, const struct fault_table *now);
/* Publishes an event for the processes to raise. Sets and returns ev->number. */
uint32_t host_publish_event(struct host *h, struct host_event *ev);

#endif
