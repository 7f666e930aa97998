/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The InfiniBand fabric of this rused (fabric/fabric.h), and its hosts as their programs see them.
 * A host gets devices, a sys/ and a dev/ when a program first runs on it; until then it is only an
 * HCA with its SMA and PMA. If all entries of host_page.dev are in use, the host without programs
 * that was unused for the longest time loses its devices.
 *
 * Each port of an HCA is a device with one port, as with mlx5.
 */
#ifndef RUSE_FABRICS_H
#define RUSE_FABRICS_H

#include "base/list.h"
#include "base/timer.h"
#include "fabric/fabric.h"
#include "ipc/pages.h"
#include "umads/umads.h"
#include "wire/sa.h"

struct fabric_addr;
struct fabric_cm;
struct fpath;
struct gsi;
struct gsi_owner;
struct hostnet;
struct loop;
struct sa_query;
struct ucma_ops;

/* Functions of the owner of the host page. */
struct fabrics_ops {
	/* Finds a free slot and sets minor and index. Slot, or -ENOSPC. */
	int (*device_place)(void *ctx, struct host_dev *d);
	/* Changes page->dev[slot]. */
	void (*device_publish)(void *ctx, unsigned int slot, const struct host_dev *d);
	void (*device_del)(void *ctx, unsigned int slot);
	/* A block of QP numbers that the process has leased for the device; 0: none. */
	uint32_t (*block)(void *ctx, uint32_t proc, uint32_t dev_index);
	const struct ucma_ops *ucma;	/* of the rdma_cm files on hosts; their ctx is this ctx */
};

/* A port of a host with devices. */
struct fabric_port {
	struct fabric_host *host;
	uint8_t num;		/* port number on its HCA */
	unsigned int slot;	/* index in host_page.dev and in gsi.port */
	bool dirty;		/* something other than PortInfo has changed, e.g. GIDs or P_Keys: publish the port */
	uint32_t reregister;
	uint8_t info[SMP_DATA_LEN];	/* PortInfo as published */
	bool ip_known;
	bool ip_old;		/* there was a reset: `ip`, or the query for it, is to be asked again */
	struct sa_mcmember_rec ip;	/* multicast group of all IPoIB interfaces (broadcast group) */
	struct sa_query *ip_query;
};

struct fabric_host {
	struct fabrics *fs;
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
	/* Set by the owner before fabrics_init(). */
	struct loop *loop;
	struct host_page *page;
	struct gsi *gsi;
	struct hostnet *net;
	int run;			/* the run directory, and its path */
	const char *rundir;
	const struct fabrics_ops *ops;
	void *ctx;			/* of ops */

	struct list_head clients;	/* struct fabric_client */
	struct fabric *fabric;		/* NULL: none is up */
	char *name;			/* arguments of "up" */
	struct fabric_host **hosts;	/* by node; NULL: without devices */
	uint64_t uses;
	bool touched;			/* the fabric has changed since the last fabrics_settle() */
	struct timer wake;
	struct umad_view nothing;	/* without devices: of programs whose host was removed */
	struct fpath *paths;		/* array of HOST_MAX_PATHS; NULL: no path was requested yet */
	uint32_t npaths;
	uint64_t generation;		/* fabric generation of the last check of paths */
	struct fabric_port *port[HOST_MAX_DEVS];	/* by index in host_page.dev */
	struct fabric_addr *addrs;	/* three for each port of a host, sorted by node and port */
	uint32_t naddrs;
	struct list_head groups;	/* multicast groups joined through rdma_cm */
	int sm_fd;			/* pidfd of the subnet manager that `ruse fabric up --sm` has started; -1: none */
	int sm_pid;
	uint32_t sm_node;		/* its host */
};

void fabrics_init(struct fabrics *fs);
void fabrics_fini(struct fabrics *fs);
/*
 * Runs a command: len bytes of NUL-terminated words. "up" FILE | --star N | --fat-tree K | --torus
 * X x Y... [HOSTS] | --dragonfly ROUTERS HOSTS GLOBALS; "down"; "show" [--topology | nodes | --route
 * FROM TO]; "link" up|down NODE/PORT; "node" on|off NODE; "address" [HOST/PORT ADDRESS/BITS]; "sm" [PID
 * [HOST]]. Returns JSON, malloc()ed, with "error" on failure; NULL: no memory.
 */
char *fabrics_command(struct fabrics *fs, const char *words, size_t len);
/* Call after each round of the event loop: updates timers, the devices in the host page (struct host_page) and sysfs. */
void fabrics_settle(struct fabrics *fs);

/* host.c */
/* Creates the directories of all hosts again, without devices in them. 0 or -errno. */
int fabrics_hosts_restore(struct fabrics *fs);
/* Removes those that a killed rused has left in the run directory. */
void fabrics_hosts_clear(int run);
/* Descriptor of the directory with sys/ and dev/ of a host, numbered as in host_ib.host. */
int fabric_host_run(const struct fabrics *fs, uint32_t host);
/* The port that is the device page->dev[slot]; NULL: the device is not of a fabric. */
struct fabric_port *fabric_port_of(const struct fabrics *fs, unsigned int slot);
/* Updates counters/ in sysfs for all ports of hosts. */
void fabrics_counters_show(struct fabrics *fs);

/* sm.c */
/* Ends the subnet manager that was started, and removes its files from the run directory. */
void fabrics_sm_end(struct fabrics *fs);
/* The same in the run directory of a rused that was killed. */
void fabrics_sm_clear(int run);

/* mad.c */
/* The owner of QP0 and QP1 of the port in this slot. False: not of a fabric. */
bool fabric_port_owner(const struct fabrics *fs, unsigned int slot, struct gsi_owner *o);

#endif
