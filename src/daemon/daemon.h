/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rused, one per user and network namespace. main.c describes how it works.
 *
 * Its parts are rooms below daemon/: life (run directory, socket, cgroup) and state (processes,
 * devices, UDP port, leases) include no other; reports (status, explain, stuck, objects) state;
 * files (rdma_cm, netlink) and faults (`ruse fault`) state and reports. What is above a part it gets as
 * functions. struct rused is for daemon/ itself: it connects them (parts.c), has the processes'
 * connections (clients.c, channels.c) and handles their messages (dispatch.c).
 */
#ifndef RUSE_DAEMON_H
#define RUSE_DAEMON_H

#include <sys/types.h>

#include "daemon/channels.h"
#include "daemon/clients.h"
#include "daemon/faults/faults.h"
#include "daemon/files/nlsock.h"
#include "daemon/files/cmfile.h"
#include "daemon/life/cgroup.h"
#include "daemon/life/leftovers.h"
#include "daemon/life/listener.h"
#include "daemon/life/place.h"
#include "daemon/reports/blame.h"
#include "daemon/reports/explain.h"
#include "daemon/reports/res.h"
#include "daemon/reports/runs.h"
#include "daemon/reports/status.h"
#include "daemon/reports/stuck.h"
#include "daemon/state/captures.h"
#include "daemon/state/devices.h"
#include "daemon/state/holds.h"
#include "daemon/state/host.h"
#include "daemon/state/lease.h"
#include "daemon/state/orphans.h"
#include "daemon/state/port.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "fabrics/fabrics.h"
#include "gsi/gsi.h"
#include "hostnet/hostnet.h"
#include "ipc/ipc.h"
#include "ipc/pages.h"
#include "loop/loop.h"
#include "umads/umads.h"

struct rused {
	struct loop loop;
	struct place place;	/* the run directory: lock, socket and log */
	struct cgroup cgroup;
	struct listener listener;
	struct loop_fd signals;
	ns_t idle;		/* time without clients until exit; 0 = never */
	bool drain;		/* exit when the last client has disconnected, even if rused_busy() */

	struct processes processes;
	struct channels channels;
	int spare;		/* reserve descriptor for refusing a client */
	struct timer idle_timer;

	struct lease_table leases;
	struct port port;
	struct orphans orphans;

	struct status status;
	struct explain explain;
	struct stuck stuck;
	struct runs runs;
	struct blame blame;
	struct host host;
	struct holds holds;
	struct nlsocks nlsocks;

	struct fault_rules faults;

	struct hostnet net;
	struct devices devices;
	struct gsi gsi;
	struct cmfiles ucma;
	struct umads umads;
	struct fabrics fabrics;
};

/* parts.c: connects the parts of rused with each other. Call after the host page was created. */
void rused_connect(struct rused *r);
/* parts.c: what life/leftovers.c asks about the run directory of a killed rused. */
extern const struct leftovers_ops rused_leftovers_ops;
/* struct port.opened: processes that got no UDP socket with their lease ask again. */
void rused_port_opened(struct port *p);

#endif
