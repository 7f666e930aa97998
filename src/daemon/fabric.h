/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The InfiniBand fabric of this rused (fabric/fabric.h), and its hosts as their programs see them.
 * A host gets devices, a sys/ and a dev/ when a program first runs on it; until then it is only an
 * HCA with its SMA and PMA. If all entries of host_page.dev are in use, the host without programs
 * that was unused for the longest time loses its devices.
 *
 * Each port of an HCA is a device with one port, as with mlx5.
 */
#ifndef RUSE_DAEMON_FABRIC_H
#define RUSE_DAEMON_FABRIC_H

#include "base/timer.h"
#include "umads/umads.h"
#include "fabric/fabric.h"
#include "ipc/pages.h"
#include "wire/sa.h"

struct client;
struct fabric_addr;
struct fabric_cm;
struct gsi_owner;
struct fpath;
struct ipc_host;
struct ipc_mcast;
struct ipc_member;
struct ipc_members;
struct ipc_path;
struct rused;
struct sa_query;

/* A port of a host with devices. */
struct fabric_port {
	struct fabric_host *host;
	uint8_t num;		/* port number on its HCA */
	unsigned int slot;	/* index in host_page.dev and in gsi.port */
	bool dirty;		/* something other than PortInfo has changed, e.g. GIDs or P_Keys: publish the port */
	uint32_t reregister;
	uint8_t info[SMP_DATA_LEN];	/* PortInfo as published */
	bool ip_known;
	struct sa_mcmember_rec ip;	/* multicast group of all IPoIB interfaces (broadcast group) */
	struct sa_query *ip_query;
};

struct fabric_host {
	struct rused *r;
	uint32_t node;
	int run;		/* directory with its sys/ and dev/ */
	uint32_t clients;
	uint64_t used;		/* fabrics.uses when its last client arrived; lowest: unused for the longest time */
	struct umad_view view;
	struct fabric_cm *cm;
	uint8_t nports;
	struct fabric_port port[];
};

struct fabrics {
	struct fabric *fabric;		/* NULL: none is up */
	char *name;			/* arguments of "up" */
	struct fabric_host **hosts;	/* by node; NULL: without devices */
	uint64_t uses;
	bool touched;			/* the fabric has changed since the last fabric_settle() */
	struct timer wake;
	struct umad_view nothing;	/* without devices; umad_view of programs whose host was removed */
	struct fpath *paths;		/* array of HOST_MAX_PATHS; NULL: no path was requested yet */
	uint32_t npaths;
	uint64_t generation;		/* fabric generation of the last check of paths */
	struct fabric_port *port[HOST_MAX_DEVS];	/* by index in host_page.dev */
	struct fabric_addr *addrs;	/* three for each port of a host, sorted by node and port */
	uint32_t naddrs;
	struct list_head groups;	/* multicast groups joined through rdma_cm */
};

void fabrics_init(struct rused *r);
void fabrics_fini(struct rused *r);
/*
 * Runs a command: len bytes of NUL-terminated words. "up" FILE | --star N | --fat-tree K | --torus
 * X x Y... [HOSTS] | --dragonfly ROUTERS HOSTS GLOBALS; "down"; "show" [--topology]; "link" up|down
 * NODE/PORT; "node" on|off NODE; "address" [HOST/PORT ADDRESS/BITS]. Returns JSON, malloc()ed, with
 * "error" on failure; NULL: no memory.
 */
char *fabric_command(struct rused *r, const char *words, size_t len);
/* IPC_HOST: assigns the client to a host. 0; -ENODEV: no such host; -EBUSY: the client has a host; -ENOSPC: no free device. */
int fabric_client_host(struct client *c, const char *name, size_t len, struct ipc_host *rep);
void fabric_client_gone(struct client *c);
/* Call after each round of the event loop: updates timers, the devices in the host page (struct host_page) and sysfs. */
void fabric_settle(struct rused *r);

/* fabric_host.c */
void fabric_host_del(struct fabric_host *h);
/* Creates the directories of all hosts again, without devices in them. 0 or -errno. */
int fabric_hosts_restore(struct rused *r);
/* Copies the port's state to its device in the host page (struct host_dev), which programs read. */
void fabric_port_publish(struct fabric_port *p);
/* Descriptor of the directory with the device's sys/: the run directory, or that of its fabric host. */
int host_run(const struct rused *r, const struct host_dev *d);
/* The port that is the device page->dev[slot]; NULL: the device is not of a fabric. */
struct fabric_port *fabric_port_of(const struct rused *r, unsigned int slot);
/* Updates counters/ in sysfs for all ports of hosts. */
void fabric_counters_show(struct rused *r);

/* fabric_path.c. IPC_PATH (ipc/fabric_msg.h): finds or adds a path. 0, -ENODEV, -ENOSPC, -ENOMEM. */
int fabric_path(struct client *c, const struct ipc_path *q, struct ipc_path *rep);
/* Checks all paths again if the fabric has changed. */
void fabric_paths_settle(struct rused *r);
/* Adds the programs' traffic to the port counters. Call before counters are read and before tables change. */
void fabric_paths_count(struct rused *r);
/* Adds the last traffic of a client to the port counters. Call before the client's process page (struct proc_page) is closed. */
void fabric_client_paths(struct client *c);
/* Drops all paths. Call after the fabric was removed. */
void fabric_paths_reset(struct rused *r);

/* Calls deliver() for each port that a packet on path id would reach. Does not change port counters. */
void fabric_way_walk(struct rused *r, uint32_t id, fabric_deliver deliver, void *ctx);

/* fabric_mcast.c. IPC_MCAST: adds the client to the receivers of a multicast group, or removes it. 0, -ENODEV, -ENOSPC, -ENOMEM. */
int fabric_mcast(struct client *c, const struct ipc_mcast *q);
/*
 * IPC_MEMBERS: writes the rep->n receivers of a multicast group to `to` (room for IPC_MEMBERS_MAX).
 * 0, -EINVAL, or -errno of fabric_path().
 */
int fabric_members(struct client *c, const struct ipc_members *q, struct ipc_members *rep,
		   struct ipc_member *to);
/* Call after a change of forwarding tables, links or multicast members. Senders then ask for the receivers of a group again. */
void fabric_mcast_changed(struct rused *r);
/* Removes the memberships of a client that has disconnected. */
void fabric_client_mcast(struct client *c);

/* fabric_mad.c */
extern const struct fabric_ops fabric_ops;
/* The owner of QP0 and QP1 of the port in this slot. False: not of a fabric. */
bool fabric_port_owner(const struct rused *r, unsigned int slot, struct gsi_owner *o);
/* Call after a change of the fabric, so that fabric_settle() checks it at the end of the round. */
void fabric_touch(struct rused *r);

#endif
