/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The devices on network interfaces: rxe_0 on the interface of the default route (IPv4's, else
 * IPv6's, lowest metric), else on lo; and those added and deleted with the rdma tool. The device's
 * port follows the state of the interface. A device that was added is deleted with its interface, like
 * the kernel's rxe; rxe_0 waits until the interface is back.
 *
 * A notification of hostnet.c only says that something has changed. The state is then read again
 * and the host page updated.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/device.h"
#include "daemon/daemon.h"
#include "hostnet/netdev.h"
#include "wire/smp.h"

#define DEV_NAME "rxe_0"
#define UVERBS_BASE_MINOR 192
#define STATE_DOWN 1
#define STATE_ACTIVE 4
#define PHYS_POLLING 2
#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5

/* True for a device on an interface, false for one of a fabric. */
static bool is_ours(const struct host_dev *d)
{
	return d->in_use && !d->ib.host;
}

/* Updates the port of device d from its network interface. GIDs already in d keep their indices. */
static void fill_port(const struct rused *r, struct host_dev *d, struct scan *s)
{
	struct gid_raw all[2 * MAX_ADDRS];
	uint8_t eui64[8];
	unsigned int lost;

	if (!s->found) {	/* the interface is gone, but may come back under its name */
		d->state = STATE_DOWN;
		d->phys_state = PHYS_DISABLED;
		d->ifindex = 0;
		gids_sync(d, d->gid[0].raw + 8, NULL, 0);
		return;
	}
	d->ifindex = s->ifindex;
	memset(d->ndev, 0, sizeof(d->ndev));
	snprintf(d->ndev, sizeof(d->ndev), "%s", s->name);
	d->state = s->up && s->carrier && !fault_is_down(r, d->index) ? STATE_ACTIVE : STATE_DOWN;
	d->phys_state = d->state == STATE_ACTIVE ? PHYS_LINK_UP :
			s->up ? PHYS_POLLING : PHYS_DISABLED;
	d->active_mtu = mtu_from_netdev(s->mtu);
	speed_from_netdev(d, netdev_speed(s->name));
	memcpy(all, s->v4, s->n4 * sizeof(all[0]));
	memcpy(all + s->n4, s->v6, s->n6 * sizeof(all[0]));
	guid_from_mac(eui64, s->mac);
	lost = gids_sync(d, eui64, all, s->n4 + s->n6);
	if (lost)
		log_warn("%s: the GID table is full: %u addresses of %s are missing", d->name, lost,
			 d->ndev);
}

/* Updates page->dev[slot] from the device's network interface. Deletes the device if the interface is gone. */
static void refresh(struct rused *r, int slot)
{
	struct host_dev d = r->page->dev[slot];
	struct scan s = { .ifindex = d.ifindex };
	int rc;

	memcpy(s.name, d.ndev, sizeof(s.name));
	rc = netdev_read(&s);
	if (!rc && !s.found && strcmp(d.name, DEV_NAME)) {
		log_info("%s removed: its interface %s is gone", d.name, d.ndev);
		device_del(r, slot);
		return;
	}
	if (!rc && !s.found && d.ifindex) {
		s.ifindex = 0;
		rc = netdev_read(&s);
	}
	if (rc) {
		log_warn("cannot read the state of %s: %s", d.ndev, strerror(-rc));
		return;
	}
	fill_port(r, &d, &s);
	/* Processes see the same change in the host page and report IBV_EVENT_PORT_ERR. */
	if (r->page->dev[slot].state == STATE_ACTIVE && d.state != STATE_ACTIVE)
		r->counter[slot][CNT_LINK_DOWNED]++;
	host_publish(r, slot, &d);
}

int device_place(struct rused *r, struct host_dev *d)
{
	uint64_t minors = 0;
	int slot = -1;

	for (int i = HOST_MAX_DEVS - 1; i >= 0; i--) {
		const struct host_dev *o = &r->page->dev[i];

		if (!o->in_use)
			slot = i;
		else
			minors |= 1ull << (o->minor - UVERBS_BASE_MINOR);
	}
	if (slot < 0)
		return -ENOSPC;
	d->minor = UVERBS_BASE_MINOR + (uint32_t)__builtin_ctzll(~minors);
	d->index = ++r->next_index;	/* 0 means "none" in the shared pages */
	memset(r->counter[slot], 0, sizeof(r->counter[slot]));
	memset(r->shown[slot], 0, sizeof(r->shown[slot]));
	return slot;
}

/* Publishes a new device on the interface of s. 0 or -errno. */
static int publish_new(struct rused *r, const char *name, struct scan *s)
{
	struct host_dev d = { .in_use = 1, .cap_mask = PORT_CAP_CM };
	int slot = device_place(r, &d);

	if (slot < 0)
		return slot;
	snprintf(d.name, sizeof(d.name), "%s", name);
	guid_from_mac(d.node_guid, s->mac);
	fill_port(r, &d, s);
	host_publish(r, slot, &d);
	return 0;
}
/* Like the kernel's dev_valid_name(): the name becomes part of paths. */
static int check_name(const struct rused *r, const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= sizeof(r->page->dev[0].name) || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/' || name[i] == '%' || !isgraph((unsigned char)name[i]))
			return -EINVAL;
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (is_ours(&r->page->dev[i]) && !strcmp(r->page->dev[i].name, name))
			return -EEXIST;
	return 0;
}

int device_add(struct rused *r, const char *name, const char *type, const char *ndev)
{
	struct scan s = { 0 };
	int rc;

	if (strcmp(type, "rxe") || strlen(ndev) >= sizeof(s.name) || !*ndev)
		return -EINVAL;
	rc = check_name(r, name);
	if (rc)
		return rc;
	strcpy(s.name, ndev);
	rc = netdev_read(&s);
	if (rc)
		return rc;
	if (!s.found)
		return -ENODEV;
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (is_ours(&r->page->dev[i]) && r->page->dev[i].ifindex == s.ifindex)
			return -EEXIST;
	rc = publish_new(r, name, &s);
	if (!rc)
		r->configured = true;
	return rc;
}

void device_del(struct rused *r, int slot)
{
	struct host_dev none = { 0 };
	struct client *c;

	list_for_each_entry(c, &r->clients.list, node)
		c->nctx[slot] = 0;
	host_publish(r, slot, &none);
	r->configured = true;
}

int device_rename(struct rused *r, int slot, const char *name)
{
	struct host_dev d = r->page->dev[slot];
	int rc = strcmp(d.name, name) ? check_name(r, name) : 0;

	if (rc || !strcmp(d.name, name))
		return rc;
	snprintf(d.name, sizeof(d.name), "%s", name);
	host_publish(r, slot, &d);
	r->configured = true;
	return 0;
}

static int discover(struct rused *r)
{
	struct scan s = { 0 };
	int rc;

	netdev_default(&s);
	rc = netdev_read(&s);
	if (!rc && !s.found) {
		s.ifindex = 0;
		rc = netdev_read(&s);
	}
	if (!rc && !s.found)
		rc = -ENODEV;
	if (rc) {
		log_err("cannot create a device: no usable network interface: %s", strerror(-rc));
		return rc;
	}
	return publish_new(r, DEV_NAME, &s);
}

/*
 * Notes the devices on an interface that has changed. Any change of a link also concerns the
 * devices without interface, because that link may be their interface that has come back.
 */
static void net_changed(void *ctx, uint32_t ifindex, bool link)
{
	struct rused *r = ctx;

	for (int i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &r->page->dev[i];

		if (d->in_use && (!ifindex || d->ifindex == ifindex || (link && !d->ifindex)))
			r->stale |= 1ull << i;
	}
}

static void net_neigh_changed(void *ctx, const struct rtnl_neigh *n)
{
	ucma_neigh_change(&((struct rused *)ctx)->ucma, n);
}

static void net_settled(void *ctx)
{
	struct rused *r = ctx;
	uint64_t stale = r->stale;

	r->stale = 0;
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (is_ours(&r->page->dev[i]) && stale >> i & 1)
			refresh(r, i);
}

const struct hostnet_ops devices_net_ops = { .changed = net_changed,
					     .neigh_changed = net_neigh_changed,
					     .settled = net_settled };

void devices_refresh(struct rused *r)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (is_ours(&r->page->dev[i]))
			refresh(r, i);
}

int devices_init(struct rused *r)
{
	/* Subscribe before reading, so that no change is missed. */
	int rc = hostnet_watch(&r->net);

	return rc ? rc : discover(r);
}
