/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices on network interfaces. */
#ifndef RUSE_DAEMON_STATE_DEVICES_H
#define RUSE_DAEMON_STATE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/like.h"
#include "core/like_shown.h"

struct host_dev;
struct hostnet_ops;
struct host;
struct hostnet;
struct rtnl_neigh;
struct why;
struct processes;

struct devices {
	struct host *host;
	struct hostnet *net;
	void (*neigh_changed)(void *ctx, const struct rtnl_neigh *n);	/* ctx: neigh_ctx */
	void *neigh_ctx;
	const struct processes *processes;	/* tells which devices are in use */
	uint64_t stale;			/* bit mask of the slots whose state must be read again */
	const char *spec;		/* RUSE_NETDEV; NULL: not set */
	const char *like_spec;		/* RUSE_LIKE; NULL: not set */
	struct like like;		/* the limits of RUSE_LIKE, if like_spec is set */
	struct like_shown shown;	/* what sysfs and netlink show of them, if like_spec is set */
	bool revise;			/* the interfaces must be chosen again */
	bool waiting;			/* and were not all, as devices were in use */
	char failure[300];		/* why devices_init() has failed; "": see its result */
	const char *failed;		/* the variable that it is about */
};

int devices_init(struct devices *ds);
/* Has RUSE_LIKE a file whose limits are no longer those of the devices, or that can no longer be read? */
bool devices_like_changed(const struct devices *ds);
/* Call after each round of the event loop: chooses interfaces again, if anything has changed. */
void devices_settle(struct devices *ds);
/* A process has closed a device. */
void devices_released(struct devices *ds);
/* Keeps the devices as their interfaces are; ctx: struct devices. */
extern const struct hostnet_ops devices_net_ops;
/* Reads the state of the ports of all devices on network interfaces again, after a change made by rused itself. */
void devices_refresh(struct host *h);
/*
 * `rdma link add` and `rdma link del`. 0; -EINVAL: name or type; -EEXIST: name taken, or device on
 * that interface; -ENODEV: no such interface; -ENOSPC.
 */
int devices_add(struct host *h, const char *name, const char *type, const char *ndev,
		struct why *why);
void devices_del(struct host *h, int slot);
/* Finds a free entry of page->dev[] for a new device, and sets d->minor and d->index. Returns the entry's index, or -ENOSPC. */
int devices_place(struct host *h, struct host_dev *d);
/* `rdma dev set NAME name NEW`: 0, -EINVAL, -EEXIST. */
int devices_rename(struct host *h, int slot, const char *name, struct why *why);

#endif
