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

	struct list_head clients;
	struct list_head channels;	/* clients being polled, by channel.node */
	uint32_t nclients, next_proc, next_place;
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

struct client {
	struct list_head node;
	struct rused *r;
	struct loop_fd sock, pidfd;
	pid_t pid;		/* from SO_PEERCRED; 0 = the process is not in a PID namespace that rused sees */
	uid_t uid;
	bool hello, dead;
	uint32_t proc;		/* 0 = ruse */
	char comm[16], sock_name[32];
	int page_fd;		/* memfd of its process page (struct proc_page); -1: none */
	uint32_t place;		/* number of this client in resource ids (RES_ID), unrelated to struct place; 0: none yet */
	int notify_fd;		/* socket: a message is sent after each change of the host page; -1 = none */
	uint32_t nctx[HOST_MAX_DEVS];
	struct list_head netlink;
	uint32_t nnetlink;
	char *out;		/* rest of an answer that the socket had no room for */
	size_t out_len, out_at;
	uint32_t out_seq;
	uint32_t capture;	/* id of its capture in the host page; 0: it has none */
	uint16_t out_type;
	struct fabric_client fabric;
	struct channel channel;
};

/* dispatch.c: handles one message of a client and takes over the fds. After -errno the caller closes the client. */
int client_message(struct client *c, const struct ipc_hdr *h, const void *body, size_t len,
		   int *fds, int nfds);
/* Like client_message(), for a message from the queue of the client's channel, which gets no answer and carries no fds. */
int client_posted(struct client *c, const struct ipc_hdr *h, const void *body, size_t len);
/* Copies the client's process page. 0 or -errno. */
int client_page(const struct client *c, struct proc_page *copy);
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
/* Sets up r->fabrics, without a fabric. */
void host_fabrics_init(struct rused *r);
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
