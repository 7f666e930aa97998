/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rused, one per user and network namespace. main.c describes how it works. */
#ifndef RUSE_DAEMON_H
#define RUSE_DAEMON_H

#include <sys/types.h>

#include "daemon/captures.h"
#include "daemon/cgroup.h"
#include "daemon/channels.h"
#include "daemon/clients.h"
#include "daemon/devices.h"
#include "daemon/explain.h"
#include "daemon/faults.h"
#include "daemon/host.h"
#include "daemon/lease.h"
#include "daemon/nlsock.h"
#include "daemon/orphans.h"
#include "daemon/place.h"
#include "daemon/port.h"
#include "daemon/res.h"
#include "daemon/ucma.h"
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
	struct loop_fd listen, signals;
	int given;		/* listening socket of the service manager, of which listen.fd is a copy; -1: none */
	ns_t started, idle;	/* idle: time without clients until exit; 0 = never */
	bool drain;		/* exit when the last client has disconnected, even if rused_busy() */

	struct clients clients;
	struct channels channels;
	int spare;		/* reserve descriptor for refusing a client */
	struct timer idle_timer;

	struct lease_table leases;
	struct port port;
	struct orphans orphans;

	struct explain explain;
	struct host host;
	struct nlsocks nlsocks;

	struct fault_rules faults;

	struct hostnet net;
	struct devices devices;
	struct gsi gsi;
	struct ucma_files ucma;
	struct umads umads;
	struct fabrics fabrics;
};

/* rused.c: connects the parts of rused with each other. Call after the host page was created. */
void rused_connect(struct rused *r);
/* struct port.opened: processes that got no UDP socket with their lease ask again. */
void rused_port_opened(struct port *p);
/* status.c: the JSON text for IPC_STATUS, malloc()ed; NULL: no memory. */
char *status_text(struct rused *r);

#endif
