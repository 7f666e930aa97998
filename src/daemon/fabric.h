/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The InfiniBand fabric of this rused (fabric/fabric.h), and its hosts: what
 * programs that run on one of them see. A host has devices, a /sys and a /dev
 * from the moment that somebody first runs something on it; before that it is only
 * a HCA with its SMA and PMA. When places for devices run out, that of a host
 * without programs is given up.
 *
 * Each port of a HCA is a device of its own with one port, as mlx5 has it.
 */
#ifndef RUSE_DAEMON_FABRIC_H
#define RUSE_DAEMON_FABRIC_H

#include "base/timer.h"
#include "daemon/umad.h"
#include "fabric/fabric.h"
#include "ipc/pages.h"
#include "wire/sa.h"

struct client;
struct fabric_addr;
struct fabric_cm;
struct gsi_port;
struct fpath;
struct ipc_host;
struct ipc_mcast;
struct ipc_member;
struct ipc_members;
struct ipc_path;
struct rused;
struct sa_query;

/* A port of a host that has devices. */
struct fabric_port {
	struct fabric_host *host;
	uint8_t num;		/* on its HCA */
	unsigned int slot;	/* in the host page, and of its gsi_port */
	bool dirty;		/* what PortInfo does not tell has changed */
	uint32_t reregister;
	uint8_t info[SMP_DATA_LEN];	/* as published */
	bool ip_known;
	struct sa_mcmember_rec ip;	/* IP's broadcast group */
	struct sa_query *ip_query;
};

struct fabric_host {
	struct rused *r;
	uint32_t node;
	int run;		/* directory with its sys/ and dev/ */
	uint32_t clients;
	uint64_t used;		/* when somebody last came: the oldest goes first */
	struct umad_view view;
	struct fabric_cm *cm;
	uint8_t nports;
	struct fabric_port port[];
};

struct fabrics {
	struct fabric *fabric;		/* NULL: none is up */
	char *name;			/* what it was made of */
	struct fabric_host **hosts;	/* by node; NULL: no devices */
	uint64_t uses;
	bool touched;			/* since fabric_settle() */
	struct timer wake;
	struct umad_view nothing;	/* of programs whose host is gone */
	struct fpath *paths;		/* HOST_MAX_PATHS of them; NULL: none is in use */
	uint32_t npaths;
	uint64_t generation;		/* of the tables that they are judged by */
	struct fabric_port *port[HOST_MAX_DEVS];	/* by slot in the host page */
	struct fabric_addr *addrs;	/* three a host's port, in order */
	uint32_t naddrs;
	struct list_head groups;	/* multicast groups that ports have joined by rdma_cm */
};

void fabrics_init(struct rused *r);
void fabrics_fini(struct rused *r);
/*
 * One command: len bytes, words with a NUL behind each. "up" FILE | --star N | --fat-tree K |
 * --torus X x Y... [HOSTS] | --dragonfly ROUTERS HOSTS GLOBALS; "down"; "show" [--topology];
 * "link" up|down NODE/PORT; "node" on|off NODE; "address" [HOST/PORT ADDRESS/BITS].
 * The answer is JSON, malloc()ed, "error" in it what went wrong; NULL: no memory.
 */
char *fabric_command(struct rused *r, const char *words, size_t len);
/* IPC_HOST: 0; -ENODEV: no fabric, no such host; -EBUSY: it has one; -ENOSPC: no place for its devices. */
int fabric_client_host(struct client *c, const char *name, size_t len, struct ipc_host *rep);
void fabric_client_gone(struct client *c);
/* After each round: what has changed is told to timers, processes, sysfs. */
void fabric_settle(struct rused *r);

/* fabric_host.c */
void fabric_host_del(struct fabric_host *h);
/* New directories of all hosts, without devices. 0 or -errno. */
int fabric_hosts_restore(struct rused *r);
/* Brings the host page in line with the port. */
void fabric_port_publish(struct fabric_port *p);
/* The directory with a device's sys/: of rused itself, or of a host. */
int host_run(const struct rused *r, const struct host_dev *d);
/* Of page->dev[slot]; NULL: not a fabric's. */
struct fabric_port *fabric_port_of(const struct rused *r, unsigned int slot);
/* counters/ of all hosts' ports say what is so now. */
void fabric_counters_show(struct rused *r);

/* fabric_path.c. IPC_PATH: 0, -ENODEV, -ENOSPC, -ENOMEM. */
int fabric_path(struct client *c, const struct ipc_path *q, struct ipc_path *rep);
/* Ways are judged anew if anything has changed. */
void fabric_paths_settle(struct rused *r);
/* What programs have sent is counted at the ports: before somebody reads, before tables change. */
void fabric_paths_count(struct rused *r);
/* The client goes: its last counts. */
void fabric_client_paths(struct client *c);
/* The fabric is gone. */
void fabric_paths_reset(struct rused *r);

/* Would go along a way whose id was given out: fabric_data() that counts nothing. */
void fabric_way_walk(struct rused *r, uint32_t id, fabric_deliver deliver, void *ctx);

/* fabric_mcast.c. IPC_MCAST, IPC_MEMBERS: 0 or -errno; to: rep->n are filled. */
int fabric_mcast(struct client *c, const struct ipc_mcast *q);
int fabric_members(struct client *c, const struct ipc_members *q, struct ipc_members *rep,
		   struct ipc_member *to);
/* Tables, links or members have changed. */
void fabric_mcast_changed(struct rused *r);
/* The client goes. */
void fabric_client_mcast(struct client *c);

/* fabric_mad.c */
extern const struct fabric_ops fabric_ops;
/* mad_ops of QP0 and QP1 of a fabric's ports; ctx is the gsi_port. */
extern const struct mad_ops fabric_mad_ops;
extern const struct umad_port_ops fabric_umad_ops;
/* Something was done to the fabric: fabric_settle() is to look. */
void fabric_touch(struct rused *r);

#endif
