/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices on network interfaces. */
#ifndef RUSE_DAEMON_DEVICES_H
#define RUSE_DAEMON_DEVICES_H

struct host_dev;
struct hostnet_ops;
struct rused;

int devices_init(struct rused *r);
/* Keeps the devices as their interfaces are; ctx: struct rused. */
extern const struct hostnet_ops devices_net_ops;
/* Reads the state of all ports again, after a change made by rused itself. */
void devices_refresh(struct rused *r);
/*
 * `rdma link add` and `rdma link del`. 0; -EINVAL: name or type; -EEXIST: name taken, or device on
 * that interface; -ENODEV: no such interface; -ENOSPC.
 */
int device_add(struct rused *r, const char *name, const char *type, const char *ndev);
void device_del(struct rused *r, int slot);
/* Finds a free entry of page->dev[] for a new device, and sets d->minor and d->index. Returns the entry's index, or -ENOSPC. */
int device_place(struct rused *r, struct host_dev *d);
/* `rdma dev set NAME name NEW`: 0, -EINVAL, -EEXIST. */
int device_rename(struct rused *r, int slot, const char *name);

#endif
