/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The devices on network interfaces: rxe_0 and its like, on interfaces that hostnet/choose.h chooses,
 * and those added and deleted with the rdma tool. The device's port follows the state of the
 * interface. A device that was added is deleted with its interface, like the kernel's rxe; a chosen
 * one waits until the interface is back, or moves.
 *
 * A choice without names is made again when links, addresses and default routes change. A device
 * moves only while no process has it open. It then gets the GIDs and the node GUID of the other
 * interface, but keeps its name and index.
 *
 * A notification of hostnet.c only says that something has changed. The state is then read again
 * and the host page updated.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/devnum.h"
#include "base/log.h"
#include "core/device.h"
#include "daemon/state/devices.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "hostnet/hostnet.h"
#include "hostnet/netdev.h"
#include "like/load.h"
#include "wire/smp.h"

#define PHYS_POLLING 2
#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5

/* True for a device on an interface, false for one of a fabric. */
static bool device_is_ours(const struct host_dev *d)
{
	return d->in_use && !d->ib.host;
}

/* True if a "down" rule applies to the whole device. */
static bool device_is_pulled(const struct fault_table *t, uint32_t dev_index)
{
	for (int i = 0; i < FAULT_MAX_RULES; i++) {
		const struct fault_rule *f = &t->rule[i];

		if (f->id && f->action == FAULT_DOWN && f->when == FAULT_ALWAYS && !f->times &&
		    (!f->by || (f->by == FAULT_BY_DEV && f->dev == dev_index)))
			return true;
	}
	return false;
}

/* Names of devices are this and a number. */
static const char *devices_name(const struct host *h)
{
	return *h->shown_like->device ? h->shown_like->device : CHOICE_DEVICE;
}

static void device_like_port(const struct like *like, struct host_dev *d)
{
	d->cap_mask |= (uint32_t)like->port_cap_flags;
	d->ib.lid = (uint16_t)like->lid;
	d->ib.lmc = (uint8_t)like->lmc;
	d->ib.sm_lid = (uint16_t)like->sm_lid;
	d->ib.sm_sl = (uint8_t)like->sm_sl;
	if (like->active_width)
		d->active_width = (uint8_t)like->active_width;
	if (like->active_speed)
		d->active_speed = (uint8_t)like->active_speed;
}

/* Updates the port of device d from its network interface. GIDs already in d keep their indices. */
static void device_fill_port(const struct host *h, struct host_dev *d, struct scan *s)
{
	struct gid_raw all[2 * MAX_ADDRS];
	uint8_t eui64[8];
	unsigned int lost;

	if (!s->found) {	/* the interface is gone, but may come back under its name */
		d->state = PORT_DOWN;
		d->phys_state = PHYS_DISABLED;
		d->ifindex = 0;
		gids_sync(d, d->gid[0].raw + 8, NULL, 0, h->like->gid_v1);
		return;
	}
	d->ifindex = s->ifindex;
	memset(d->ndev, 0, sizeof(d->ndev));
	snprintf(d->ndev, sizeof(d->ndev), "%s", s->name);
	d->state = PORT_DOWN;
	if (s->up && s->carrier && !device_is_pulled(&h->page->fault, d->index))
		d->state = PORT_ACTIVE;
	d->phys_state = d->state == PORT_ACTIVE ? PHYS_LINK_UP :
			s->up ? PHYS_POLLING : PHYS_DISABLED;
	d->active_mtu = hostnet_mtu_from_netdev(s->mtu);
	hostnet_speed_from_netdev(d, netdev_speed(s->name));
	d->gid_len = (uint16_t)h->like->gid_tbl_len;
	device_like_port(h->like, d);
	memcpy(all, s->v4, s->n4 * sizeof(all[0]));
	memcpy(all + s->n4, s->v6, s->n6 * sizeof(all[0]));
	hostnet_guid_from_mac(eui64, s->mac);
	lost = gids_sync(d, eui64, all, s->n4 + s->n6, h->like->gid_v1);
	if (lost)
		log_warn("%s: the GID table is full: %u entries of %s are missing", d->name, lost,
			 d->ndev);
}

/* Updates page->dev[slot] from the device's network interface. Deletes the device if the interface is gone. */
static void device_refresh(struct host *h, int slot)
{
	struct host_dev d = h->page->dev[slot];
	struct scan s = { .ifindex = d.ifindex };
	int rc;

	memcpy(s.name, d.ndev, sizeof(s.name));
	rc = netdev_read(&s);
	if (!rc && !s.found && h->why[slot] == CHOICE_WHY_ADDED) {
		log_info("%s removed: its interface %s is gone", d.name, d.ndev);
		devices_del(h, slot);
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
	device_fill_port(h, &d, &s);
	/* Processes see the same change in the host page and report IBV_EVENT_PORT_ERR. */
	if (h->page->dev[slot].state == PORT_ACTIVE && d.state != PORT_ACTIVE)
		h->counter[slot][CNT_LINK_DOWNED]++;
	host_publish(h, slot, &d);
}

int devices_place(struct host *h, struct host_dev *d)
{
	uint64_t minors = 0;
	int slot = -1;

	for (int i = HOST_MAX_DEVS - 1; i >= 0; i--) {
		const struct host_dev *o = &h->page->dev[i];

		if (!o->in_use)
			slot = i;
		else
			minors |= 1ull << (o->minor - UVERBS_BASE_MINOR);
	}
	if (slot < 0)
		return -ENOSPC;
	d->minor = UVERBS_BASE_MINOR + (uint32_t)__builtin_ctzll(~minors);
	d->index = ++h->next_index;	/* 0 means "none" in the shared pages */
	memset(h->counter[slot], 0, sizeof(h->counter[slot]));
	memset(h->shown[slot], 0, sizeof(h->shown[slot]));
	h->why[slot] = CHOICE_WHY_ADDED;
	return slot;
}

/* Publishes a device of this name on the interface of s, in this slot. */
static void device_publish(struct host *h, int slot, struct host_dev *d, const char *name,
			   struct scan *s, enum choice_why why)
{
	snprintf(d->name, sizeof(d->name), "%s", name);
	hostnet_guid_from_mac(d->node_guid, s->mac);
	device_fill_port(h, d, s);
	h->why[slot] = (uint8_t)why;
	host_publish(h, slot, d);
}

/* Publishes a new device on the interface of s. 0 or -errno. */
static int device_publish_new(struct host *h, const char *name, struct scan *s,
			      enum choice_why why)
{
	struct host_dev d = { .in_use = 1, .cap_mask = PORT_CAP_CM };
	int slot = devices_place(h, &d);

	if (slot < 0)
		return slot;
	device_publish(h, slot, &d, name, s, why);
	return 0;
}

/* Like the kernel's dev_valid_name(): the name becomes part of paths. */
static bool device_valid_name(const struct host *h, const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= sizeof(h->page->dev[0].name) || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/' || name[i] == '%' || !isgraph((unsigned char)name[i]))
			return false;
	return true;
}

/* Leaves the reason of a refusal, with up to two names, and returns ret. */
static int device_refuse(struct why *why, enum why_id id, const char *a, const char *b, int ret)
{
	uint64_t arg[WHY_ARGS] = { 0 };

	why_str(arg, a);
	why_str(arg + 2, b);
	why_make(why, id, arg);
	return ret;
}

static int device_check_name(const struct host *h, const char *name, struct why *why)
{
	if (!device_valid_name(h, name))
		return device_refuse(why, WHY_NL_NAME, name, "", -EINVAL);
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (device_is_ours(&h->page->dev[i]) && !strcmp(h->page->dev[i].name, name))
			return device_refuse(why, WHY_NL_NAME_TAKEN, name, "", -EEXIST);
	return 0;
}

/* The device of an interface; NULL: it has none. */
static const struct host_dev *device_on(const struct host *h, uint32_t ifindex)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (device_is_ours(&h->page->dev[i]) && h->page->dev[i].ifindex == ifindex)
			return &h->page->dev[i];
	return NULL;
}

int devices_add(struct host *h, const char *name, const char *type, const char *ndev,
		struct why *why)
{
	const struct host_dev *has;
	struct scan s = { 0 };
	int rc;

	if (strcmp(type, "rxe"))
		return device_refuse(why, WHY_NL_LINK_TYPE, type, "", -EINVAL);
	if (strlen(ndev) >= sizeof(s.name) || !*ndev)
		return device_refuse(why, WHY_NL_NO_NETDEV, ndev, "", -EINVAL);
	rc = device_check_name(h, name, why);
	if (rc)
		return rc;
	strcpy(s.name, ndev);
	rc = netdev_read(&s);
	if (rc)
		return rc;
	if (!s.found)
		return device_refuse(why, WHY_NL_NO_NETDEV, ndev, "", -ENODEV);
	has = device_on(h, s.ifindex);
	if (has)
		return device_refuse(why, WHY_NL_NETDEV_TAKEN, ndev, has->name, -EEXIST);
	rc = device_publish_new(h, name, &s, CHOICE_WHY_ADDED);
	if (!rc)
		h->configured = true;
	return rc;
}

void devices_del(struct host *h, int slot)
{
	struct host_dev none = { 0 };

	host_publish(h, slot, &none);
	h->configured = true;
}

int devices_rename(struct host *h, int slot, const char *name, struct why *why)
{
	struct host_dev d = h->page->dev[slot];
	int rc = strcmp(d.name, name) ? device_check_name(h, name, why) : 0;

	if (rc || !strcmp(d.name, name))
		return rc;
	snprintf(d.name, sizeof(d.name), "%s", name);
	h->why[slot] = CHOICE_WHY_ADDED;
	host_publish(h, slot, &d);
	h->configured = true;
	return 0;
}

/* Makes the device of a choice, from the unused one in a slot, if slot >= 0. 0 or -errno. */
static int device_make(struct host *h, const struct choice *c, int slot)
{
	struct scan s = { .ifindex = c->on.ifindex };
	struct host_dev d;
	int rc = netdev_read(&s);

	if (!rc && !s.found)
		rc = -ENODEV;
	if (rc)
		return rc;
	if (slot < 0)
		return device_publish_new(h, c->dev, &s, c->why);
	d = h->page->dev[slot];
	device_publish(h, slot, &d, c->dev, &s, c->why);
	return 0;
}

/* Reads the interfaces and chooses. The number of devices in out[CHOICE_MAX], or -errno. */
static int devices_choose(struct devices *ds, struct choice *out)
{
	struct choice_net net;
	int n = netdev_read_all(&net);

	net.device = devices_name(ds->host);
	if (!n)
		n = choose_netdevs(&net, ds->spec, out, ds->failure, sizeof(ds->failure));
	free(net.ifs);
	return n;
}

static int devices_discover(struct devices *ds)
{
	struct choice c[CHOICE_MAX] = { 0 };
	int n = devices_choose(ds, c), rc = min(n, 0);

	for (int i = 0; i < n && !rc; i++) {
		rc = device_make(ds->host, &c[i], -1);
		log_info("%s on %s: %s", c[i].dev, c[i].on.name, choice_texts[c[i].why]);
	}
	if (rc)
		log_err("cannot create a device: %s",
			*ds->failure ? ds->failure : strerror(-rc));
	return rc;
}

/* True if a process has opened the device. */
static bool device_used(const struct devices *ds, int slot)
{
	const struct process *pr;

	list_for_each_entry(pr, &ds->processes->list, node)
		if (pr->nctx[slot])
			return true;
	return false;
}

/* Moves the device in a slot to the interface that is chosen for it, unless it is in use. */
static void device_revise(struct devices *ds, int slot, struct choice *c)
{
	struct host *h = ds->host;
	struct host_dev *d = &h->page->dev[slot];
	char from[IFNAMSIZ];
	int rc;

	if (c->on.ifindex == d->ifindex) {
		h->why[slot] = (uint8_t)c->why;
		return;
	}
	if (device_on(h, c->on.ifindex))
		return;
	if (device_used(ds, slot)) {
		ds->waiting = true;
		return;
	}
	snprintf(c->dev, sizeof(c->dev), "%s", d->name);
	memcpy(from, d->ndev, sizeof(from));
	rc = device_make(h, c, slot);
	if (rc)
		log_warn("cannot move %s from %s to %s: %s", c->dev, from, c->on.name,
			 strerror(-rc));
	else
		log_warn("%s is on %s (%s); it was on %s", c->dev, c->on.name,
			 choice_texts[c->why], from);
}

/* Adds devices to interfaces that have appeared, for RUSE_NETDEV=all. */
static void devices_add_all(struct devices *ds, struct choice *c, int n)
{
	struct why why;
	struct host *h = ds->host;

	for (int i = 0; i < n; i++) {
		if (device_on(h, c[i].on.ifindex) || c[i].why == CHOICE_WHY_LO)
			continue;
		for (int k = 0; k < HOST_MAX_DEVS; k++) {
			snprintf(c[i].dev, sizeof(c[i].dev), "%s%d", devices_name(h), k);
			if (!device_check_name(h, c[i].dev, &why))
				break;
		}
		if (!device_make(h, &c[i], -1))
			log_warn("%s is on %s, which has appeared", c[i].dev, c[i].on.name);
	}
}

void devices_settle(struct devices *ds)
{
	struct choice c[CHOICE_MAX] = { 0 };
	struct host *h = ds->host;
	int n;

	if (!ds->revise)
		return;
	ds->revise = ds->waiting = false;
	if (ds->spec && strcmp(ds->spec, CHOICE_ALL))
		return;
	n = devices_choose(ds, c);
	if (n <= 0)
		return;
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (device_is_ours(&h->page->dev[i]) && choice_is_open(h->why[i]))
			device_revise(ds, i, &c[0]);
	if (ds->spec)
		devices_add_all(ds, c, n);
}

void devices_released(struct devices *ds)
{
	ds->revise |= ds->waiting;
}

/*
 * Notes the devices on an interface that has changed. Any change of a link also concerns the
 * devices without interface, because that link may be their interface that has come back.
 */
static void devices_net_changed(void *ctx, uint32_t ifindex, bool link)
{
	struct devices *ds = ctx;

	for (int i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &ds->host->page->dev[i];

		if (d->in_use && (!ifindex || d->ifindex == ifindex || (link && !d->ifindex)))
			ds->stale |= 1ull << i;
	}
	ds->revise = true;
}

static void devices_net_route_changed(void *ctx)
{
	((struct devices *)ctx)->revise = true;
}

static void devices_net_neigh_changed(void *ctx, const struct rtnl_neigh *n)
{
	struct devices *ds = ctx;

	ds->neigh_changed(ds->neigh_ctx, n);
}

static void devices_net_settled(void *ctx)
{
	struct devices *ds = ctx;
	struct host *h = ds->host;
	uint64_t stale = ds->stale;

	ds->stale = 0;
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (device_is_ours(&h->page->dev[i]) && stale >> i & 1)
			device_refresh(h, i);
}

const struct hostnet_ops devices_net_ops = { .changed = devices_net_changed,
					     .route_changed = devices_net_route_changed,
					     .neigh_changed = devices_net_neigh_changed,
					     .settled = devices_net_settled };

void devices_refresh(struct host *h)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (device_is_ours(&h->page->dev[i]))
			device_refresh(h, i);
}

/* What all devices are like, as long as rused runs. */
static int devices_like(struct devices *ds)
{
	int rc;

	ds->like_spec = getenv("RUSE_LIKE");
	if (!ds->like_spec || !*ds->like_spec) {
		ds->like_spec = NULL;
		return 0;
	}
	rc = like_load(ds->like_spec, &ds->like, &ds->shown, ds->failure, sizeof(ds->failure));
	if (rc) {
		ds->failed = "RUSE_LIKE";
		log_err("RUSE_LIKE=%s: %s", ds->like_spec, ds->failure);
		return rc;
	}
	ds->host->like = &ds->like;
	ds->host->shown_like = &ds->shown;
	ds->host->page->cap_flags = ds->like.device_cap_flags;
	log_info("the devices are like %s", ds->like.name);
	return 0;
}

bool devices_like_changed(const struct devices *ds)
{
	struct like now;
	char failure[300];

	return ds->like_spec && strchr(ds->like_spec, '/') &&
	       (like_load(ds->like_spec, &now, NULL, failure, sizeof(failure)) ||
		memcmp(&now, &ds->like, sizeof(now)));
}

int devices_init(struct devices *ds)
{
	/* Subscribe before reading, so that no change is missed. */
	int rc = hostnet_watch(ds->net);

	ds->failed = "RUSE_NETDEV";
	ds->spec = getenv(ds->failed);
	if (ds->spec && !*ds->spec)
		ds->spec = NULL;
	if (!rc)
		rc = devices_like(ds);
	return rc ? rc : devices_discover(ds);
}
